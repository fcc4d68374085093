from __future__ import annotations
from collections.abc import Sequence
from typing import Any
def render(items: Sequence[Any]) -> str:
    return ""
