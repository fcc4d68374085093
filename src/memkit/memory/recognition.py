"""The messages of a history, most of which were seen the last time it was handed in."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from memkit.memory.intake import Intake, Kept, Said
from memkit.models import Message

_REMEMBERED = 20_000
"""How many mappings are known again; then all of them are looked at anew."""


class Seen(NamedTuple):
    """A message of a history, as it is compared with what is recorded.

    `digest` is that of what is kept, and empty where that is nothing. `kept` is at hand only
    where the message had not been seen before.
    """

    digest: str
    key: str | None
    kept: Kept | None = None


class Recognition:
    """Looks at each message once, and keeps nothing of it but its digest and key."""

    def __init__(self, intake: Intake, *, remembered: int = _REMEMBERED) -> None:
        self._intake = intake
        self._remembered = remembered
        self._objects: dict[int, tuple[Seen, weakref.ref[Message]]] = {}
        self._mappings: dict[int, Seen] = {}

    def see(self, history: Iterable[Said]) -> list[Seen]:
        """Each message of a history, in its order; `InvalidInput` as `Intake.keep` has it."""
        return [
            self._object(each) if isinstance(each, Message) else self._mapping(each)
            for each in history
        ]

    def _object(self, message: Message) -> Seen:
        place = id(message)
        known = self._objects.get(place)
        if known is not None:
            return known[0]
        seen = self._looked_at(message)
        # As long as the caller's own object lives, and no longer.
        mortal = weakref.ref(message, lambda _: self._objects.pop(place, None))
        self._objects[place] = Seen(seen.digest, seen.key), mortal
        return seen

    def _mapping(self, given: Mapping[str, object]) -> Seen:
        mark = _mark(given)
        known = None if mark is None else self._mappings.get(mark)
        if known is not None:
            return known
        seen = self._looked_at(given)
        if mark is not None:
            if len(self._mappings) >= self._remembered:
                self._mappings.clear()
            self._mappings[mark] = Seen(seen.digest, seen.key)
        return seen

    def _looked_at(self, given: Said) -> Seen:
        kept = self._intake.keep(given)
        if kept.message is None:
            return Seen("", None, kept)
        return Seen(kept.message.digest, kept.message.key, kept)


def _mark(given: Mapping[str, object]) -> int | None:
    """What tells one plain mapping from another, with as many bits as a digest has."""
    try:
        return hash(tuple(given.items())) if isinstance(given, dict) else None
    except TypeError:
        return None
