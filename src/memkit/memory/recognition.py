"""The messages of a history, most of which were seen the last time it was handed in."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Mapping
from datetime import datetime
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
    """Looks at each message once, and remembers nothing of it but its digest and key.

    A `Message` cannot be changed, and is known by its identity as long as it lives. A mapping
    is known by what it says.
    """

    def __init__(self, intake: Intake, *, remembered: int = _REMEMBERED) -> None:
        self._intake = intake
        self._remembered = remembered
        self._objects: dict[int, Seen] = {}
        self._lives: dict[int, weakref.ref[Message]] = {}
        self._mappings: dict[int | None, Seen] = {}

    def see(self, history: Iterable[Said], *, now: datetime | None = None) -> list[Seen]:
        """Each message of a history, in its order; errors and `now` as `Intake.keep` has it."""
        objects, mappings = self._objects.get, self._mappings.get
        return [
            (objects(id(each)) if isinstance(each, Message) else mappings(_mark(each)))
            or self._look(each, now)
            for each in history
        ]

    def _look(self, given: Said, now: datetime | None) -> Seen:
        kept = self._intake.keep(given, now=now)
        message = kept.message
        seen = Seen("", None) if message is None else Seen(message.digest, message.key)
        if isinstance(given, Message):
            self._remember_object(given, seen)
        else:
            self._remember_mapping(given, seen)
        return seen._replace(kept=kept)

    def _remember_object(self, message: Message, seen: Seen) -> None:
        place = id(message)

        def forget(_: object) -> None:
            del self._objects[place], self._lives[place]

        self._objects[place] = seen
        self._lives[place] = weakref.ref(message, forget)

    def _remember_mapping(self, given: Mapping[str, object], seen: Seen) -> None:
        mark = _mark(given)
        if mark is None:
            return
        if len(self._mappings) >= self._remembered:
            self._mappings.clear()
        self._mappings[mark] = seen


def _mark(given: Mapping[str, object]) -> int | None:
    """What tells one plain mapping from another, with as many bits as a digest has."""
    try:
        return hash((*given, *given.values())) if isinstance(given, dict) else None
    except TypeError:
        return None
