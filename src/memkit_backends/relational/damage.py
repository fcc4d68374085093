"""Rows that cannot be what memkit wrote."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from memkit.errors import InvalidInput, StoreCorrupt

Given = ParamSpec("Given")
Read = TypeVar("Read")


def reads_a_row(read: Callable[Given, Read]) -> Callable[Given, Read]:
    """Make `read` raise `StoreCorrupt` where a row makes no value."""

    @wraps(read)
    def reading(*args: Given.args, **kwargs: Given.kwargs) -> Read:
        try:
            return read(*args, **kwargs)
        except (ValueError, TypeError, AttributeError, OverflowError, InvalidInput):
            # Not chained: the reason would quote the row.
            raise StoreCorrupt("a row cannot be read; restore the store from a backup") from None

    return reading
