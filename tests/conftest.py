"""What every test shares."""

from __future__ import annotations

import pytest


@pytest.fixture
def anyio_backend() -> str:
    """memkit runs on asyncio."""
    return "asyncio"
