"""What callers hand in, checked before a store sees it: whatever is wrong is `InvalidInput`.

Types are not enough: callers may have none, and no driver should be the one to complain.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

from memkit.contracts import Clock
from memkit.decay import EPOCH
from memkit.errors import InvalidInput

LARGEST = 2**63 - 1
LARGEST_PAGE = 2**31 - 1
"""The most rows that one page may be asked to hold."""


def text(name: str, given: object) -> str:
    """`given`, if it is text that can be written in UTF-8."""
    if not isinstance(given, str):
        raise InvalidInput(f"{name} must be text, not {type(given).__name__}")
    try:
        given.encode()
    except UnicodeEncodeError:
        raise InvalidInput(f"{name} contains half of a surrogate pair") from None
    return given


def optional_text(name: str, given: object) -> str | None:
    """The same, where it may be left out."""
    return None if given is None else text(name, given)


def texts(name: str, given: object) -> tuple[str, ...]:
    """`given` as a tuple, if it is a sequence of such texts and not one of them."""
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
        raise InvalidInput(f"{name} takes a sequence of texts, not {type(given).__name__}")
    return tuple(text(f"each of {name}", each) for each in given)


def optional_texts(name: str, given: object) -> tuple[str, ...] | None:
    """The same, where it may be left out."""
    return None if given is None else texts(name, given)


def count(name: str, given: object, *, least: int, most: int = LARGEST) -> int:
    """`given`, if it is a whole number between these two."""
    if isinstance(given, bool) or not isinstance(given, int):
        raise InvalidInput(f"{name} must be a whole number, not {type(given).__name__}")
    if not least <= given <= most:
        raise InvalidInput(f"{name} must lie between {least} and {most}")
    return given


def number(name: str, given: object) -> float:
    """`given`, if it is a finite number."""
    if isinstance(given, bool) or not isinstance(given, int | float):
        raise InvalidInput(f"{name} must be a number, not {type(given).__name__}")
    try:
        found = float(given)
    except OverflowError:
        found = math.inf
    if not math.isfinite(found):
        raise InvalidInput(f"{name} must be a finite number")
    return found


def moment(name: str, given: object) -> datetime:
    """`given`, if it is a date that says its time zone."""
    if not isinstance(given, datetime) or given.utcoffset() is None:
        raise InvalidInput(f"{name} must be a datetime with a time zone")
    return given


def clock(given: Clock) -> Clock:
    """`given` in UTC: in other zones sums go by the wall, and a day may have 23 hours.

    Before 1970 no clock is set to the time: what fades would end at once, or never.
    """

    def now() -> datetime:
        told = moment("what the clock returns", given()).astimezone(UTC)
        if told < EPOCH:
            raise InvalidInput("the clock is before 1970; set it, or hand in one that is not")
        return told

    now()
    return now
