"""loops: one memory, from plain code, from every kind of event loop, and from many threads."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any

from memkit.app import open_memory
from memkit.memory import Memory
from memkit.models import Scope
from memkit.sync import SyncMemory, open_memory_sync
from tests.gates.backends import SQLITE, Backend
from tests.gates.verdict import Gate, Verdict

ANN = Scope("ann")
THREADS = 8

Graph = Any
"""A compiled graph of LangGraph, which is imported only where it is run."""


class OnTheCallersLoop:
    """The bug: the memory belongs to the loop of whoever called first."""

    def __init__(self, location: str) -> None:
        self._location = location
        self._opening: Any = None
        self._memory: Memory | None = None

    async def acall(self, work: Callable[[Memory], Any]) -> Any:
        """Await `work`, on whatever loop this is."""
        if self._memory is None:
            self._opening = open_memory(self._location)
            self._memory = await self._opening.__aenter__()
        return await work(self._memory)

    def call(self, work: Callable[[Memory], Any]) -> Any:
        """Block until `work` is done, on a loop for it alone."""
        calling = self.acall(work)
        try:
            return asyncio.run(calling)
        finally:
            calling.close()


@contextmanager
def opened(backend: Backend, *, bug: bool) -> Iterator[SyncMemory | OnTheCallersLoop]:
    """A memory for everybody."""
    with backend.fresh() as location:
        if bug:
            yield OnTheCallersLoop(location)
        else:
            with open_memory_sync(location) as memory:
                yield memory


async def once(key: str, memory: Memory) -> bool:
    """One call that writes and one that reads; whether both did."""
    said = {"role": "user", "content": f"My tea is {key}", "key": key}
    recorded = await memory.record(ANN, [said], session_id=key)
    await memory.inject(ANN, query="tea")
    return recorded.new == 1


def is_done(call: Callable[[], Any]) -> bool:
    """Whether a call came to what it should."""
    try:
        return bool(call())
    except Exception:  # noqa: BLE001  # counting these is the point
        return False


Callers = Callable[[SyncMemory | OnTheCallersLoop, int], int]
"""Calls memory so many times, one way or another; answers how many calls were done."""


def plain(memory: SyncMemory | OnTheCallersLoop, n: int) -> int:
    """From code without a loop."""
    return sum(is_done(partial(memory.call, partial(once, f"plain-{each}"))) for each in range(n))


def a_loop_per_call(memory: SyncMemory | OnTheCallersLoop, n: int) -> int:
    """Awaited, each time on a loop of its own."""

    async def main(each: int) -> bool:
        return await memory.acall(partial(once, f"per-call-{each}"))

    return sum(is_done(lambda each=each: asyncio.run(main(each))) for each in range(n))


def at_once_on_one_loop(memory: SyncMemory | OnTheCallersLoop, n: int) -> int:
    """Awaited all together."""

    async def main() -> int:
        calls = (memory.acall(partial(once, f"at-once-{each}")) for each in range(n))
        done = await asyncio.gather(*calls, return_exceptions=True)
        return sum(each is True for each in done)

    return asyncio.run(main())


def within_a_loop(memory: SyncMemory | OnTheCallersLoop, n: int) -> int:
    """Blocking, from a coroutine."""

    async def main() -> int:
        return plain_within(memory, n)

    return asyncio.run(main())


def plain_within(memory: SyncMemory | OnTheCallersLoop, n: int) -> int:
    """The same as plain code."""
    return sum(is_done(partial(memory.call, partial(once, f"within-{each}"))) for each in range(n))


def threads(memory: SyncMemory | OnTheCallersLoop, n: int) -> int:
    """From many threads, some without a loop and some with."""

    def work(each: int) -> bool:
        call = partial(once, f"thread-{each}")
        if each % 2:
            return is_done(lambda: memory.call(call))
        return is_done(lambda: asyncio.run(_awaited(memory, call)))

    with ThreadPoolExecutor(THREADS) as pool:
        return sum(pool.map(work, range(n)))


async def _awaited(memory: SyncMemory | OnTheCallersLoop, call: Callable[[Memory], Any]) -> Any:
    return await memory.acall(call)


def graph_within_a_loop(memory: SyncMemory | OnTheCallersLoop, n: int) -> int:
    """A graph invoked without await, from a coroutine."""

    async def main() -> int:
        return sum(is_done(lambda each=each: is_recalled(graph(memory), each)) for each in range(n))

    return asyncio.run(main())


def graph_awaited(memory: SyncMemory | OnTheCallersLoop, n: int) -> int:
    """A graph awaited, each time on a loop of its own."""

    async def main(each: int) -> bool:
        from tests.gates.graphs import said

        state = await graph(memory).ainvoke(*said(f"awaited {each}", f"awaited-{each}"))
        return not state["working_memory"]["degraded"]

    return sum(is_done(lambda each=each: asyncio.run(main(each))) for each in range(n))


def graph(memory: SyncMemory | OnTheCallersLoop) -> Graph:
    """The graph with memkit's nodes on this memory."""
    from tests.gates.graphs import compiled

    return compiled(memory)


def is_recalled(compiled: Graph, each: int) -> bool:
    """Whether a run of the graph came to its end with memory."""
    from tests.gates.graphs import said

    state = compiled.invoke(*said(f"within {each}", f"graph-{each}"))
    return not state["working_memory"]["degraded"]


WAYS: tuple[Callers, ...] = (
    plain,
    a_loop_per_call,
    at_once_on_one_loop,
    within_a_loop,
    threads,
    graph_within_a_loop,
    graph_awaited,
)


async def recorded(memory: Memory) -> int:
    """How many messages are kept."""
    return (await memory.stats()).messages


def run(backend: Backend, n: int, _seed: int, bug: str | None) -> Verdict:
    """`n` calls each way, on one memory."""
    with opened(backend, bug=bool(bug)) as memory:
        done = {way.__name__: way(memory, n) for way in WAYS}
        kept = 0 if bug else memory.call(recorded)
    # What a run of a graph records is two messages: what was said, and the echo.
    expected = sum(done.values()) + done["graph_within_a_loop"] + done["graph_awaited"]
    missed = sum(n - count for count in done.values())
    return Verdict(failed=missed, lost=max(0, expected - kept) if not bug else 0, facts=done)


def gate(backend: Backend) -> Gate:
    """The gate on one database."""
    return Gate(
        name=f"loops{backend.suffix}",
        promise=f"one memory serves every kind of caller, on {backend.name}",
        full=100,
        least=20,
        run=partial(run, backend),
        bugs=("callers-loop",),
    )


GATES = [gate(SQLITE)]
