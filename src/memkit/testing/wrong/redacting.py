"""Stores that redact wrongly, or let what was forgotten come back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack

from memkit.contracts import Clock
from memkit.models import (
    Appended,
    Episode,
    Receipt,
    Scope,
    Tail,
    Target,
    key_hash,
)
from memkit.testing.wrong.store import How, Manner, Wrong


class CountsRedactedAsGone(Wrong):
    """Counts a redacted message as a removed one too."""

    breaks = "test_the_text_is_replaced_and_the_message_stays"

    async def forget(self, target: Target, **how: Unpack[Manner]) -> Receipt:
        """A receipt that says more than was done."""
        receipt = await super().forget(target, **how)
        return receipt.model_copy(update={"messages": receipt.messages + receipt.redacted})


class RedactsTextOnly(Wrong):
    """Replaces the text, and leaves the metadata."""

    breaks = "test_nothing_of_a_redacted_message_is_left"

    async def forget(self, target: Target, **how: Unpack[Manner]) -> Receipt:
        """What was said about it is said still."""
        before = {row.skeleton.id: dict(row.bodies) for row in self._state.episodes.values()}
        receipt = await super().forget(target, **how)
        for row in self._state.episodes.values() if how.get("replacement") else ():
            for place, body in row.bodies.items():
                metadata = before[row.skeleton.id][place].metadata
                row.bodies[place] = body.model_copy(update={"metadata": metadata})
        return receipt


class RedactsTheEvidenceOnly(Wrong):
    """Replaces what was said, and keeps what was learnt from it."""

    breaks = "test_what_came_from_a_redacted_message_goes"

    async def forget(self, target: Target, **how: Unpack[Manner]) -> Receipt:
        """No cascade where the message stays."""
        before = list(self._state.items.values())
        receipt = await super().forget(target, **how)
        for item in before if how.get("replacement") else ():
            self._state.put(item)
        return receipt


class ForgetsTheOldWords(Wrong):
    """Compares a redacted message with its replacement."""

    breaks = "test_a_redacted_message_handed_in_again_stays_redacted"

    async def forget(self, target: Target, **how: Unpack[Manner]) -> Receipt:
        """Makes the digest anew."""
        receipt = await super().forget(target, **how)
        for row in self._state.episodes.values() if how.get("replacement") else ():
            log = self._state.log(row.session)
            log.forgotten.clear()
            for place, body in row.bodies.items():
                log.entries[place].digest, log.entries[place].forgotten = body.digest, False
        return receipt


class RevisesTheForgotten(Wrong):
    """Takes another content under a forgotten key for a revision."""

    breaks = "test_a_forgotten_history_is_not_recorded_again"

    async def append(self, episodes: Sequence[Episode], **how: Unpack[How]) -> list[Appended]:
        """With `revise` a forgotten key is a key like any other."""
        for log in self._state.sessions.values() if how.get("revise") else ():
            for entry in log.entries:
                entry.forgotten &= bool(self._state.episodes[entry.episode_id].bodies)
        return await super().append(episodes, **how)


class LosesCount(Wrong):
    """Leaves forgotten messages out of the tail."""

    breaks = "test_forgotten_messages_still_count"

    async def tail(self, scope: Scope, session_id: str, *, limit: int) -> Tail:
        """Lists what has a body."""
        tail = await super().tail(scope, session_id, limit=limit)
        entries = self._state.log((scope, session_id)).entries
        gone = bool(entries) and all(each.forgotten and each.key is None for each in entries)
        return Tail(head=tail.head) if gone else tail


class KeepsForgottenKeys(Wrong):
    """Keeps the keys of forgotten messages as they were."""

    breaks = "test_of_a_forgotten_message_only_hashes_stay"

    async def tail(self, scope: Scope, session_id: str, *, limit: int) -> Tail:
        """Shows them again."""
        tail = await super().tail(scope, session_id, limit=limit)
        keys = tuple(self._known.get(each or "", each) for each in tail.keys)
        return tail.model_copy(update={"keys": keys})

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self._known: dict[str, str] = {}

    async def append(self, episodes: Sequence[Episode], **how: Unpack[How]) -> list[Appended]:
        """Remembers which key a hash stands for."""
        keys = [message.key for each in episodes for message in each.messages if message.key]
        self._known |= {key_hash(key): key for key in keys}
        return await super().append(episodes, **how)
