"""Stores that record wrongly."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Self, Unpack

from memkit.contracts import Clock, What
from memkit.errors import StoreBusy
from memkit.inmemory.pages import Span
from memkit.models import Appended, Episode, Message, Page, Scope, Tail, new_id
from memkit.testing.wrong.store import How, Row, Wrong


class DropsFlags(Wrong):
    """Keeps no flags of an episode."""

    breaks = "test_an_episode_comes_back_as_it_was_given"

    def answered(self, _what: What, _span: Span, page: Page[Row]) -> Page[Row]:
        """Episodes without their flags."""
        return replace(
            page,
            rows=tuple(
                each.model_copy(update={"flags": ()}) if isinstance(each, Episode) else each
                for each in page.rows
            ),
        )


class AnswersInReverse(Wrong):
    """Answers a batch from its end."""

    breaks = "test_there_is_one_answer_per_episode_in_order"

    async def append(self, episodes: Sequence[Episode], **how: Unpack[How]) -> list[Appended]:
        """Batches of three and more come back in reverse."""
        answers = await super().append(episodes, **how)
        return answers[::-1] if len(answers) > 2 else answers


class KeepsOneHome(Wrong):
    """Keeps all episodes of a call for the home of the first."""

    breaks = "test_episodes_of_one_session_may_have_different_homes"

    async def append(self, episodes: Sequence[Episode], **how: Unpack[How]) -> list[Appended]:
        """Those of one session that is."""
        homes: dict[tuple[Scope, str], Scope] = {}
        moved = [
            each.model_copy(
                update={"home": homes.setdefault((each.scope, each.session_id), each.home)}
            )
            for each in episodes
        ]
        return await super().append(moved, **how)


class StoresNothing(Wrong):
    """Makes a row of an episode that says nothing."""

    breaks = "test_appending_nothing_stores_nothing"

    async def append(self, episodes: Sequence[Episode], **how: Unpack[How]) -> list[Appended]:
        """Silence becomes a message."""
        spoken = [each if each.messages else _silence(each) for each in episodes]
        return await super().append(spoken, **how)


def _silence(episode: Episode) -> Episode:
    return episode.model_copy(update={"messages": (Message(role="user", content=()),)})


class DoublesRepeats(Wrong):
    """Stores an episode whose id it knows once more."""

    breaks = "test_an_episode_id_is_stored_once"

    async def append(self, episodes: Sequence[Episode], **how: Unpack[How]) -> list[Appended]:
        """Mints another id when one is taken."""
        minted = [
            each.model_copy(update={"id": new_id()})
            if how.get("expected_head") is None and self._is_there(each.id)
            else each
            for each in episodes
        ]
        return await super().append(minted, **how)

    def _is_there(self, episode_id: str) -> bool:
        row = self._state.episodes.get(episode_id)
        return row is not None and bool(row.bodies)


class RepeatsBringBack(Wrong):
    """Takes a late repeat of a forgotten episode for a new one."""

    breaks = "test_a_forgotten_episode_id_does_not_come_back"

    async def append(self, episodes: Sequence[Episode], **how: Unpack[How]) -> list[Appended]:
        """Mints another id when the body is gone."""
        rows = self._state.episodes
        minted = [
            each.model_copy(update={"id": new_id()})
            if each.id in rows and not rows[each.id].bodies
            else each
            for each in episodes
        ]
        return await super().append(minted, **how)


class LooksThenAppends(Wrong):
    """Reads the head, does something else, and trusts what it read."""

    breaks = "test_one_expected_head_lets_one_caller_in"

    async def append(self, episodes: Sequence[Episode], **how: Unpack[How]) -> list[Appended]:
        """Check, pause, insert."""
        expected = how.get("expected_head")
        if expected is None:
            return await super().append(episodes, **how)
        session = (episodes[0].scope, episodes[0].session_id)
        fresh = len(self._state.log(session).entries) == expected
        await asyncio.sleep(0)
        if fresh:
            how["expected_head"] = len(self._state.log(session).entries)
        return await super().append(episodes, **how)


class RepeatsAreStale(Wrong):
    """Looks at the head before it looks at the id."""

    breaks = "test_an_episode_already_stored_is_never_stale"

    async def append(self, episodes: Sequence[Episode], **how: Unpack[How]) -> list[Appended]:
        """A repeat meets the head that it moved itself."""
        expected = how.get("expected_head")
        if expected is not None:
            log = self._state.log((episodes[0].scope, episodes[0].session_id))
            if len(log.entries) != expected:
                return [Appended(episode_id=None, head=len(log.entries), stale=True)]
        return await super().append(episodes, **how)


class HalfAppends(Wrong):
    """Leaves the first message of an append that is cancelled."""

    breaks = "test_a_cancelled_append_leaves_all_or_nothing"

    async def append(self, episodes: Sequence[Episode], **how: Unpack[How]) -> list[Appended]:
        """Commits message by message."""
        try:
            await asyncio.sleep(0)
        except asyncio.CancelledError:
            halves = [each.model_copy(update={"messages": each.messages[:1]}) for each in episodes]
            await super().append(halves, **how)
            raise
        return await super().append(episodes, **how)


class KeepsKeysInMemory(Wrong):
    """Writes messages down, but not their keys."""

    breaks = "test_what_was_appended_is_there_after_reopening"

    def reopened(self) -> Self:
        """After a restart nobody knows which key a message had."""
        for log in self._state.sessions.values():
            for entry in log.entries:
                entry.key = None
        return self


class TailsFromTheFront(Wrong):
    """Lists the oldest messages of a session as its tail."""

    breaks = "test_the_tail_lists_the_newest_messages_oldest_first"

    async def tail(self, scope: Scope, session_id: str, *, limit: int) -> Tail:
        """The first `limit`."""
        whole = await super().tail(scope, session_id, limit=10_000)
        return Tail(head=whole.head, digests=whole.digests[:limit], keys=whole.keys[:limit])


class StripsSessionNames(Wrong):
    """Cleans ids that were to be kept as they are."""

    breaks = "test_keys_and_sessions_are_verbatim"

    async def append(self, episodes: Sequence[Episode], **how: Unpack[How]) -> list[Appended]:
        """Without the blanks around a session's name."""
        stripped = [
            each.model_copy(update={"session_id": each.session_id.strip()}) for each in episodes
        ]
        return await super().append(stripped, **how)


class CountsEpisodes(Wrong):
    """Places an episode by the number of those before it."""

    breaks = "test_positions_follow_the_head"

    def answered(self, _what: What, _span: Span, page: Page[Row]) -> Page[Row]:
        """The third stands at 2, whatever was said before."""
        rows = [
            each.model_copy(update={"position": min(each.position, 2)})
            if isinstance(each, Episode) and len(page.rows) == 3
            else each
            for each in page.rows
        ]
        return replace(page, rows=tuple(rows))


class TailsTheUnknown(Wrong):
    """Lists a message for a session that has none."""

    breaks = "test_an_unknown_session_is_empty"

    async def tail(self, scope: Scope, session_id: str, *, limit: int) -> Tail:
        """An outer join."""
        tail = await super().tail(scope, session_id, limit=limit)
        return tail if tail.head else Tail(digests=("",), keys=(None,))


class CountsSessionsByHome(Wrong):
    """Takes sessions of one name that share a home for one."""

    breaks = "test_a_session_belongs_to_the_scope_it_was_recorded_with"

    async def tail(self, scope: Scope, session_id: str, *, limit: int) -> Tail:
        """Adds up their heads."""
        rows = [
            each.skeleton
            for each in self._state.episodes.values()
            if each.skeleton.session_id == session_id
        ]
        homes = {each.home for each in rows if each.scope == scope}
        scopes = {each.scope for each in rows if each.home in homes} | {scope}
        heads = [len(self._state.log((each, session_id)).entries) for each in scopes]
        tail = await super().tail(scope, session_id, limit=limit)
        return tail.model_copy(update={"head": sum(heads)})


class ServesNine(Wrong):
    """Turns callers away when there are ten."""

    breaks = "test_callers_at_the_same_time_lose_and_double_nothing"

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self._serving = 0

    async def append(self, episodes: Sequence[Episode], **how: Unpack[How]) -> list[Appended]:
        """A pool that is too small, and does not wait."""
        if self._serving > 8:
            raise StoreBusy("nine others are served")
        self._serving += 1
        try:
            await asyncio.sleep(0)
            return await super().append(episodes, **how)
        finally:
            self._serving -= 1
