"""Stores that take messages, keys and heads for others."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Unpack

from memkit.errors import MessageConflict
from memkit.models import Appended, Episode, Message, new_id
from memkit.testing.wrong.store import How, Wrong


class KeysOfTheScope(Wrong):
    """Takes a key for unique in the scope, not in the session."""

    breaks = "test_a_key_belongs_to_its_session"

    async def append(self, episodes: Sequence[Episode], **how: Unpack[How]) -> list[Appended]:
        """Leaves out what another session of the scope has under the same key."""
        kept = [each.model_copy(update={"messages": self._own(each)}) for each in episodes]
        return await super().append(kept, **how)

    def _own(self, episode: Episode) -> tuple[Message, ...]:
        others = [
            log
            for (scope, session_id), log in self._state.sessions.items()
            if scope == episode.scope and session_id != episode.session_id
        ]
        return tuple(
            each
            for each in episode.messages
            if not any(log.under(each.key) is not None for log in others)
        )


class SkipsTheSameWords(Wrong):
    """Skips a message without a key when the session has the same words."""

    breaks = "test_messages_without_a_key_are_always_new"

    async def append(self, episodes: Sequence[Episode], **how: Unpack[How]) -> list[Appended]:
        """Compares digests where there is no key."""
        kept = [each.model_copy(update={"messages": self._new(each)}) for each in episodes]
        return await super().append(kept, **how)

    def _new(self, episode: Episode) -> tuple[Message, ...]:
        if episode.id in self._state.episodes:
            return episode.messages
        log = self._state.log((episode.scope, episode.session_id))
        known = {entry.digest for entry in log.entries}
        return tuple(
            each for each in episode.messages if each.key is not None or each.digest not in known
        )


class MisnamesConflicts(Wrong):
    """Raises a conflict that does not say where."""

    breaks = "test_another_content_under_a_key_is_a_conflict"

    async def append(self, episodes: Sequence[Episode], **how: Unpack[How]) -> list[Appended]:
        """Names the wrong session."""
        try:
            return await super().append(episodes, **how)
        except MessageConflict as conflict:
            raise MessageConflict(conflict.key, session_id="?") from None


class StoresUpToTheConflict(Wrong):
    """Stores a batch episode by episode, until one conflicts."""

    breaks = "test_a_conflict_stores_no_episode_of_the_call"

    async def append(self, episodes: Sequence[Episode], **how: Unpack[How]) -> list[Appended]:
        """One at a time."""
        answers: list[Appended] = []
        for each in episodes:
            answers += await super().append([each], **how)
        return answers


class CountsNoRevisions(Wrong):
    """Stores revisions, and does not say so."""

    breaks = "test_a_revision_is_kept_beside_what_it_revises"

    async def append(self, episodes: Sequence[Episode], **how: Unpack[How]) -> list[Appended]:
        """Counts them as merely new."""
        answers = await super().append(episodes, **how)
        return [each.model_copy(update={"revised": 0}) for each in answers]


class ComparesWithTheFirst(Wrong):
    """Compares a key with what it said first, not with its newest content."""

    breaks = "test_a_revision_handed_in_again_is_skipped"

    async def append(self, episodes: Sequence[Episode], **how: Unpack[How]) -> list[Appended]:
        """A revision handed in again is a conflict."""
        for each in () if how.get("revise") else episodes:
            log = self._state.log((each.scope, each.session_id))
            first = {
                entry.key: entry.digest for entry in reversed(log.entries) if not log.forgotten
            }
            for message in each.messages:
                if message.key and first.get(message.key, message.digest) != message.digest:
                    raise MessageConflict(message.key, session_id=each.session_id)
        return await super().append(episodes, **how)


class TakesTheLastOfTwins(Wrong):
    """Of a key twice in one episode it keeps the later, without a word."""

    breaks = "test_a_key_twice_in_one_call_counts_once"

    async def append(self, episodes: Sequence[Episode], **how: Unpack[How]) -> list[Appended]:
        """Reads an episode's keys into a dict."""
        kept = [
            each.model_copy(
                update={
                    "messages": tuple(
                        {message.key or new_id(): message for message in each.messages}.values()
                    )
                }
            )
            for each in episodes
        ]
        return await super().append(kept, **how)


class StaleOnlyIfBehind(Wrong):
    """Believes a caller that expects a head beyond the session's end."""

    breaks = "test_an_expected_head_that_has_moved_answers_stale"

    async def append(self, episodes: Sequence[Episode], **how: Unpack[How]) -> list[Appended]:
        """Checks one side only."""
        expected = how.get("expected_head")
        if expected is not None:
            log = self._state.log((episodes[0].scope, episodes[0].session_id))
            how["expected_head"] = min(expected, len(log.entries))
        return await super().append(episodes, **how)


class CountsNothingSkipped(Wrong):
    """Skips what it knows, and does not say so."""

    breaks = "test_a_known_key_is_skipped"

    async def append(self, episodes: Sequence[Episode], **how: Unpack[How]) -> list[Appended]:
        """Of the one message of a session."""
        answers = await super().append(episodes, **how)
        alone = len(answers) == 1 and answers[0].head == 1
        return [each.model_copy(update={"skipped": 0}) if alone else each for each in answers]


class RevivesOldContents(Wrong):
    """Knows that a key lives on, and not what it may not say again."""

    breaks = "test_a_forgotten_content_stays_out_though_its_key_lives_on"

    async def append(self, episodes: Sequence[Episode], **how: Unpack[How]) -> list[Appended]:
        """What was forgotten is a revision like any other."""
        for log in self._state.sessions.values() if how.get("revise") else ():
            log.forgotten.clear()
        return await super().append(episodes, **how)


class PlacesTheRestFirst(Wrong):
    """Places what is new of an episode where the whole of it began."""

    breaks = "test_only_what_is_new_of_an_episode_is_stored"

    async def append(self, episodes: Sequence[Episode], **how: Unpack[How]) -> list[Appended]:
        """Not at the head."""
        answers = await super().append(episodes, **how)
        for answer in answers:
            row = self._state.episodes.get(answer.episode_id or "")
            if row is not None and answer.stored and answer.skipped and not answer.revised:
                row.skeleton = row.skeleton.model_copy(update={"position": 0})
        return answers


class LooksThenStores(Wrong):
    """Looks whether a key is known, does something else, and stores the message."""

    breaks = "test_one_message_from_several_tasks_is_stored_once"

    async def append(self, episodes: Sequence[Episode], **how: Unpack[How]) -> list[Appended]:
        """Check, pause, insert."""
        keys = {message.key for each in episodes[:1] for message in each.messages}
        unknown = [key for key in keys if not self._is_known(episodes[0], key)]
        await asyncio.sleep(0)
        overtaken = any(self._is_known(episodes[0], key) for key in unknown)
        given = [_unkeyed(each) for each in episodes] if overtaken else episodes
        return await super().append(given, **how)

    def _is_known(self, episode: Episode, key: str | None) -> bool:
        log = self._state.log((episode.scope, episode.session_id))
        return log.under(key) is not None


def _unkeyed(episode: Episode) -> Episode:
    said = tuple(each.model_copy(update={"key": None}) for each in episode.messages)
    return episode.model_copy(update={"messages": said})


class ExpectsTheStart(Wrong):
    """Takes any expected head but the first for stale."""

    breaks = "test_an_expected_head_that_holds_lets_the_episode_in"

    async def append(self, episodes: Sequence[Episode], **how: Unpack[How]) -> list[Appended]:
        """Compares with zero."""
        if how.get("expected_head"):
            log = self._state.log((episodes[0].scope, episodes[0].session_id))
            return [Appended(episode_id=None, head=len(log.entries), stale=True)]
        return await super().append(episodes, **how)
