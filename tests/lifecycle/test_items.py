"""Single items: what a host tells, changes, pins, reinforces and forgets."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from memkit import InvalidInput, Limits, Memory, MemoryItem, Scope, ScopeError, open_memory
from memkit.inmemory import InMemoryStore
from memkit.testing.clock import ManualClock
from memkit.testing.values import DAY, NOW, a_message
from tests.lifecycle.extractors import Scripted, found

pytestmark = pytest.mark.anyio

SCOPE = Scope("ann")


async def the_item(memory: Memory, item_id: str) -> MemoryItem:
    """The item as it is kept."""
    [item] = await memory.get(SCOPE, [item_id])
    return item


async def test_what_is_told_is_kept_as_told(memory: Memory) -> None:
    """Every field arrives, and what is returned is what is kept."""
    told = await memory.remember(
        SCOPE,
        "Prefers async code",
        kind="preference",
        importance=0.85,
        key="style",
        value={"exact": [1, None, "é"]},
        metadata={"by": "hand"},
    )
    assert told == await the_item(memory, told.id)
    assert (told.origin, told.status, told.created_at) == ("told", "active", NOW)
    assert told.expires_at == told.fades_at
    assert (told.fades_at - NOW).days == 55


async def test_a_key_is_one_item(memory: Memory) -> None:
    """Told again under its key, an item takes the new content and keeps its id."""
    first = await memory.remember(SCOPE, "Likes tea", key="drink")
    second = await memory.remember(SCOPE, "Likes coffee", key="drink", value=7)
    assert (second.id, second.content, second.value) == (first.id, "Likes coffee", 7)
    assert [each.content for each in await memory.search(SCOPE, "likes")] == ["Likes coffee"]


async def test_the_same_content_is_one_item(memory: Memory, clock: ManualClock) -> None:
    """Told again in other letters, it is reinforced."""
    first = await memory.remember(SCOPE, "Likes tea")
    clock.advance(days=3)
    again = await memory.remember(SCOPE, "likes  TEA")
    assert again.id == first.id
    assert again.reinforced_at == clock()


@pytest.mark.parametrize(
    "wrong",
    [
        {"content": ""},
        {"content": " \n"},
        {"content": "x" * 10_001},
        {"content": 7},
        {"kind": "preferense"},
        {"importance": 1.1},
        {"importance": float("nan")},
        {"importance": -0.1},
        {"importance": True},
        {"importance": "high"},
        {"key": " "},
        {"value": float("nan")},
        {"metadata": {"x": object()}},
        {"metadata": {1: "x"}},
        {"ttl": timedelta(0)},
    ],
)
async def test_what_cannot_be_an_item_is_refused(memory: Memory, wrong: dict[str, object]) -> None:
    """Bad values are a typed error, and nothing is kept."""
    fields = {"content": "Likes tea", **wrong}
    with pytest.raises((InvalidInput, ScopeError)):
        await memory.remember(SCOPE, **fields)  # type: ignore[arg-type]  # the mistake it is about
    assert (await memory.stats()).items == 0


class Small(InMemoryStore):
    """A store that takes little."""

    capabilities = InMemoryStore.capabilities.model_copy(
        update={
            "limits": Limits(content_characters=20, metadata_keys=1, shortest_ttl_days=7),
        }
    )


async def test_what_a_store_does_not_take_is_refused(clock: ManualClock) -> None:
    """The limits that a store declares hold for what is told, and up to them all is kept."""
    async with open_memory(store=Small(), clock=clock) as memory:
        for wrong in ({"content": "x" * 21}, {"metadata": {"a": 1, "b": 2}}, {"ttl": 6 * DAY}):
            fields = {"content": "Likes tea", **wrong}
            with pytest.raises(InvalidInput):
                await memory.remember(SCOPE, **fields)  # type: ignore[arg-type]  # the mistake it is about
        assert (await memory.stats()).items == 0
        told = await memory.remember(SCOPE, "x" * 20, metadata={"a": 1}, ttl=7 * DAY)
        with pytest.raises(InvalidInput):
            await memory.update(SCOPE, told.id, metadata={"a": 1, "b": 2})
        assert await the_item(memory, told.id) == told


async def test_what_a_store_does_not_take_is_not_learnt(clock: ManualClock) -> None:
    """A proposal that is too long for the store is left out; the others are kept."""
    extractor = Scripted(found("Likes green tea", "Likes green tea, and coffee too"))
    async with open_memory(store=Small(), clock=clock, extractor=extractor) as memory:
        await memory.record(SCOPE, [a_message("I like tea.")], session_id="s")
        [job] = await memory.consolidate()
        assert (job.status, job.added) == ("completed", 1)


async def test_what_is_told_is_cleaned_and_redacted(memory: Memory) -> None:
    """Secrets and ways to reach people do not become items, whoever tells them."""
    told = await memory.remember(
        SCOPE, "Mail ann@example.org, card 4111 1111 1111 1111, nul \0", metadata={"x": "\ud800"}
    )
    assert "ann@" not in told.content
    assert "4111" not in told.content
    assert "\0" not in told.content
    assert told.metadata == {"x": "\ufffd"}


async def test_an_update_changes_what_is_given(memory: Memory, clock: ManualClock) -> None:
    """Everything else stays; what is found by its words is found by the new ones."""
    told = await memory.remember(SCOPE, "Lives in Oslo", value=1, metadata={"a": 1})
    clock.advance(days=1)
    changed = await memory.update(SCOPE, told.id, content="Lives in Rome")
    assert changed == await the_item(memory, told.id)
    assert (changed.value, changed.metadata) == (1, {"a": 1})
    assert changed.reinforced_at == told.reinforced_at
    assert await memory.search(SCOPE, "Oslo") == []
    assert [each.id for each in await memory.search(SCOPE, "Rome")] == [told.id]
    cleared = await memory.update(SCOPE, told.id, value=None, metadata={})
    assert (cleared.value, cleared.metadata) == (None, {})


async def test_importance_holds_from_when_it_is_given(memory: Memory, clock: ManualClock) -> None:
    """Setting it moves the date; so does another kind, at the importance that is left."""
    told = await memory.remember(SCOPE, "Lives in Oslo", importance=0.5)
    clock.advance(days=10)
    changed = await memory.update(SCOPE, told.id, importance=0.9)
    assert (changed.importance, changed.reinforced_at) == (0.9, clock())
    [found] = (await memory.inject(SCOPE)).items
    assert found.importance == pytest.approx(0.9)


async def test_another_kind_fades_by_its_own_policy(store_url: str, clock: ManualClock) -> None:
    """An item that becomes another kind keeps what importance is left and fades as that kind."""
    kinds = {"preference": {"factor": 0.99}}
    async with open_memory(store_url, clock=clock, decay={"kinds": kinds}) as memory:
        told = await memory.remember(SCOPE, "Likes tea", importance=0.8)
        clock.advance(days=10)
        changed = await memory.update(SCOPE, told.id, kind="preference")
        assert changed.policy == "0.99/0.05"
        assert changed.importance == pytest.approx(0.8 * 0.95**10)
        assert changed.fades_at > told.fades_at


async def test_a_pinned_item_never_fades(memory: Memory, clock: ManualClock) -> None:
    """Pinned, it stays as important as it was then; unpinned, it fades from then on."""
    told = await memory.remember(SCOPE, "Allergic to nuts", importance=0.8)
    clock.advance(days=10)
    pinned = await memory.pin(SCOPE, told.id)
    assert await memory.pin(SCOPE, told.id) == pinned
    clock.advance(days=1000)
    [found] = (await memory.inject(SCOPE)).items
    assert found.importance == pytest.approx(0.8 * 0.95**10)
    freed = await memory.pin(SCOPE, told.id, pinned=False)
    clock.advance(days=10)
    [found] = (await memory.inject(SCOPE)).items
    assert found.importance == pytest.approx(0.8 * 0.95**20)
    assert (freed.pinned, freed.policy) == (False, told.policy)


async def test_reinforcing_restores(memory: Memory, clock: ManualClock) -> None:
    """An item is as important again as it was, or as is said, and never less than it is."""
    told = await memory.remember(SCOPE, "Lives in Oslo", importance=0.8)
    clock.advance(days=20)
    assert (await memory.reinforce(SCOPE, told.id)).importance == 0.8
    clock.advance(days=1)
    await memory.reinforce(SCOPE, told.id, importance=0.1)
    [found] = (await memory.inject(SCOPE)).items
    assert found.importance == pytest.approx(0.76)
    assert (await memory.reinforce(SCOPE, told.id, importance=1.0)).importance == 1.0


async def test_a_time_to_live_outlasts_every_edit(memory: Memory, clock: ManualClock) -> None:
    """However important it becomes, an item ends when its time is up."""
    told = await memory.remember(SCOPE, "Is in town", importance=0.8, ttl=timedelta(days=7))
    assert told.expires_at == NOW + 7 * DAY
    clock.advance(days=3)
    for changed in (
        await memory.reinforce(SCOPE, told.id, importance=1.0),
        await memory.update(SCOPE, told.id, importance=0.9),
        await memory.pin(SCOPE, told.id),
    ):
        assert changed.expires_at == NOW + 7 * DAY
    clock.advance(days=4)
    assert await memory.get(SCOPE, [told.id]) == []


async def test_an_end_stands_where_an_item_would_have_faded_first(
    memory: Memory, clock: ManualClock
) -> None:
    """What is told with a time to live ends with it, however often it is met afterwards."""
    told = await memory.remember(SCOPE, "Is in town", importance=0.1, ttl=20 * DAY)
    assert told.expires_at == told.fades_at < NOW + 20 * DAY
    clock.advance(days=3)
    for changed in (
        await memory.remember(SCOPE, "is in TOWN", importance=0.9),
        await memory.reinforce(SCOPE, told.id, importance=1.0),
        await memory.update(SCOPE, told.id, kind="preference"),
    ):
        assert (changed.id, changed.expires_at) == (told.id, NOW + 20 * DAY)
    clock.advance(days=17)
    assert await memory.get(SCOPE, [told.id]) == []


async def test_a_time_to_live_that_is_told_holds_for_what_is_there(memory: Memory) -> None:
    """Told again with a time to live, an item ends with that."""
    told = await memory.remember(SCOPE, "Is in town", importance=0.8)
    again = await memory.remember(SCOPE, "is in town", ttl=DAY, pinned=True)
    assert (again.id, again.pinned, again.expires_at) == (told.id, True, NOW + DAY)


async def test_another_kind_has_another_time_to_live(store_url: str, clock: ManualClock) -> None:
    """An item that becomes another kind is kept as long as that is, unless its end is its own."""
    strategies = [
        {"type": "custom", "name": "plan", "ttl": "3d"},
        {"type": "custom", "name": "fact"},
    ]
    async with open_memory(store_url, clock=clock, strategies=strategies) as memory:
        plan = await memory.remember(SCOPE, "Flies to Rome", kind="plan", importance=0.9)
        brief = await memory.remember(SCOPE, "Is ill", kind="plan", importance=0.9, ttl=DAY)
        fact = await memory.update(SCOPE, plan.id, kind="fact")
        assert fact.expires_at == fact.fades_at > NOW + 3 * DAY
        assert (await memory.update(SCOPE, fact.id, kind="plan")).expires_at == NOW + 3 * DAY
        assert (await memory.update(SCOPE, brief.id, kind="fact")).expires_at == NOW + DAY


async def test_a_strategys_time_to_live_holds_for_its_kind(
    store_url: str, clock: ManualClock
) -> None:
    """What a strategy says of a kind is true of what is told, too."""
    strategies = [{"type": "custom", "name": "plan", "ttl": "3d"}]
    async with open_memory(store_url, clock=clock, strategies=strategies) as memory:
        told = await memory.remember(SCOPE, "Flies to Rome", kind="plan", importance=0.9)
        assert told.expires_at == NOW + 3 * DAY


@pytest.mark.parametrize("verb", ["update", "pin", "reinforce"])
async def test_absent_foreign_and_expired_look_the_same(
    memory: Memory, clock: ManualClock, verb: str
) -> None:
    """Whose item it is cannot be found out by asking for it."""
    foreign = await memory.remember(Scope("bob"), "a secret")
    expired = await memory.remember(SCOPE, "gone soon", ttl=DAY)
    clock.advance(days=2)
    messages: set[str] = set()
    for item_id in ("no-such-id", foreign.id, expired.id):
        with pytest.raises(InvalidInput) as caught:
            await getattr(memory, verb)(SCOPE, item_id)
        messages.add(str(caught.value).replace(item_id, "ID"))
    assert len(messages) == 1
    assert await memory.get(SCOPE, ["no-such-id", foreign.id, expired.id]) == []


async def test_items_may_be_forgotten_alone(memory: Memory) -> None:
    """An item by id; its evidence stays, and so do the others."""
    one = await memory.remember(SCOPE, "Lives in Oslo")
    await memory.remember(SCOPE, "Likes tea")
    receipt = await memory.forget(SCOPE, items=[one.id])
    assert receipt.items == 1
    assert [each.content for each in (await memory.inject(SCOPE)).items] == ["Likes tea"]


async def test_a_session_may_be_forgotten(memory: Memory) -> None:
    """With what came from it alone; its history handed in again is not recorded again."""
    said = [a_message("I live in Oslo, and have done so for years.")]
    await memory.record(SCOPE, said, session_id="s", history=True)
    await memory.record(SCOPE, [a_message("I like tea most of all.")], session_id="t")
    await memory.consolidate()
    receipt = await memory.forget(SCOPE, session_id="s")
    assert (receipt.episodes, receipt.messages, receipt.items) == (1, 1, 1)
    assert len((await memory.inject(SCOPE)).items) == 1
    again = await memory.record(SCOPE, said, session_id="s", history=True)
    assert (again.new, again.skipped) == (0, 1)


async def test_messages_may_be_forgotten_or_redacted(memory: Memory) -> None:
    """By key: gone, or with another text in their place."""
    said = [a_message(f"statement number {n}", key=f"k{n}") for n in range(3)]
    await memory.record(SCOPE, said, session_id="s")
    gone = await memory.forget(SCOPE, session_id="s", message_keys=["k0"])
    assert gone.messages == 1
    replaced = await memory.forget(
        SCOPE, session_id="s", message_keys=["k1"], replacement="[removed\0]"
    )
    assert replaced.redacted == 1
    [episode] = (await memory.scan("episodes", scope=SCOPE)).rows
    assert [each.text for each in episode.messages] == ["[removed\ufffd]", "statement number 2"]


async def test_episodes_may_be_forgotten(memory: Memory) -> None:
    """By id: the revoking of a source."""
    recorded = await memory.record(SCOPE, [a_message("I live in Oslo now.")], session_id="s")
    await memory.consolidate()
    receipt = await memory.forget(SCOPE, episodes=[recorded.episode_id or ""])
    assert (receipt.episodes, receipt.items) == (1, 1)


@pytest.mark.parametrize(
    "wrong",
    [
        {"items": []},
        {"episodes": []},
        {"session_id": "s", "message_keys": []},
        {"items": "abc"},
        {"message_keys": ["k"]},
        {"items": ["x"], "session_id": "s"},
        {"items": ["x"], "episodes": ["y"]},
        {"replacement": "x"},
        {"items": ["x"], "replacement": "x"},
    ],
)
async def test_no_mistake_forgets_a_whole_scope(memory: Memory, wrong: dict[str, object]) -> None:
    """Naming nothing is not naming everything; a contradiction is refused."""
    await memory.remember(SCOPE, "Lives in Oslo")
    with pytest.raises(InvalidInput):
        await memory.forget(SCOPE, **wrong)  # type: ignore[arg-type]  # the mistake it is about
    assert (await memory.stats()).items == 1


async def test_a_person_may_say_it_again(memory: Memory) -> None:
    """Forgetting is final for what was said before; what is told afterwards is kept."""
    await memory.remember(SCOPE, "Lives in Oslo")
    await memory.forget(SCOPE)
    assert (await memory.inject(SCOPE)).items == ()
    await memory.remember(SCOPE, "Lives in Oslo")
    assert len((await memory.inject(SCOPE)).items) == 1


async def test_pinning_meets_other_edits(store_url: str, clock: ManualClock) -> None:
    """An item pinned while others change its importance or kind is pinned, and never fades."""
    async with (
        open_memory(store_url, clock=clock) as one,
        open_memory(store=one.store, clock=clock) as other,
    ):
        for number in range(10):
            item = await one.remember(SCOPE, f"Owns house number {number}", importance=0.6)
            clock.advance(days=1)
            await asyncio.gather(
                other.update(SCOPE, item.id, importance=0.3),
                one.pin(SCOPE, item.id),
                other.update(SCOPE, item.id, kind="preference"),
                one.reinforce(SCOPE, item.id, importance=0.9),
            )
            kept = await the_item(one, item.id)
            assert (kept.pinned, kept.policy) == (True, "never")
            assert kept.expires_at > clock() + timedelta(days=100_000)


async def test_told_again_to_be_pinned(memory: Memory) -> None:
    """What is there already and is told again as pinned is pinned."""
    first = await memory.remember(SCOPE, "Is allergic to nuts")
    again = await memory.remember(SCOPE, "Is allergic to nuts", pinned=True)
    assert (again.id, again.pinned, again.policy) == (first.id, True, "never")
    freed = await memory.pin(SCOPE, first.id, pinned=False)
    assert (freed.pinned, freed.policy) == (False, first.policy)
