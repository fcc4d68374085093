"""memkit, the raw driver and the peers, asked in turn."""

from __future__ import annotations

import statistics
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack

from tests.bench import recalls
from tests.bench.bars import Bar, Measure
from tests.bench.measuring import Call, Timings, interleaved
from tests.bench.peers.peer import Peer, PeerStore
from tests.bench.places import SHOWN, Place
from tests.bench.records import Said, Speech, turning

CALLS, RECORDS = 320, 320
CALLERS = (1, 16)
PATIENCE = 30.0
"""Seconds for one peer in one measure; it is called less often where a call is slow."""

FASTER = {("agent-memory-layer", 1_000_000, 1): Bar(sort="least", bound=150.0)}
"""By peer, items and callers: how many times as fast memkit has to be."""


async def inject(
    place: Place, peers: list[Peer], sizes: list[int], rounds: int
) -> AsyncIterator[Measure]:
    """The 20 items to be shown of a scope of 100, at every size."""
    for items in sizes:
        async with AsyncExitStack() as stack:
            asked = await recalls.opened(stack, place, items, rounds)
            stores = await _opened(stack, peers, items)
            for callers in CALLERS:
                timings = await _recalled(asked, stores, asked.population.small, callers)
                for peer in peers:
                    what = f"{peer.name} {peer.recalls}, {items:,} items, {recalls.by(callers)}"
                    bar = FASTER.get((peer.name, items, callers))
                    yield _beside(place, peer, what, timings, bar)


async def big(
    place: Place, peers: list[Peer], sizes: list[int], rounds: int
) -> AsyncIterator[Measure]:
    """The same of the one scope that has very many."""
    async with AsyncExitStack() as stack:
        asked = await recalls.opened(stack, place, sizes[-1], rounds)
        stores = await _opened(stack, peers, sizes[-1])
        for callers in CALLERS:
            timings = await _recalled(asked, stores, range(1), callers)
            for peer in peers:
                size = f"a scope of {asked.population.big:,}"
                what = f"{peer.name} {peer.recalls}, {size}, {recalls.by(callers)}"
                yield _beside(place, peer, what, timings)


async def record(place: Place, peers: list[Peer], rounds: int) -> AsyncIterator[Measure]:
    """Ten new messages, kept in one piece."""
    async with AsyncExitStack() as stack:
        memory = await stack.enter_async_context(place.memory("beside"))
        raw = await stack.enter_async_context(place.raw_records())
        stores = await _opened(stack, peers, "beside")
        speech = Speech()
        for callers in CALLERS:
            ready = [speech.turn() for _ in range((rounds + 2) * RECORDS)]
            subjects = turning(memory, raw, ready, callers) | {
                name: _recording(store, ready, callers) for name, store in stores.items()
            }
            timings = await interleaved(subjects, rounds=rounds, calls=RECORDS, callers=callers)
            for peer in peers:
                what = f"{peer.name} {peer.records}, 10 messages, {recalls.by(callers)}"
                yield _beside(place, peer, what, timings)


async def _opened(
    stack: AsyncExitStack, peers: list[Peer], where: int | str
) -> dict[str, PeerStore]:
    return {peer.name: await stack.enter_async_context(peer.opened(where)) for peer in peers}


async def _recalled(
    asked: recalls.Recalls, stores: Mapping[str, PeerStore], scopes: range, callers: int
) -> Timings:
    theirs = {name: _recalling(store, scopes) for name, store in stores.items()}
    slow = {name: await _bearable(call, asked.rounds, callers) for name, call in theirs.items()}
    return await interleaved(
        asked.subjects(scopes) | theirs,
        rounds=asked.rounds,
        calls=CALLS,
        callers=callers,
        slow=slow,
    )


async def _bearable(call: Call, rounds: int, callers: int) -> int:
    """How many calls a round may have, in whole turns of the callers."""
    taken = []
    for number in range(3):
        begun = time.perf_counter()
        await call(number)
        taken.append(time.perf_counter() - begun)
    many = int(PATIENCE / (rounds + 1) / statistics.median(taken))
    return min(CALLS, max(1, many // callers) * callers)


def _recalling(store: PeerStore, scopes: range) -> Call:
    async def recall(number: int) -> None:
        assert len(await store.recall(recalls.one_of(scopes, number))) == SHOWN

    return recall


def _recording(store: PeerStore, ready: list[list[Said]], callers: int) -> Call:
    async def record(number: int) -> None:
        await store.record(number % callers, ready[number])

    return record


def _beside(
    place: Place, peer: Peer, what: str, timings: Timings, bar: Bar | None = None
) -> Measure:
    return Measure(
        store=place.name,
        what=what,
        value=timings.times(peer.name, "memkit"),
        bar=bar,
        memkit=timings.seconds("memkit"),
        beside=timings.seconds(peer.name),
        raw=timings.seconds("raw"),
        note=f"version {peer.version}",
    )
