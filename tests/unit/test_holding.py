"""Changes worked out in values: what they cost."""

from __future__ import annotations

import sys
from types import FrameType

from memkit import Changes, Scope
from memkit.testing.values import an_item
from memkit_backends.relational.holding import Holding

SCOPE = Scope("ann")


def calls_of(size: int) -> int:
    """How many Python functions are called when so many new items are added."""
    changes = Changes(
        add=tuple(an_item(f"Statement number {number}", scope=SCOPE) for number in range(size))
    )
    holding = Holding({}, frozenset(), {})
    calls = 0

    def counted(frame: FrameType, event: str, _: object) -> None:
        nonlocal calls
        del frame
        calls += event == "call"

    before = sys.getprofile()
    sys.setprofile(counted)
    try:
        applied = holding.carry_out(changes)
    finally:
        sys.setprofile(before)
    assert len(applied.added) == size
    return calls


def test_an_item_costs_the_same_among_many() -> None:
    """The store is held while changes are worked out: twice the items are twice the work."""
    assert calls_of(400) < 2.2 * calls_of(200)
