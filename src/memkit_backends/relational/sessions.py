"""What is known of sessions without asking: heads and keys, in a bounded memory.

A session only ever grows at its end, so what was once read of it stays true. What was added
by others is found by the uniqueness of (session, position): an append at a head that is no
longer the head stores nothing, and reads on from where its knowledge ends.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import NamedTuple

from memkit.models import Scope
from memkit_backends.relational.messages import NO_KEY, parts

KEPT_KEYS = 200_000
"""How many keys are remembered over all sessions, counting each session once more."""


class Place(NamedTuple):
    """Where a key was recorded last, and with which content."""

    position: int
    digest: bytes


class SessionLog:
    """One session as far as it is known: messages before `head`, and where keys are.

    `home` is the scope under which its episodes were kept last, with its number.
    """

    __slots__ = ("head", "home", "pk", "places")

    def __init__(self, pk: int, head: int = 0, places: dict[bytes, Place] | None = None) -> None:
        self.pk = pk
        self.head = head
        self.places = {} if places is None else places
        self.home: tuple[Scope, int] | None = None

    def copy(self) -> SessionLog:
        """The same, to be extended by what is not yet committed."""
        return SessionLog(self.pk, self.head, dict(self.places))

    def extend(self, position: int, keys: bytes | None, digests: bytes) -> None:
        """Take note of an episode's row; one that is known already changes nothing."""
        size = len(digests) // len(NO_KEY)
        if position != self.head:
            return
        if keys is not None:
            pairs = zip(parts(keys), parts(digests), strict=True)
            for place, (key, digest) in enumerate(pairs, start=position):
                if key != NO_KEY:
                    self.places[key] = Place(place, digest)
        self.head = position + size


class Sessions:
    """The logs of the sessions used last."""

    def __init__(self, kept: int = KEPT_KEYS) -> None:
        self._logs: OrderedDict[Hashable, tuple[SessionLog, int]] = OrderedDict()
        self._kept = kept
        self._weight = 0

    def get(self, session: Hashable) -> SessionLog | None:
        """What is known of a session by the name it was put under, or None."""
        found = self._logs.get(session)
        if found is None:
            return None
        self._logs.move_to_end(session)
        return found[0]

    def put(self, session: Hashable, log: SessionLog) -> None:
        """Take over what a committed transaction has seen; the oldest make room."""
        known, weight = self._logs.pop(session, (log, 0))
        newest = log if log.head >= known.head else known
        self._logs[session] = newest, 1 + len(newest.places)
        self._weight += 1 + len(newest.places) - weight
        while self._weight > self._kept and len(self._logs) > 1:
            _, (_, weight) = self._logs.popitem(last=False)
            self._weight -= weight
