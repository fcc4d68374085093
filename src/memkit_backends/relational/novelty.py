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

Verdict = Literal["same", "forgotten", "other"]
"""What the rows say of a key that is known with another content: it is that key; it was
forgotten; it is another key that shares its digest."""

NOT_ASKED: Mapping[str, Verdict] = MappingProxyType({})


@dataclass(slots=True)
class Novelty:
    """The messages to store, and what became of the others.

    `doubts` names keys known with another content, and where: only the rows can say what
    they are. `holder` is the position of the last message that was skipped.
    """

    messages: list[Message] = field(default_factory=list)
    skipped: int = 0
    revised: int = 0
    doubts: dict[str, Place] = field(default_factory=dict)
    holder: int | None = None


def novelty(
    messages: Sequence[Message],
    log: SessionLog,
    *,
    session_id: str,
    revise: bool,
    verdicts: Mapping[str, Verdict] = NOT_ASKED,
) -> Novelty:
    """Sort `messages` into new, known and doubtful; `MessageConflict` as `append` has it."""
    found = Novelty()
    here: dict[str, str] = {}
    for message in messages:
        key = message.key
        if key is None:
            found.messages.append(message)
            continue
        verdict = verdicts.get(key)
        place = None if verdict == "other" else log.places.get(key_digest(key))
        known = here.get(key) or (place.digest.hex() if place else None)
        if known is not None and (verdict == "forgotten" or known == message.digest):
            found.skipped += 1
            found.holder = place.position if place else None
            continue
        if known is not None and place is not None and verdict is None:
            found.doubts[key] = place
            continue
        if known is not None and not revise:
            raise MessageConflict(key, session_id=session_id)
        found.messages.append(message)
        found.revised += known is not None
        here[key] = message.digest
    return found
