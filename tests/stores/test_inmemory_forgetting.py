"""What the in-memory store forgets, beyond the kit."""

from __future__ import annotations

from collections.abc import Container
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memkit.errors import InvalidInput
from memkit.inmemory import InMemoryStore
from memkit.models import (
    Changes,
    Claim,
    Episodes,
    Items,
    Message,
    Messages,
    Scope,
    Session,
    Target,
    WholeScope,
    key_hash,
)
from memkit.testing.clock import ManualClock
from memkit.testing.reading import all_episodes, all_items, contents
from memkit.testing.values import DAY, HERE, NOW, a_message, a_source, an_episode, an_item, numbered

pytestmark = pytest.mark.anyio

HOUR = timedelta(hours=1)
PLENTY = 10_000
quick = settings(max_examples=60, deadline=None)


@pytest.fixture
def store() -> InMemoryStore:
    """A fresh store."""
    return InMemoryStore(lease_clock=ManualClock(NOW))


async def claimed(store: InMemoryStore, scope: Scope = HERE) -> Claim:
    """A claim that must be there to have."""
    claim = await store.claim(scope, now=NOW, budget=PLENTY, lease=HOUR)
    assert claim is not None
    return claim


words = st.sampled_from(["a", "b"])
targets = st.sampled_from(
    [
        WholeScope(scope=HERE),
        Session(scope=HERE, session_id="s-1"),
        Messages(scope=HERE, session_id="s-1", keys=("k1",)),
        Messages(scope=HERE, session_id="s-1", keys=("k1", "k2", "k3")),
        Episodes(scope=HERE, ids=(numbered(0), numbered(1))),
        Items(scope=HERE, ids=(numbered(100), numbered(101))),
    ]
)
keyed = st.lists(
    st.builds(
        lambda text, key: a_message(text, key=key), words, st.sampled_from(["k1", "k2", "k3"])
    ),
    min_size=1,
    max_size=4,
)


@quick
@given(st.lists(keyed, min_size=1, max_size=4), st.lists(targets, min_size=1, max_size=3))
async def test_what_was_forgotten_never_comes_back(
    parts: list[list[Message]], forgotten: list[Target]
) -> None:
    """Whatever was recorded and learnt before, handed in again, adds nothing after a forget."""
    store = InMemoryStore()
    episodes = [an_episode(*part, episode_id=numbered(n)) for n, part in enumerate(parts)]
    await store.append(episodes, revise=True)
    kept = [await store.scan("episodes", scope=HERE, limit=99)][0].rows
    learnt = [
        an_item(f"From {episode.id} {place}", item_id=numbered(100 + n * 10 + place)).model_copy(
            update={"sources": (a_source(episode, place),), "origin": "user"}
        )
        for n, episode in enumerate(kept)
        for place in range(len(episode.messages))
    ]
    await store.apply(HERE, Changes(add=tuple(learnt)))
    for target in forgotten:
        await store.forget(target, at=NOW)
    left = await contents(store)
    tail = await store.tail(HERE, "s-1", limit=99)
    gone = set(zip(tail.keys, tail.digests, strict=True))
    before = await of_these(store, gone)
    fresh = [each.model_copy(update={"id": numbered(50 + n)}) for n, each in enumerate(episodes)]
    for again in (episodes, kept, fresh):
        await store.append(again, revise=True)
    await store.apply(HERE, Changes(add=tuple(learnt)))
    assert (await of_these(store, gone), await contents(store)) == (before, left)


async def of_these(store: InMemoryStore, said: Container[tuple[str | None, str]]) -> int:
    """How many messages the store holds whose key, as hash, and digest are among `said`."""
    bodies = [message for each in await all_episodes(store) for message in each.messages]
    return sum((key_hash(each.key or ""), each.digest) in said for each in bodies)


async def test_a_whole_scope_is_forgotten_by_home(store: InMemoryStore) -> None:
    """Its items are counted once, also those that would have gone with their sources."""
    said = an_episode("I like tea")
    await store.append([said])
    tea = an_item("Likes tea", sources=[a_source(said)])
    await store.apply(HERE, Changes(add=(tea, an_item("Told"))))
    assert (await store.forget(WholeScope(scope=HERE), at=NOW)).items == 2


async def test_a_session_of_two_homes_is_forgotten_in_both(store: InMemoryStore) -> None:
    """After the projection was changed a session has two homes; what it taught leaves each."""
    shared = HERE.project("user")
    old, new = an_episode("one"), an_episode("two", home=shared)
    await store.append([old, new])
    for scope, episode in ((HERE, old), (shared, new)):
        item = an_item("Learnt", scope=scope, sources=[a_source(episode)])
        await store.apply(scope, Changes(add=(item,)))
    receipt = await store.forget(Session(scope=HERE, session_id="s-1"), at=NOW)
    assert (receipt.items, receipt.episodes, receipt.epoch) == (2, 2, 1)
    assert await all_items(store) == []


async def test_forgetting_what_was_purged_takes_what_it_taught(store: InMemoryStore) -> None:
    """The cascade goes by ids and places, which outlive the bodies."""
    said = an_episode("I like tea", keys=["k"], expires_at=NOW)
    await store.append([said])
    await store.apply(HERE, Changes(add=(an_item("Likes tea", sources=[a_source(said)]),)))
    await store.purge(now=NOW)
    target = Messages(scope=HERE, session_id="s-1", keys=("k",))
    receipt = await store.forget(target, at=NOW)
    assert (receipt.items, receipt.messages, receipt.episodes) == (1, 0, 0)


async def test_a_replacement_needs_messages(store: InMemoryStore) -> None:
    """Items and whole scopes have no text to put it in; nothing is forgotten then."""
    await store.append([an_episode("stays")])
    for target in (WholeScope(scope=HERE), Items(scope=HERE, ids=("x",))):
        with pytest.raises(InvalidInput):
            await store.forget(target, at=NOW, replacement="-")
    assert (await store.forget(WholeScope(scope=HERE), at=NOW)).epoch == 1


async def test_a_redacted_episode_says_so_and_is_still_read(store: InMemoryStore) -> None:
    """It keeps its place among the pending, flagged, with the replacement for its text."""
    await store.append([an_episode("card 4111", "noted", keys=["k1", "k2"])])
    target = Messages(scope=HERE, session_id="s-1", keys=("k1",))
    await store.forget(target, at=NOW, replacement="[card]")
    [episode] = (await claimed(store)).episodes
    assert episode.flags == ("redacted",)
    assert [each.text for each in episode.messages] == ["[card]", "noted"]


async def test_a_tombstone_is_one_and_keeps_its_latest_date(store: InMemoryStore) -> None:
    """Forgetting the same content again, even with an earlier date, leaves the later one."""
    for at in (NOW + DAY, NOW):
        tea = an_item("Likes tea")
        await store.apply(HERE, Changes(add=(tea,)))
        await store.forget(Items(scope=HERE, ids=(tea.id,)), at=at)
    [stone] = (await store.scan("tombstones")).rows
    assert stone.at == NOW + DAY
