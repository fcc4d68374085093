"""Injecting and searching: what is recalled, how much, and what becomes of a slow store."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from memkit import (
    Candidates,
    InvalidInput,
    Memory,
    Query,
    Scope,
    StoreUnavailable,
    WorkingMemory,
    open_memory,
)
from memkit.inmemory import InMemoryStore
from memkit.testing.clock import ManualClock

pytestmark = pytest.mark.anyio

SCOPE = Scope("ann")


async def fill(memory: Memory, count: int = 30) -> None:
    """Items of falling importance."""
    for number in range(count):
        await memory.remember(
            SCOPE, f"fact {number} stands for itself{number}", importance=0.95 - number / 40
        )


async def test_the_most_important_come_first(memory: Memory) -> None:
    """Without a query: by importance, as many as are configured."""
    await fill(memory)
    found = await memory.inject(SCOPE, token_budget=100_000)
    assert [each.content.split()[1] for each in found.items] == [str(n) for n in range(20)]
    assert not found.degraded


async def test_a_call_may_bound_itself(memory: Memory) -> None:
    """Limit, importance, kinds and budget of the call go before the configured ones."""
    await fill(memory)
    await memory.remember(SCOPE, "likes tea", kind="preference", importance=0.3)
    assert len((await memory.inject(SCOPE, limit=3)).items) == 3
    strong = await memory.inject(SCOPE, min_importance=0.9, token_budget=10_000)
    assert {each.importance >= 0.9 for each in strong.items} == {True}
    [tea] = (await memory.inject(SCOPE, kinds=["preference"])).items
    assert tea.content == "likes tea"
    short = await memory.inject(SCOPE, token_budget=100)
    assert 0 < len(short.items) < 5
    words = await memory.inject(SCOPE, token_budget=60, count_tokens=lambda text: len(text.split()))
    assert len(words.render().split()) <= 60


async def test_a_copy_renders_its_own_items(memory: Memory) -> None:
    """What a host leaves out of an answer is not shown to the model, and the rest is."""
    await fill(memory)
    found = await memory.inject(SCOPE)
    assert found.render() == WorkingMemory(items=found.items).render()
    fewer = replace(found, items=found.items[:2])
    assert fewer.render() == WorkingMemory(items=found.items[:2]).render()


async def test_the_configured_bounds_hold(store_url: str, clock: ManualClock) -> None:
    """What is configured under `[inject]` needs not be said again."""
    rules = {"limit": 2, "min_importance": 0.9}
    async with open_memory(store_url, clock=clock, inject=rules) as memory:
        await fill(memory)
        assert len((await memory.inject(SCOPE)).items) == 2
        assert len((await memory.inject(SCOPE, limit=9)).items) == 3


async def test_a_query_is_answered(memory: Memory) -> None:
    """What holds its words comes before what is merely important."""
    await fill(memory)
    await memory.remember(SCOPE, "uses FastAPI for REST services", importance=0.2)
    found = await memory.inject(SCOPE, query="which REST framework?")
    assert found.items[0].content == "uses FastAPI for REST services"
    assert [each.content for each in await memory.search(SCOPE, "REST framework")] == [
        "uses FastAPI for REST services"
    ]


async def test_off_the_topic_there_is_nothing(memory: Memory) -> None:
    """A minimum score is absolute: nothing relevant is nothing at all."""
    await fill(memory)
    assert (await memory.inject(SCOPE, query="penguins of Antarctica", min_score=0.5)).items == ()
    assert await memory.search(SCOPE, "penguins of Antarctica") == []
    assert len(await memory.search(SCOPE, "fact", min_score=0.5, limit=50)) == 30


@pytest.mark.parametrize(
    "query",
    [
        "C++ AND",
        'foo"bar',
        "NEAR(",
        "user:admin",
        "who's",
        "50%",
        "@nasa",
        "{a b}:c",
        "\0",
        "\ud800",
    ],
)
async def test_a_query_is_no_language(memory: Memory, query: str) -> None:
    """Whatever a person types is words, or nothing; never an error."""
    await memory.remember(SCOPE, "prefers C++ and uses a multi-agent planner")
    await memory.inject(SCOPE, query=query)
    found = await memory.search(SCOPE, query)
    assert bool(found) == (query == "C++ AND")


@pytest.mark.parametrize("query", ["", "   ", "-", "*", "?!"])
async def test_no_words_find_nothing(memory: Memory, query: str) -> None:
    """A search for nothing finds nothing; a turn without words still recalls what matters."""
    await memory.remember(SCOPE, "likes tea")
    assert await memory.search(SCOPE, query) == []
    assert len((await memory.inject(SCOPE, query=query)).items) == 1
    assert (await memory.inject(SCOPE, query=query, min_score=0.5)).items == ()


@pytest.mark.parametrize("wrong", [{"query": 7}, {"limit": -1}, {"limit": 10**9}, {"kinds": "x"}])
async def test_what_is_no_question_is_refused(memory: Memory, wrong: dict[str, object]) -> None:
    """A mistake in the call is an error and not an empty answer."""
    with pytest.raises(InvalidInput):
        await memory.inject(SCOPE, **wrong)  # type: ignore[arg-type]  # the mistake it is about


async def test_recalling_writes_nothing(memory: Memory) -> None:
    """However often something is recalled, it stays as it was."""
    told = await memory.remember(SCOPE, "likes tea")
    for _ in range(5):
        await memory.inject(SCOPE, query="tea")
        await memory.search(SCOPE, "tea")
    assert await memory.get(SCOPE, [told.id]) == [told]


async def test_a_very_long_query_is_read_in_part(memory: Memory) -> None:
    """Ten megabytes of question are answered like their beginning, without a stall."""
    await memory.remember(SCOPE, "likes tea")
    async with asyncio.timeout(5):
        found = await memory.search(SCOPE, "tea " * 2_500_000)
    assert [each.content for each in found] == ["likes tea"]


class Slow(InMemoryStore):
    """A store whose channels wait to be let go."""

    def __init__(self, *, text: bool = True, strongest: bool = False) -> None:
        super().__init__()
        self._slow = {"text": text, "strongest": strongest}
        self.asked = 0

    async def find(self, query: Query) -> Candidates:
        """Answers, unless the channel is slow."""
        self.asked += 1
        if (self._slow["text"] and query.tokens) or (self._slow["strongest"] and query.strongest):
            await asyncio.Event().wait()
        return await super().find(query)


async def test_a_late_channel_is_left_out(clock: ManualClock) -> None:
    """What arrived in time is shown, and that something is missing is said."""
    async with open_memory(store=Slow(), clock=clock) as memory:
        await memory.remember(SCOPE, "likes tea")
        found = await memory.inject(SCOPE, query="tea", deadline=0.05)
        assert [each.content for each in found.items] == ["likes tea"]
        assert found.degraded
        plain = await memory.inject(SCOPE, deadline=0.05)
        assert not plain.degraded


async def test_a_store_that_is_late_altogether_is_no_empty_memory(clock: ManualClock) -> None:
    """Nothing in time is nothing to show, and is not passed off as nothing to know."""
    async with open_memory(
        store=Slow(strongest=True), clock=clock, inject={"deadline": "50ms"}
    ) as memory:
        found = await memory.inject(SCOPE, query="tea")
        assert (found.items, found.degraded) == ((), True)
        assert (await memory.inject(SCOPE)).degraded


class Broken(InMemoryStore):
    """A store that cannot be reached."""

    async def find(self, query: Query) -> Candidates:
        """Fails."""
        del query
        raise StoreUnavailable("gone")


@pytest.mark.parametrize("deadline", [None, 1.0])
async def test_a_failure_is_never_nothing_found(clock: ManualClock, deadline: float | None) -> None:
    """What the store cannot answer is an error, with a deadline and without."""
    async with open_memory(store=Broken(), clock=clock) as memory:
        with pytest.raises(StoreUnavailable):
            await memory.inject(SCOPE, query="tea", deadline=deadline)
        with pytest.raises(StoreUnavailable):
            await memory.search(SCOPE, "tea")


async def test_one_question_is_one_call(clock: ManualClock) -> None:
    """The hot path asks the store once."""
    store = Slow(text=False)
    async with open_memory(store=store, clock=clock) as memory:
        await memory.remember(SCOPE, "likes tea")
        store.asked = 0
        await memory.inject(SCOPE, query="tea")
        assert store.asked == 1


@pytest.mark.parametrize("kinds", [["preferense"], ("semantic", "recipe")])
async def test_a_kind_that_nobody_declared_is_refused(kinds: list[str]) -> None:
    """A misspelt kind is not an empty answer: those that there are are named."""
    declared = {"type": "custom", "name": "joke"}
    async with open_memory("memory://", strategies=[declared]) as memory:
        for call in (
            memory.inject(SCOPE, kinds=kinds),
            memory.inject(SCOPE, query="tea", kinds=kinds),
            memory.search(SCOPE, "tea", kinds=kinds),
        ):
            with pytest.raises(InvalidInput, match=r"there are semantic, preference.*, joke, and"):
                await call
        assert (await memory.inject(SCOPE, kinds=["joke"])).items == ()


async def test_what_counts_how_much_is_configured() -> None:
    """`[ranking]` reaches inject and search: with importance alone, it alone decides."""
    order = {}
    for name, ranking in {
        "measured": {},
        "importance": {"text": 0, "importance": 1, "recency": 0, "origin": 0},
    }.items():
        async with open_memory("memory://", ranking=ranking) as memory:
            await memory.remember(SCOPE, "Likes tea, green tea above all", importance=0.2)
            await memory.remember(
                SCOPE, "Has a teapot, a kettle, a tea and a spoon", importance=0.9
            )
            found = await memory.inject(SCOPE, query="green tea")
            hits = await memory.search(SCOPE, "green tea")
            assert [each.id for each in found.items] == [each.id for each in hits]
            order[name] = [each.importance > 0.5 for each in hits]
    assert order == {"measured": [False, True], "importance": [True, False]}
