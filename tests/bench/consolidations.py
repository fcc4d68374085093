"""The bar of consolidation: what memkit adds to a model that answers at once."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator

from memkit import Memory
from memkit.models import Extraction, Proposal, Scope, Usage
from memkit.testing.scripted import ScriptedExtractor
from tests.bench.bars import Bar, Measure
from tests.bench.measuring import Timings
from tests.bench.places import Place
from tests.bench.population import Words, facts
from tests.bench.records import Speech

SCOPES, EPISODES, FACTS = 100, 10, 5
MESSAGES = 4
"""Of one episode: so ten of them are read in one call of a model."""


async def consolidation(place: Place, rounds: int) -> AsyncIterator[Measure]:
    """A thousand episodes in a hundred scopes, beside one transaction of the driver's for each."""
    taken: dict[str, list[float]] = {"memkit": [], "raw": []}
    async with (
        place.memory("consolidated", extractor=extractor()) as memory,
        place.memory("settled") as other,
    ):
        for number in range(rounds + 1):
            scopes = [Scope(user_id=f"round-{number}-{each}") for each in range(SCOPES)]
            await spoken(memory, scopes)
            await spoken(other, scopes)
            begun = time.perf_counter()
            jobs = await memory.consolidate()
            taken["memkit"].append(time.perf_counter() - begun)
            assert sum(job.added for job in jobs) == SCOPES * FACTS
            learnt = {scope: facts(FACTS) for scope in scopes}
            begun = time.perf_counter()
            await place.settle_each("settled", learnt)
            taken["raw"].append(time.perf_counter() - begun)
    timings = Timings({name: seconds[1:] for name, seconds in taken.items()})
    yield Measure(
        store=place.name,
        what="consolidate, 1,000 episodes in 100 scopes",
        value=timings.times("memkit", "raw"),
        bar=Bar(bound=2.0, goal=1.6),
        memkit=timings.seconds("memkit"),
        beside=timings.seconds("raw"),
        note="one raw transaction per scope",
    )


def extractor() -> ScriptedExtractor:
    """Five facts from whatever it reads, each from one message."""
    words, rng = Words(), random.Random(3)
    proposals = tuple(
        Proposal(content=words.text(rng), importance=0.7, sources=(number,))
        for number in range(1, FACTS + 1)
    )
    return ScriptedExtractor(then=Extraction(proposals=proposals, usage=Usage(calls=1)))


async def spoken(memory: Memory, scopes: list[Scope]) -> None:
    """Episodes to be read in every scope."""
    speech = Speech()
    await asyncio.gather(
        *(
            memory.record(scope, speech.turn()[:MESSAGES], session_id=f"s{number}")
            for scope in scopes
            for number in range(EPISODES)
        )
    )
