"""What `Store.append` and `Store.tail` promise."""

from __future__ import annotations

import asyncio

import pytest

from memkit.contracts import Store
from memkit.errors import MessageConflict
from memkit.models import (
    MediaBlock,
    Message,
    ReasoningBlock,
    Tail,
    TextBlock,
    ToolCallBlock,
    ToolResultBlock,
)
from memkit.testing.clock import ManualClock
from memkit.testing.reading import all_episodes, texts
from memkit.testing.suite import StoreSuite, immediate
from memkit.testing.values import (
    DAY,
    HERE,
    MINUTE,
    NOW,
    THERE,
    a_message,
    an_episode,
    numbered,
)

EVERY_BLOCK = Message(
    role="assistant",
    name="guide",
    key="m-1",
    time=NOW + MINUTE,
    metadata={"trace": {"depth": 3, "seen": [True, None, 0.1]}},
    content=(
        TextBlock(text="Look:\n\tthere", extra={"cache": {"type": "ephemeral"}}),
        ReasoningBlock(text="hm"),
        ToolCallBlock(
            id="c-1", name="weather", arguments={"city": "Zürich", "days": 9007199254740993}
        ),
        ToolResultBlock(
            call_id="c-1", content=[{"type": "json", "json": {"t": -1.5e-9}}], is_error=True
        ),
        MediaBlock(media="image", reference="s3://bucket/a?b=c", media_type="image/png"),
    ),
)


class AppendRules(StoreSuite):
    """Recording: nothing lost, nothing doubled, in order."""

    async def test_an_episode_comes_back_as_it_was_given(self, store: Store) -> None:
        """Every field of an episode is kept as it was said; `position` is the store's to set."""
        plain = (a_message("Tea"), a_message("Cake", key="m-2"), Message(role="tool", content="4"))
        given = an_episode(EVERY_BLOCK, *plain, expires_at=NOW + 90 * DAY)
        given = given.model_copy(
            update={"flags": ("sanitized", "redacted"), "tokens": 42, "position": 7}
        )
        await store.append([given])
        assert await all_episodes(store) == [given.model_copy(update={"position": 0})]

    async def test_episodes_of_one_session_may_have_different_homes(self, store: Store) -> None:
        """Each is kept for the home that it says, appended together or one after the other."""
        await store.append([an_episode("one"), an_episode("two", home=THERE)])
        await store.append([an_episode("three")])
        await store.append([an_episode("four", home=THERE)])
        assert [each.home for each in await all_episodes(store)] == [HERE, THERE, HERE, THERE]

    async def test_there_is_one_answer_per_episode_in_order(self, store: Store) -> None:
        """`append` answers each episode at its place, with the head that its session then has."""
        first, other, second = (
            an_episode("one", "two"),
            an_episode("else", session_id="s-2"),
            an_episode("three"),
        )
        answers = await store.append([first, other, second])
        assert [each.episode_id for each in answers] == [first.id, other.id, second.id]
        assert [each.head for each in answers] == [2, 1, 3]
        assert [each.stored for each in answers] == [2, 1, 1]

    async def test_appending_nothing_stores_nothing(self, store: Store) -> None:
        """No episodes make no answers, and an episode without messages makes no row."""
        assert await store.append([]) == []
        [answer] = await store.append([an_episode()])
        assert (answer.stored, answer.head) == (0, 0)
        assert await all_episodes(store) == []

    async def test_positions_follow_the_head(self, store: Store) -> None:
        """An episode stands at the head of its session, which grows by its length."""
        await store.append([an_episode("a", "b", episode_id=numbered(1))])
        await store.append([an_episode("c", episode_id=numbered(2))])
        await store.append([an_episode("d", episode_id=numbered(3))])
        assert [each.position for each in await all_episodes(store)] == [0, 2, 3]

    async def test_an_episode_id_is_stored_once(self, store: Store) -> None:
        """Repeating an episode, keys or none, answers as before and stores nothing."""
        episode = an_episode("my dog is Rex", "I see")
        [first] = await store.append([episode])
        [again] = await store.append([episode])
        assert (again.episode_id, again.head, again.stale) == (episode.id, first.head, False)
        assert await texts(store) == ["my dog is Rex", "I see"]

    async def test_a_known_key_is_skipped(self, store: Store) -> None:
        """The same key with the same content is stored once, whoever hands it in again."""
        first = an_episode("my dog is Rex", keys=["m-1"])
        await store.append([first])
        [answer] = await store.append([an_episode("my dog is Rex", keys=["m-1"])])
        assert (answer.stored, answer.skipped, answer.head) == (0, 1, 1)
        assert answer.episode_id == first.id
        assert await texts(store) == ["my dog is Rex"]

    async def test_only_what_is_new_of_an_episode_is_stored(self, store: Store) -> None:
        """Of a history handed in whole, the rest is stored as one row at the head."""
        await store.append([an_episode("one", "two", keys=["m-1", "m-2"])])
        whole = an_episode("one", "two", "three", keys=["m-1", "m-2", "m-3"])
        [answer] = await store.append([whole])
        assert (answer.episode_id, answer.stored, answer.skipped) == (whole.id, 1, 2)
        [row] = [each for each in await all_episodes(store) if each.id == whole.id]
        assert (row.position, [each.text for each in row.messages]) == (2, ["three"])

    async def test_a_key_belongs_to_its_session(self, store: Store) -> None:
        """The same key in another session, or in one of another scope, is another message."""
        await store.append([an_episode("here", keys=["m-1"])])
        answers = await store.append(
            [
                an_episode("other session", keys=["m-1"], session_id="s-2"),
                an_episode("other scope", keys=["m-1"], scope=THERE),
                an_episode("same home", keys=["m-1"], scope=THERE.project("user"), home=HERE),
            ]
        )
        assert [each.stored for each in answers] == [1, 1, 1]

    async def test_messages_without_a_key_are_always_new(self, store: Store) -> None:
        """The same words without a key are said again, not skipped: lost is worse than doubled."""
        await store.append([an_episode("yes")])
        [answer] = await store.append([an_episode("yes", "yes")])
        assert (answer.stored, answer.skipped, answer.head) == (2, 0, 3)

    async def test_another_content_under_a_key_is_a_conflict(self, store: Store) -> None:
        """`MessageConflict` names key and session."""
        await store.append([an_episode("my dog is Rex", keys=["m-1"])])
        with pytest.raises(MessageConflict) as caught:
            await store.append([an_episode("my dog is Max", keys=["m-1"])])
        assert (caught.value.key, caught.value.session_id) == ("m-1", "s-1")
        assert await texts(store) == ["my dog is Rex"]

    async def test_a_conflict_stores_no_episode_of_the_call(self, store: Store) -> None:
        """A conflict is raised before any episode of the call is stored, those before it too."""
        await store.append([an_episode("my dog is Rex", keys=["m-1"])])
        innocent = an_episode("innocent", keys=["n-1"], session_id="s-2")
        with pytest.raises(MessageConflict):
            await store.append([innocent, an_episode("my dog is Max", keys=["m-1"])])
        assert await texts(store) == ["my dog is Rex"]
        [answer] = await store.append([innocent])
        assert answer.stored == 1

    async def test_a_revision_is_kept_beside_what_it_revises(self, store: Store) -> None:
        """With `revise`, another content under a known key is stored anew and counted so."""
        await store.append([an_episode("my dog is Rex", "I see", keys=["m-1", "m-2"])])
        revision = an_episode("my dog is Max", "I see", keys=["m-1", "m-2"])
        [answer] = await store.append([revision], revise=True)
        assert (answer.stored, answer.revised, answer.skipped, answer.head) == (1, 1, 1, 3)
        assert sorted(await texts(store)) == ["I see", "my dog is Max", "my dog is Rex"]

    async def test_a_revision_handed_in_again_is_skipped(self, store: Store) -> None:
        """The newest content of a key is what is compared with."""
        await store.append([an_episode("my dog is Rex", keys=["m-1"])])
        await store.append([an_episode("my dog is Max", keys=["m-1"])], revise=True)
        [answer] = await store.append([an_episode("my dog is Max", keys=["m-1"])])
        assert (answer.stored, answer.skipped, answer.head) == (0, 1, 2)

    async def test_a_key_twice_in_one_call_counts_once(self, store: Store) -> None:
        """Within a call as between calls: the same content is skipped, another is a conflict."""
        [first, second] = await store.append(
            [an_episode("one", "one", keys=["m-1", "m-1"]), an_episode("one", keys=["m-1"])]
        )
        assert (first.stored, first.skipped, second.skipped) == (1, 1, 1)
        with pytest.raises(MessageConflict):
            await store.append([an_episode("two", "changed", keys=["m-2", "m-2"])])
        assert await texts(store) == ["one"]

    async def test_an_expected_head_that_holds_lets_the_episode_in(self, store: Store) -> None:
        """`expected_head` equal to the head of the session changes nothing."""
        await store.append([an_episode("one", "two")])
        [answer] = await store.append([an_episode("three")], expected_head=2)
        assert (answer.stored, answer.stale, answer.head) == (1, False, 3)

    async def test_an_expected_head_that_has_moved_answers_stale(self, store: Store) -> None:
        """A session that no longer ends there answers `stale` with its head, and stores nothing."""
        await store.append([an_episode("one", "two")])
        for expected in (0, 1, 3):
            [answer] = await store.append([an_episode("three")], expected_head=expected)
            assert (answer.stored, answer.stale, answer.head) == (0, True, 2)
        assert await texts(store) == ["one", "two"]

    async def test_an_episode_already_stored_is_never_stale(self, store: Store) -> None:
        """Repeating a call with `expected_head` answers as before, though the head has moved."""
        episode = an_episode("one", "two")
        await store.append([episode], expected_head=0)
        [again] = await store.append([episode], expected_head=0)
        assert (again.episode_id, again.stale, again.head) == (episode.id, False, 2)

    async def test_an_unknown_session_is_empty(self, store: Store) -> None:
        """`tail` of a session nobody recorded has head 0 and lists nothing."""
        assert await store.tail(HERE, "nowhere", limit=10) == Tail()

    async def test_the_tail_lists_the_newest_messages_oldest_first(self, store: Store) -> None:
        """`tail` gives digests and keys of the newest `limit` messages, and the whole head."""
        said = [
            a_message(str(number), key=f"m-{number}" if number % 2 else None) for number in range(5)
        ]
        await store.append([an_episode(*said[:2])])
        await store.append([an_episode(*said[2:])])
        whole, end = [await store.tail(HERE, "s-1", limit=limit) for limit in (10, 3)]
        assert (whole.head, end.head) == (5, 5)
        assert whole.digests == tuple(each.digest for each in said)
        assert whole.keys == (None, "m-1", None, "m-3", None)
        assert (end.digests, end.keys) == (whole.digests[2:], whole.keys[2:])

    async def test_a_session_belongs_to_the_scope_it_was_recorded_with(self, store: Store) -> None:
        """Sessions of one name are apart when their scopes are, though they share a home."""
        other = HERE.project("user")
        await store.append([an_episode("one"), an_episode("two", "three", scope=other, home=HERE)])
        assert (await store.tail(HERE, "s-1", limit=10)).head == 1
        assert (await store.tail(other, "s-1", limit=10)).head == 2

    async def test_callers_at_the_same_time_lose_and_double_nothing(self, store: Store) -> None:
        """Episodes appended from several tasks at once all stand at places of their own."""
        immediate(store)
        episodes = [an_episode(f"a-{number}", f"b-{number}") for number in range(12)]
        await asyncio.gather(*(store.append([each]) for each in episodes))
        kept = await all_episodes(store)
        assert sorted(each.id for each in kept) == sorted(each.id for each in episodes)
        assert sorted(each.position for each in kept) == list(range(0, 24, 2))

    async def test_one_message_from_several_tasks_is_stored_once(self, store: Store) -> None:
        """The same key handed in by several tasks at once is one message."""
        immediate(store)
        copies = [an_episode("my dog is Rex", keys=["m-1"]) for _ in range(8)]
        answers = await asyncio.gather(*(store.append([each]) for each in copies))
        assert await texts(store) == ["my dog is Rex"]
        [kept] = await all_episodes(store)
        assert {each.episode_id for [each] in answers} == {kept.id}

    async def test_one_expected_head_lets_one_caller_in(self, store: Store) -> None:
        """Of several callers that saw the same head, one appends and the others are stale."""
        immediate(store)
        rivals = [an_episode(f"reply {number}") for number in range(8)]
        answers = await asyncio.gather(*(store.append([each], expected_head=0) for each in rivals))
        assert sorted(each.stale for [each] in answers) == [False] + [True] * 7
        assert len(await texts(store)) == 1

    async def test_a_cancelled_append_leaves_all_or_nothing(self, store: Store) -> None:
        """A call cancelled at any moment has stored its whole episode or none of it."""
        immediate(store)
        for ticks in range(12):
            session = f"s-{ticks}"
            call = asyncio.ensure_future(store.append([an_episode("a", "b", session_id=session)]))
            for _ in range(ticks):
                await asyncio.sleep(0)
            call.cancel()
            await asyncio.wait([call])
            assert (await store.tail(HERE, session, limit=5)).head in {0, 2}
        await store.append([an_episode("a", "b", session_id="after")])
        assert (await store.tail(HERE, "after", limit=5)).head == 2

    async def test_what_was_appended_is_there_after_reopening(
        self, store: Store, clock: ManualClock
    ) -> None:
        """An append is durable when it returns."""
        await store.append([an_episode("one", "two", keys=["m-1", "m-2"])])
        kept, tail = await all_episodes(store), await store.tail(HERE, "s-1", limit=10)
        again = await self.reopen(store, clock)
        assert (await all_episodes(again), await again.tail(HERE, "s-1", limit=10)) == (kept, tail)
        await again.aclose()
