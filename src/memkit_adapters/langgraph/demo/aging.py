"""Time for the demo: a clock that is moved, and what must hold of memory when it was."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from math import isclose

from pydantic import JsonValue

from memkit.cli.story import StoryFailed
from memkit.decay import Policy
from memkit.models import MemoryItem, Scope, utcnow
from memkit.sync import SyncMemory

DAYS = (0, 10, 30, 50, 55, 56)
IMPORTANCE = 0.85
PRECISION = 0.0005

_PAGE = 500


@dataclass(frozen=True, slots=True)
class Day:
    """What a day of the story came to; `importance` is the note's, None once it is forgotten."""

    number: int
    importance: float | None
    deleted: int
    left: int

    def __str__(self) -> str:
        importance = "forgotten" if self.importance is None else f"{self.importance:.3f}"
        went = f"{self.deleted:,} deleted, {self.left:,} left"
        return f"day {self.number:2}: the note's importance is {importance:9}  {went}"

    def facts(self) -> dict[str, JsonValue]:
        """The same for programs."""
        return asdict(self)


class MovedClock:
    """The wall clock, ahead by as many days as it was moved."""

    def __init__(self) -> None:
        self.ahead = timedelta(0)

    def __call__(self) -> datetime:
        """The time now, in the story."""
        return utcnow() + self.ahead


def all_items(memory: SyncMemory) -> Iterator[MemoryItem]:
    """Every item of the store, whatever its scope."""
    after = None
    while True:
        page = memory.scan("items", after=after, limit=_PAGE)
        yield from page.rows
        after = page.after
        if after is None:
            return


def expiries(memory: SyncMemory) -> dict[str, datetime]:
    """When each item of the store expires, by id."""
    return {item.id: item.expires_at for item in all_items(memory)}


def sweep(memory: SyncMemory) -> tuple[int, int]:
    """Delete what has faded: how many items went, and how many are left.

    `StoryFailed` if anything else went, or if something expired was left.
    """
    before = expiries(memory)
    gone = set(memory.decay().item_ids)
    now = memory.clock()
    left = expiries(memory)
    if early := [each for each in before if each not in left and before[each] > now]:
        raise StoryFailed(f"{len(early)} items were deleted before their time")
    if late := [each for each in left if left[each] <= now]:
        raise StoryFailed(f"{len(late)} expired items were left")
    if unexplained := before.keys() - left.keys() - gone:
        raise StoryFailed(f"{len(unexplained)} items vanished without being reported")
    return len(before) - len(left), len(left)


def importance_now(memory: SyncMemory, scope: Scope, item_id: str) -> float | None:
    """What the item matters by now, or None if it is forgotten."""
    found = memory.get(scope, [item_id])
    if not found:
        return None
    policy = memory.config.decay.policy(found[0].kind, pinned=found[0].pinned)
    return policy.importance(found[0].fades_at, memory.clock())


def check_curve(days: Sequence[Day], policy: Policy) -> None:
    """`StoryFailed` where a measured importance is not `IMPORTANCE * factor ** days`."""
    for day in days:
        expected = IMPORTANCE * policy.factor**day.number
        if expected < policy.threshold:
            as_expected = day.importance is None
        else:
            as_expected = day.importance is not None and isclose(
                day.importance, expected, abs_tol=PRECISION
            )
        if not as_expected:
            raise StoryFailed(f"{day}; expected {expected:.4f}")
