"""What the in-memory store does with what was said, beyond the kit."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memkit.errors import InvalidInput, MessageConflict
from memkit.inmemory import InMemoryStore
from memkit.models import Episodes, Message, Messages, Session, key_hash
from memkit.testing.clock import ManualClock
from memkit.testing.reading import all_episodes, texts
from memkit.testing.values import HERE, NOW, a_message, an_episode, numbered

pytestmark = pytest.mark.anyio

quick = settings(max_examples=60, deadline=None)


@pytest.fixture
def store() -> InMemoryStore:
    """A fresh store."""
    return InMemoryStore(lease_clock=ManualClock(NOW))


words = st.sampled_from(["a", "b"])
keys = st.sampled_from([None, "k1", "k2", "k3"])
said = st.lists(st.builds(lambda text, key: a_message(text, key=key), words, keys), max_size=5)


def naive_append(log: list[Message], messages: Sequence[Message], *, revise: bool) -> list[Message]:
    """What of `messages` is new to `log`, by walking through all of it for each."""
    new: list[Message] = []
    for message in messages:
        same = [each for each in log + new if message.key and each.key == message.key]
        if same and same[-1].digest == message.digest:
            continue
        if same and not revise:
            raise MessageConflict(same[-1].key or "", session_id="s-1")
        new.append(message)
    return new


@quick
@given(st.lists(st.tuples(said, st.booleans()), max_size=6), st.integers(0, 12))
async def test_appending_is_what_a_naive_log_does(
    calls: list[tuple[list[Message], bool]], limit: int
) -> None:
    """Keys, revisions, conflicts and heads are those of a list that is searched from its start."""
    store, log = InMemoryStore(), list[Message]()
    for messages, revise in calls:
        try:
            new = naive_append(log, messages, revise=revise)
        except MessageConflict:
            with pytest.raises(MessageConflict):
                await store.append([an_episode(*messages)], revise=revise)
            continue
        [answer] = await store.append([an_episode(*messages)], revise=revise)
        log += new
        assert (answer.stored, answer.skipped) == (len(new), len(messages) - len(new))
        assert answer.head == len(log)
    tail = await store.tail(HERE, "s-1", limit=limit)
    newest = log[len(log) - min(limit, len(log)) :]
    assert tail.head == len(log)
    assert tail.digests == tuple(each.digest for each in newest)
    assert tail.keys == tuple(each.key for each in newest)


@quick
@given(st.lists(said, min_size=1, max_size=4))
async def test_one_call_does_what_several_do(parts: list[list[Message]]) -> None:
    """Episodes of one `append` meet each other as those of earlier calls."""
    together, apart = InMemoryStore(), InMemoryStore()
    episodes = [an_episode(*part, episode_id=numbered(n)) for n, part in enumerate(parts)]
    answers = [(await apart.append([each], revise=True))[0] for each in episodes]
    assert await together.append(episodes, revise=True) == answers
    assert await all_episodes(together) == await all_episodes(apart)


async def test_an_episode_id_of_another_session_is_refused(store: InMemoryStore) -> None:
    """Taking it for a repetition would lose what is said; nothing of the call is stored."""
    first = an_episode("one")
    await store.append([first])
    stolen = an_episode("two", episode_id=first.id, session_id="s-2")
    with pytest.raises(InvalidInput):
        await store.append([an_episode("innocent", session_id="s-3"), stolen])
    assert await texts(store) == ["one"]


async def test_an_expected_head_goes_with_one_episode(store: InMemoryStore) -> None:
    """With several episodes, or none, it means nothing and is refused."""
    for episodes in ([], [an_episode("a"), an_episode("b")]):
        with pytest.raises(InvalidInput):
            await store.append(episodes, expected_head=0)
    assert await texts(store) == []


async def test_a_repeated_episode_answers_exactly_as_before(store: InMemoryStore) -> None:
    """What was skipped and revised the first time is said again, whatever came since."""
    await store.append([an_episode("one", "two", keys=["m-1", "m-2"])])
    episode = an_episode("one", "2", "three", keys=["m-1", "m-2", "m-3"])
    [first] = await store.append([episode], revise=True)
    await store.append([an_episode("later")])
    assert await store.append([episode]) == [first]
    assert (first.stored, first.skipped, first.revised, first.head) == (2, 1, 1, 4)


async def test_what_was_forgotten_is_skipped_when_its_episode_is_repeated(
    store: InMemoryStore,
) -> None:
    """The answer says that nothing was stored, and under which id it had been."""
    episode = an_episode("secret", "too")
    await store.append([episode])
    await store.forget(Episodes(scope=HERE, ids=(episode.id,)), at=NOW)
    [answer] = await store.append([episode])
    assert (answer.episode_id, answer.stored, answer.skipped) == (episode.id, 0, 2)
    assert (answer.head, await texts(store)) == (2, [])


async def test_keys_without_a_body_are_listed_as_hashes(store: InMemoryStore) -> None:
    """Of purged and forgotten messages the tail shows `key_hash`, of redacted ones the key."""
    sessions = ("purged", "forgotten", "redacted")
    for name in sessions:
        expires_at = NOW if name == "purged" else None
        await store.append([an_episode("x", keys=["k"], session_id=name, expires_at=expires_at)])
    await store.purge(now=NOW)
    await store.forget(Session(scope=HERE, session_id="forgotten"), at=NOW)
    await store.forget(Session(scope=HERE, session_id="redacted"), at=NOW, replacement="-")
    shown = [(await store.tail(HERE, name, limit=1)).keys for name in sessions]
    assert shown == [(key_hash("k"),), (key_hash("k"),), ("k",)]


async def test_a_message_forgotten_after_its_body_was_purged_stays_out(
    store: InMemoryStore,
) -> None:
    """A purged key still meets its content; a forgotten one meets nothing ever again."""
    await store.append([an_episode("one", keys=["k"], expires_at=NOW)])
    await store.purge(now=NOW)
    with pytest.raises(MessageConflict):
        await store.append([an_episode("other", keys=["k"])])
    await store.forget(Messages(scope=HERE, session_id="s-1", keys=("k",)), at=NOW)
    [answer] = await store.append([an_episode("other", keys=["k"])], revise=True)
    assert (answer.stored, answer.skipped) == (0, 1)
