"""What the in-memory store does with what is remembered, beyond the kit."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memkit.errors import InvalidInput
from memkit.inmemory import InMemoryStore
from memkit.models import Changes, Patch, Supersession
from memkit.testing.clock import ManualClock
from memkit.testing.reading import all_episodes, all_items
from memkit.testing.values import (
    DAY,
    HERE,
    MINUTE,
    NOW,
    a_message,
    a_query,
    a_reinforcement,
    an_episode,
    an_item,
    numbered,
)

pytestmark = pytest.mark.anyio

quick = settings(max_examples=60, deadline=None)


@pytest.fixture
def store() -> InMemoryStore:
    """A fresh store."""
    return InMemoryStore(lease_clock=ManualClock(NOW))


def pooled_item(number: int, content: str, key: str | None, strength: float) -> Changes:
    """An addition out of few ids, contents and keys, so that they meet."""
    item = an_item(content, item_id=numbered(number), key=key, importance=strength)
    return Changes(add=(item,))


def weighed(number: int, strength: float) -> Patch:
    """A new importance with the dates that belong to it."""
    item = an_item("any", importance=strength)
    return Patch(
        id=numbered(number),
        importance=item.importance,
        reinforced_at=item.reinforced_at,
        policy=item.policy,
        fades_at=item.fades_at,
    )


numbers = st.integers(1, 4)
strengths = st.sampled_from([0.2, 0.5, 0.9])
items = st.sampled_from([an_item("any", item_id=numbered(n)) for n in range(1, 5)])
single = st.one_of(
    st.builds(
        pooled_item,
        numbers,
        st.sampled_from(["tea", "coffee"]),
        st.sampled_from([None, None, "drink"]),
        strengths,
    ),
    st.builds(lambda n: Changes(remove=(numbered(n),)), numbers),
    st.builds(
        lambda n, by: Changes(supersede=(Supersession(id=numbered(n), by=numbered(by), at=NOW),)),
        numbers,
        numbers,
    ),
    st.builds(lambda n, s: Changes(update=(weighed(n, s),)), numbers, strengths),
    st.builds(lambda n: Changes(update=(Patch(id=numbered(n), status="active"),)), numbers),
    st.builds(lambda n: Changes(update=(Patch(id=numbered(n), content="tea"),)), numbers),
    st.builds(
        lambda item, s: Changes(reinforce=(a_reinforcement(item, importance=s, at=NOW + DAY),)),
        items,
        strengths,
    ),
)


def together(parts: Sequence[Changes]) -> Changes:
    """All of `parts` as one."""
    return Changes(
        add=tuple(each for part in parts for each in part.add),
        update=tuple(each for part in parts for each in part.update),
        supersede=tuple(each for part in parts for each in part.supersede),
        remove=tuple(each for part in parts for each in part.remove),
        reinforce=tuple(each for part in parts for each in part.reinforce),
    )


changes = st.lists(single, max_size=5).map(together)


@quick
@given(st.lists(changes, max_size=4), changes)
async def test_applying_twice_leaves_what_applying_once_does(
    before: list[Changes], repeated: Changes
) -> None:
    """Any `Changes`, on whatever is there, may be repeated after an unknown outcome."""
    store = InMemoryStore()
    for each in before:
        await store.apply(HERE, each)
    await store.apply(HERE, repeated)
    once = await all_items(store)
    await store.apply(HERE, repeated)
    assert await all_items(store) == once


@quick
@given(st.lists(changes, max_size=6))
async def test_the_indexes_agree_with_the_items(applied: list[Changes]) -> None:
    """Whatever was applied, every channel finds exactly the active items that say so."""
    store = InMemoryStore()
    for each in applied:
        await store.apply(HERE, each)
    kept = await all_items(store)
    for word in ("tea", "coffee"):
        told = an_item(word)
        query = a_query(word, strongest=9, exact=[told.content_hash])
        found = await store.find(query)
        live = {each.id for each in kept if each.status == "active"}
        same = {each.id for each in kept if each.id in live and each.content == word}
        indexed = {each.id for each in kept if each.id in live and each.tokens == told.tokens}
        assert {each.id for each in found.exact} == same
        assert {each.id for each in found.text} == indexed
        assert {each.id for each in found.strongest} == live
    by_key = await store.by_key(HERE, "drink")
    assert [each for each in kept if each.key == "drink"] == ([by_key] if by_key else [])


async def test_an_item_is_not_merged_into_what_gives_way_to_it(store: InMemoryStore) -> None:
    """A successor that reads the same is kept, since what it would reinforce ends."""
    old, new = an_item("Lives in Oslo"), an_item("lives in oslo")
    await store.apply(HERE, Changes(add=(old,)))
    end = Supersession(id=old.id, by=new.id, at=NOW)
    applied = await store.apply(HERE, Changes(add=(new,), supersede=(end,)))
    assert (applied.added, applied.superseded) == ((new.id,), (old.id,))


async def test_what_has_expired_absorbs_nothing(store: InMemoryStore) -> None:
    """An expired row that waits for its purge counts as absent for what is said now."""
    old = an_item("Likes tea", ttl=MINUTE, pinned=True)
    new = an_item("Likes tea", at=NOW + DAY)
    await store.apply(HERE, Changes(add=(old,)))
    assert (await store.apply(HERE, Changes(add=(new,)))).added == (new.id,)


async def test_only_what_is_active_is_absorbed(store: InMemoryStore) -> None:
    """Imported history and quarantined items are kept beside the item that says the same."""
    tea = an_item("Likes tea")
    odd = an_item("Likes tea", status="quarantined", importance=1.0)
    await store.apply(HERE, Changes(add=(tea,)))
    assert (await store.apply(HERE, Changes(add=(odd,)))).added == (odd.id,)
    assert await store.get(HERE, [tea.id]) == [tea]


async def test_an_id_of_another_scope_is_missing(store: InMemoryStore) -> None:
    """Adding it is answered so, rather than passed over in silence or taken from its owner."""
    mine = an_item("Mine")
    await store.apply(HERE, Changes(add=(mine,)))
    there = HERE.project("user")
    yours = an_item("Yours", item_id=mine.id, scope=there)
    applied = await store.apply(there, Changes(add=(yours,)))
    assert (applied.missing, applied.added) == ((mine.id,), ())
    assert await all_items(store) == [mine]


async def test_a_patch_cannot_unset_what_an_item_must_have(store: InMemoryStore) -> None:
    """It is refused before anything of its changes is written."""
    tea, dog = an_item("Likes tea"), an_item("Owns a dog")
    await store.apply(HERE, Changes(add=(tea,)))
    bad = Patch(id=tea.id, content=None)
    with pytest.raises(InvalidInput):
        await store.apply(HERE, Changes(add=(dog,), remove=(tea.id,), update=(bad,)))
    assert await all_items(store) == [tea]


async def test_the_rarest_words_survive_the_cut(store: InMemoryStore) -> None:
    """When more match than may be returned, those with the rarer words are."""
    common = [an_item(f"tea number {n}", item_id=numbered(n)) for n in range(5)]
    rare = an_item("a samovar", item_id=numbered(9))
    await store.apply(HERE, Changes(add=(*common, rare)))
    found = await store.find(a_query("tea samovar", cap=2))
    assert [each.id for each in found.text] == [rare.id, common[0].id]
    assert found.truncated


async def test_the_strongest_are_counted_for_each_scope(store: InMemoryStore) -> None:
    """The limit holds per scope and policy, so that no scope drowns another."""
    there = HERE.project("user")
    for scope, importance in ((HERE, 0.9), (there, 0.2)):
        added = [an_item(f"Item {n}", scope=scope, importance=importance) for n in range(3)]
        await store.apply(scope, Changes(add=tuple(added)))
    found = (await store.find(a_query("", HERE, there, strongest=2))).strongest
    assert [each.scope for each in found] == [HERE, HERE, there, there]
    assert [each.fades_at for each in found] == sorted(
        (each.fades_at for each in found), reverse=True
    )


async def test_nothing_that_was_read_can_change_the_store(store: InMemoryStore) -> None:
    """Metadata, values and message arguments are copied out as they were copied in."""
    tea = an_item("Tea", value=["a"])
    message = a_message("hi").model_copy(update={"metadata": {"a": [1]}})
    await store.apply(HERE, Changes(add=(tea,)))
    await store.append([an_episode(message)])
    for _ in range(2):
        [item] = await store.get(HERE, [tea.id])
        [episode] = await all_episodes(store)
        assert (item.value, item.metadata) == (["a"], {})
        assert episode.messages[0].metadata == {"a": [1]}
        assert isinstance(item.value, list)
        item.value.append("b")
        item.metadata["b"] = "b"
        episode.messages[0].metadata["a"] = 2
        message.metadata["a"] = 3


async def test_a_key_keeps_its_first_date(store: InMemoryStore) -> None:
    """What a key holds is replaced; since when there is such an item stays."""
    await store.apply(HERE, Changes(add=(an_item("Vim", key="editor", at=NOW - DAY),)))
    new = an_item("Emacs", key="editor", importance=0.4, value=1)
    await store.apply(HERE, Changes(add=(new,)))
    kept = await store.by_key(HERE, "editor")
    assert kept is not None
    assert kept == new.model_copy(update={"id": kept.id, "created_at": NOW - DAY})


async def test_the_last_page_says_so(store: InMemoryStore) -> None:
    """A page that ends where the rows end has no `after`, even when it is full."""
    await store.apply(HERE, Changes(add=(an_item("Tea"), an_item("Dog"))))
    assert (await store.scan("items", limit=2)).after is None
    assert (await store.scan("items", limit=1)).after is not None


async def test_a_page_has_rows(store: InMemoryStore) -> None:
    """A limit below one is refused, for scans and for purges."""
    with pytest.raises(InvalidInput):
        await store.scan("items", limit=0)
    with pytest.raises(InvalidInput):
        await store.purge(now=NOW, limit=0)


async def test_a_large_scope_is_searched_at_a_bearable_speed(store: InMemoryStore) -> None:
    """Ten thousand items are a scope like any other: ten questions take seconds, not minutes."""
    many = [an_item(f"Fact {n} about tea", item_id=numbered(n)) for n in range(10_000)]
    await store.apply(HERE, Changes(add=tuple(many)))
    for n in range(10):
        found = await store.find(a_query(f"fact {n}", strongest=20))
        assert (len(found.strongest), len(found.text), found.population) == (20, 2000, 10_000)
