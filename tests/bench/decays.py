"""The bars of decay: expired items go, others write meanwhile, and nothing grows."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator

from tests.bench.bars import Bar, Measure
from tests.bench.places import Place

BOUNDS = {"sqlite": 3.0, "postgres": 0.3}
LONGEST_HOLD = 0.1
"""Seconds for which no other may write."""


async def decay(place: Place, sizes: list[int], rounds: int) -> AsyncIterator[Measure]:
    """One in a hundred items has expired; they are added first, so the store ends as it was."""
    items = sizes[-1]
    seconds, holds, growths = [], [], []
    for _ in range(min(rounds, 3)):
        expired = await place.expire(items, items // 100)
        before = await place.size(items)
        async with place.watched(items) as (memory, held):
            begun = time.perf_counter()
            purged = await memory.decay()
            seconds.append(time.perf_counter() - begun)
            assert len(purged.item_ids) == expired
        holds.append(max(held, default=0.0))
        growths.append(await place.size(items) / before)
    what = f"decay, {items // 100:,} of {items:,} expired"
    yield Measure(
        store=place.name,
        what=what,
        value=sorted(seconds)[len(seconds) // 2],
        unit="s",
        # The bound is for 10,000 of a million.
        bar=Bar(bound=BOUNDS[place.name]),
    )
    if any(holds):
        yield Measure(
            store=place.name,
            what=f"{what}: longest hold of the writer",
            value=sorted(holds)[len(holds) // 2],
            unit="s",
            bar=Bar(bound=LONGEST_HOLD),
        )
    yield Measure(
        store=place.name,
        what=f"{what}: size afterwards, of that before",
        value=max(growths),
        # Of a text index, what was deleted goes with the next merge.
        bar=Bar(bound=1.01),
    )
