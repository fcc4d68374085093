"""The bars of inject: by importance, by text, in big scopes and among many."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from memkit import Memory
from memkit.models import WorkingMemory
from tests.bench.bars import Bar, Measure
from tests.bench.measuring import Call, Timings, interleaved
from tests.bench.places import Ask, Place, Raw
from tests.bench.population import Population, Words, scope_of

Value = TypeVar("Value")

CASES = 997
"""So many different scopes and queries are asked in turn."""


@dataclass(frozen=True, slots=True)
class Recalls:
    """Whole calls of inject, rendered, and the raw driver beside them."""

    memory: Memory
    raw: Raw
    population: Population
    rounds: int

    def subjects(self, scopes: range) -> dict[str, Call]:
        """Without a query; the driver always asks scopes of one kind, which is the least."""
        plain = self.population.small if scopes == self.population.mixed else scopes
        asked = [scope_of(each) for each in scopes]

        async def mine(number: int) -> None:
            _shown(await self.memory.inject(one_of(asked, number)))

        async def theirs(number: int) -> None:
            assert await self.raw.strongest(number, one_of(plain, number))

        return {"memkit": mine, "raw": theirs} | {
            name: partial(_rows, ask, plain) for name, ask in self.raw.others.items()
        }

    async def strongest(self, scopes: range, calls: int, callers: int = 1) -> Timings:
        """`subjects` in turn."""
        subjects = self.subjects(scopes)
        return await interleaved(subjects, rounds=self.rounds, calls=calls, callers=callers)

    async def answering(self, calls: int) -> Timings:
        """With a query of eight words, in scopes of 1,000."""
        rng, words, scopes = random.Random(5), Words(), self.population.middle
        queries = [words.query(rng) for _ in range(CASES)]
        asked = [scope_of(each) for each in scopes]

        async def mine(number: int) -> None:
            query = " ".join(queries[number % CASES])
            _shown(await self.memory.inject(one_of(asked, number), query=query))

        async def theirs(number: int) -> None:
            scope = one_of(scopes, number)
            assert await self.raw.matches(number, scope, queries[number % CASES])

        subjects = {"memkit": mine, "raw": theirs}
        return await interleaved(subjects, rounds=self.rounds, calls=calls)


def one_of(scopes: Sequence[Value], number: int) -> Value:
    """A scope, in an order that no cache foresees."""
    return scopes[number * 7919 % len(scopes)]


async def _rows(ask: Ask, scopes: range, number: int) -> None:
    assert await ask(number, one_of(scopes, number))


def _shown(found: WorkingMemory) -> None:
    assert found.items
    assert found.render()


async def inject(place: Place, sizes: list[int], rounds: int) -> AsyncIterator[Measure]:
    """Inject without a query, at every size, by one caller and by sixteen."""
    for items in sizes:
        async with AsyncExitStack() as stack:
            recalls = await opened(stack, place, items, rounds)
            is_largest = items == sizes[-1]
            for callers in (1, 16):
                timings = await recalls.strongest(recalls.population.small, 320, callers)
                yield _beside_raw(
                    place,
                    f"inject, {items:,} items, {by(callers)}",
                    timings,
                    Bar(bound=2.0, goal=1.5) if is_largest else None,
                )
                for name in recalls.raw.others:
                    yield Measure(
                        store=place.name,
                        what=f"the same beside {name}",
                        value=timings.times("memkit", name),
                        memkit=timings.seconds("memkit"),
                        beside=timings.seconds(name),
                    )


async def kinds(place: Place, sizes: list[int], rounds: int) -> AsyncIterator[Measure]:
    """The same where a scope has three kinds that fade by different factors."""
    async with AsyncExitStack() as stack:
        recalls = await opened(stack, place, sizes[-1], rounds)
        for callers, bound in ((1, 2.5), (16, 3.0)):
            timings = await recalls.strongest(recalls.population.mixed, 320, callers)
            what = f"inject, three kinds, {by(callers)}"
            yield _beside_raw(place, what, timings, Bar(bound=bound, goal=2.0))


async def big(place: Place, sizes: list[int], rounds: int) -> AsyncIterator[Measure]:
    """A scope of very many items beside scopes of a hundred."""
    async with AsyncExitStack() as stack:
        recalls = await opened(stack, place, sizes[-1], rounds)
        population = recalls.population

        async def of_big(_: int) -> None:
            _shown(await recalls.memory.inject(scope_of(0)))

        async def of_small(number: int) -> None:
            _shown(await recalls.memory.inject(scope_of(one_of(population.small, number))))

        subjects = {"big": of_big, "small": of_small}
        timings = await interleaved(subjects, rounds=rounds, calls=320)
        yield Measure(
            store=place.name,
            what=f"inject, a scope of {population.big:,} beside one of 100",
            value=timings.times("big", "small"),
            bar=Bar(bound=1.3),
            memkit=timings.seconds("big"),
            beside=timings.seconds("small"),
        )


async def text(place: Place, sizes: list[int], rounds: int) -> AsyncIterator[Measure]:
    """Inject with a query beside the driver fetching what matches it."""
    async with AsyncExitStack() as stack:
        recalls = await opened(stack, place, sizes[-1], rounds)
        timings = await recalls.answering(160)
        rng, words = random.Random(5), Words()
        found = [await recalls.raw.matches(0, 1, words.query(rng)) for _ in range(20)]
        yield _beside_raw(
            place,
            f"inject with a query, a scope of 1,000 among {sizes[-1]:,}",
            timings,
            Bar(bound=3.0, goal=2.0),
            note=f"8 words, {sum(map(len, found)) // len(found)} matches",
        )


async def growth(place: Place, sizes: list[int], rounds: int) -> AsyncIterator[Measure]:
    """The same scopes among few items and among many."""
    if len(sizes) == 1:
        return
    async with AsyncExitStack() as stack:
        few = (await opened(stack, place, sizes[0], rounds)).memory
        many = (await opened(stack, place, sizes[-1], rounds)).memory
        of_few, of_many = Population(sizes[0]), Population(sizes[-1])
        rng, words = random.Random(5), Words()
        queries = [" ".join(words.query(rng)) for _ in range(CASES)]
        for what, query in (("inject", None), ("inject with a query", queries)):

            def asks(memory: Memory, scopes: range, query: list[str] | None = query):
                async def ask(number: int) -> None:
                    words = None if query is None else query[number % CASES]
                    scope = scope_of(one_of(scopes, number))
                    _shown(await memory.inject(scope, query=words))

                return ask

            scopes = (of_few.small, of_many.small) if query is None else (of_few.middle,) * 2
            subjects = {"few": asks(few, scopes[0]), "many": asks(many, scopes[1])}
            timings = await interleaved(subjects, rounds=rounds, calls=240)
            yield Measure(
                store=place.name,
                what=f"{what}, {sizes[0]:,} to {sizes[-1]:,} items in other scopes",
                value=timings.times("many", "few"),
                bar=Bar(bound=1.5, goal=1.2),
                memkit=timings.seconds("many"),
                beside=timings.seconds("few"),
            )


async def opened(stack: AsyncExitStack, place: Place, items: int, rounds: int) -> Recalls:
    """A store, the driver beside it."""
    return Recalls(
        await stack.enter_async_context(place.memory(items)),
        await stack.enter_async_context(place.raw(items)),
        Population(items),
        rounds,
    )


def by(callers: int) -> str:
    """How many call."""
    return "1 caller" if callers == 1 else f"{callers} callers"


def _beside_raw(
    place: Place, what: str, timings: Timings, bar: Bar | None, note: str = ""
) -> Measure:
    return Measure(
        store=place.name,
        what=what,
        value=timings.times("memkit", "raw"),
        bar=bar,
        memkit=timings.seconds("memkit"),
        beside=timings.seconds("raw"),
        note=note,
    )
