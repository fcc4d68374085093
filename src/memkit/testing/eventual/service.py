"""The remote service that eventual stores share: single writes, each seen after a lag."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from memkit.contracts import Clock
from memkit.models import Changes
from memkit.testing.eventual.writes import Changed, Event, Record


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """One write as the service keeps it. Its number is the service's own, and only grows."""

    number: int
    at: datetime
    visible_at: datetime
    event: Event


class Service:
    """Takes single writes and shows each of them once `lag` has passed on `clock`."""

    def __init__(self, *, clock: Clock, lag: timedelta) -> None:
        self.clock = clock
        self.lag = lag
        self._writes: list[Write] = []

    def write(self, event: Event) -> int:
        """Take `event`, to be seen later; returns its number."""
        number, now = len(self._writes) + 1, self.clock()
        # The caller may go on to change what it handed in.
        kept = _minted(deepcopy(event), number)
        self._writes.append(Write(number=number, at=now, visible_at=now + self.lag, event=kept))
        return number

    def visible(self, *, also: int | None = None) -> list[Write]:
        """The writes that can be seen now, in the order of their numbers.

        `also` is the number of a write whose author knows of it without seeing it.
        """
        now = self.clock()
        return [each for each in self._writes if each.visible_at <= now or each.number == also]

    def records(self) -> list[Record]:
        """The items that were ever created, doubles and all, seen or not."""
        changed = (each.event for each in self._writes if isinstance(each.event, Changed))
        return [each.record for each in changed if each.record is not None]


def _minted(event: Event, number: int) -> Event:
    """`event`, an item that it adds being put under an id of the service's own."""
    if not isinstance(event, Changed) or not event.change.add:
        return event
    (item,) = event.change.add
    return replace(event, change=Changes(), record=Record.of(item, number=number))
