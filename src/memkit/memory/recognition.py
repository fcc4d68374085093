"""The messages of a history, most of which were seen the last time it was handed in."""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

from memkit.memory.intake import Intake, Kept, Said
from memkit.models import Message, TextBlock

_REMEMBERED = 20_000
"""How many are known by what they say; then all of them are looked at anew."""
_PLAIN = frozenset({str, datetime, type(None)})


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

    A `Message` cannot be changed, and is known by its identity as long as it lives. One that
    is made anew for every call, and a mapping, are known by what they say.
    """

    def __init__(self, intake: Intake, *, remembered: int = _REMEMBERED) -> None:
        self._intake = intake
        self._remembered = remembered
        self._objects: dict[int, Seen] = {}
        self._lives: dict[int, weakref.ref[Message]] = {}
        self._said: dict[int, Seen] = {}

    def see(self, history: Iterable[Said], *, now: datetime | None = None) -> list[Seen]:
        """Each message of a history, in its order; errors and `now` as `Intake.keep` has it."""
        known = self._objects.get
        # A look-up is all that most of a long history costs. No mapping has a message's identity.
        return [known(id(each)) or self._compare(each, now) for each in history]

    def _compare(self, given: Said, now: datetime | None) -> Seen:
        mark = _mark(given)
        if mark is not None and mark in self._said:
            return self._said[mark]
        kept = self._intake.keep(given, now=now)
        message = kept.message
        seen = Seen("", None) if message is None else Seen(message.digest, message.key)
        if isinstance(given, Message):
            self._remember_object(given, seen)
        if mark is not None:
            self._remember_said(mark, seen)
        return Seen(seen.digest, seen.key, kept)

    def _remember_object(self, message: Message, seen: Seen) -> None:
        place = id(message)

        def forget(_: object) -> None:
            del self._objects[place], self._lives[place]

        self._objects[place] = seen
        self._lives[place] = weakref.ref(message, forget)

    def _remember_said(self, mark: int, seen: Seen) -> None:
        if len(self._said) >= self._remembered:
            self._said.clear()
        self._said[mark] = seen


def _mark(given: Said) -> int | None:
    """What tells one text from another, with as many bits as a digest; None for more than text."""
    if isinstance(given, Message):
        texts = [
            block.text
            for block in given.content
            if isinstance(block, TextBlock) and not block.extra
        ]
        is_text = len(texts) == len(given.content)
        return hash((given.role, given.name, given.key, *texts)) if is_text else None
    if not isinstance(given, dict):
        return None
    parts = (*given, *given.values())
    # A subclass of text may have another hash than that of what it says.
    return hash(parts) if _PLAIN.issuperset(map(type, parts)) else None
