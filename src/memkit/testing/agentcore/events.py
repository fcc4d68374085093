"""Events and the sessions and branches they stand in."""

from __future__ import annotations

import bisect
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from memkit.testing.agentcore.clock import DAY
from memkit.testing.agentcore.values import Json, Members, to_seconds

if TYPE_CHECKING:
    from collections.abc import Iterator

MAIN = "main"
NO_EVENT = f"{0:019d}#{0:08x}"


@dataclass(frozen=True, kw_only=True)
class Event:
    """An immutable item of a conversation."""

    memory_id: str
    actor_id: str
    session_id: str
    at: int
    tie: int
    payload: list[Json]
    branch: Members
    metadata: Members
    written_at: int
    expires_at: int

    @property
    def event_id(self) -> str:
        """Milliseconds and hex digits, so that ids sort as texts."""
        return f"{self.at:019d}#{self.tie:08x}"

    @property
    def branch_name(self) -> str:
        """The branch the event was written to."""
        return str(self.branch["name"])

    @property
    def newest_first(self) -> tuple[float, ...]:
        """The sort key of lists."""
        return -self.at, -self.tie

    def shown_as(self, *, with_payload: bool) -> Members:
        """Return the event as a member of an answer."""
        return {
            "memoryId": self.memory_id,
            "actorId": self.actor_id,
            "sessionId": self.session_id,
            "eventId": self.event_id,
            "eventTimestamp": to_seconds(self.at),
            "branch": self.branch,
            **({"payload": self.payload} if with_payload else {}),
            **({"metadata": self.metadata} if self.metadata else {}),
        }


@dataclass(frozen=True)
class Fork:
    """Where a branch left its parent."""

    parent: str
    root: tuple[float, ...]


@dataclass(kw_only=True)
class Session:
    """The events of one actor's session, newest first."""

    actor_id: str
    session_id: str
    created_at: int
    events: list[Event] = field(default_factory=list)
    forks: dict[str, Fork] = field(default_factory=dict)
    emptied_at: int | None = None
    soonest_end: float = math.inf

    def add(self, event: Event) -> None:
        """Put an event in its place."""
        bisect.insort(self.events, event, key=lambda one: one.newest_first)
        self.emptied_at = None
        self.soonest_end = min(self.soonest_end, event.expires_at)

    def drop(self, event: Event, now: int) -> None:
        """Lose an event."""
        self.events.remove(event)
        self._note_emptiness(now)

    def lose_all(self, now: int) -> None:
        """Lose every event, as if its time were over."""
        self.events, self.soonest_end = [], math.inf
        self._note_emptiness(now)

    def expire(self, now: int) -> None:
        """Lose the events whose time is over."""
        if now < self.soonest_end or not self.events:
            return
        last_end = max(event.expires_at for event in self.events)
        self.events = [event for event in self.events if event.expires_at > now]
        self.soonest_end = min((event.expires_at for event in self.events), default=math.inf)
        self._note_emptiness(last_end)

    def is_over(self, now: int) -> bool:
        """Tell whether the session has been without events for a day."""
        return self.emptied_at is not None and now >= self.emptied_at + DAY

    def visible(self, until: int) -> list[Event]:
        """List the events that were written up to a moment."""
        return [event for event in self.events if event.written_at <= until]

    def find(self, event_id: str) -> Event | None:
        """Find an event; the hex digits of an id may be of either case."""
        wanted = event_id.lower()
        if len(wanted) != len(NO_EVENT):
            return None
        at, _, tie = wanted.partition("#")
        key: tuple[float, ...] = (-int(at), -int(tie, 16))
        place = bisect.bisect_left(self.events, key, key=lambda one: one.newest_first)
        found = self.events[place : place + 1]
        return found[0] if found and found[0].event_id == wanted else None

    def lineage(self, branch: str) -> Iterator[tuple[str, tuple[float, ...] | None]]:
        """Yield the branch and its ancestors, each with the event it is read up to."""
        yield branch, None
        while (fork := self.forks.get(branch)) is not None:
            yield fork.parent, fork.root
            branch = fork.parent

    def _note_emptiness(self, now: int) -> None:
        if not self.events:
            self.emptied_at = now


class Lineage:
    """Tells which events a branch filter shows."""

    def __init__(self, session: Session, branch: str, *, with_parents: bool) -> None:
        line = session.lineage(branch) if with_parents else [(branch, None)]
        self._limits = dict(line)

    def holds(self, event: Event) -> bool:
        """Tell whether an event is on the branch, or on an ancestor up to the fork."""
        if event.branch_name not in self._limits:
            return False
        limit = self._limits[event.branch_name]
        # Keys are negated times: later events have smaller ones.
        return limit is None or event.newest_first >= limit
