"""What of an episode is new to its session, decided on digests alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from memkit.errors import MessageConflict
from memkit.models import Message
from memkit_backends.relational.messages import key_digest
from memkit_backends.relational.sessions import Place, SessionLog

Content = tuple[str, str]
"""A key with one of its contents, by digest."""

Verdict = Literal["changed", "forgotten", "other"]
"""What the rows say of a key that is known with another content: that content is new to it;
the key or that content of it was forgotten; it is another key that shares its digest."""

NOT_ASKED: Mapping[Content, Verdict] = MappingProxyType({})


@dataclass(slots=True)
class Novelty:
    """The messages to store, and what became of the others.

    `doubts` are contents other than the one their key is known with, and where that is: only
    the rows can say what they are. `holder` is the position for whose sake the last message
    was skipped.
    """

    messages: list[Message] = field(default_factory=list)
    skipped: int = 0
    revised: int = 0
    doubts: dict[Content, Place] = field(default_factory=dict)
    holder: int | None = None


def novelty(
    messages: Sequence[Message],
    log: SessionLog,
    *,
    session_id: str,
    revise: bool,
    verdicts: Mapping[Content, Verdict] = NOT_ASKED,
) -> Novelty:
    """Sort `messages` into new, known and doubtful; `MessageConflict` as `append` has it."""
    found = Novelty()
    here: dict[str, str] = {}
    for message in messages:
        key = message.key
        if key is None:
            found.messages.append(message)
            continue
        verdict = verdicts.get((key, message.digest))
        place = None if verdict == "other" else log.places.get(key_digest(key))
        known = here.get(key) or (place.digest.hex() if place else None)
        if known is not None and (verdict == "forgotten" or known == message.digest):
            found.skipped += 1
            found.holder = place.position if place else None
            continue
        if known is not None and place is not None and verdict is None:
            found.doubts[key, message.digest] = place
            continue
        if known is not None and not revise:
            raise MessageConflict(key, session_id=session_id)
        found.messages.append(message)
        found.revised += known is not None
        here[key] = message.digest
    return found
