"""Ways for a process to end: `python -W error -m tests.gates.exiting NAME LOCATION [--bug]`.

Each function is a small program. It says "kept" when something was recorded, and "ending" when
it has nothing left to do: from then on the gate takes the time.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import gc
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from types import FrameType

from memkit.app import open_memory
from memkit.errors import MemkitError
from memkit.memory import Memory
from memkit.models import Extraction, ExtractionRequest, Scope
from memkit.sync import SyncMemory, open_memory_sync
from memkit.testing.around import LedgerStoreAround
from memkit_backends.sqlite import open_store
from tests.gates.backends import GateStore, file_of

ANN = Scope("ann")
SAID = [{"role": "user", "content": "I drink tea", "key": "tea"}]
LEFT: list[object] = []
"""What nobody closes: a program's global."""


class OnAiosqlite(LedgerStoreAround):
    """The bug: a connection of aiosqlite, whose thread keeps the process until it is closed."""

    @classmethod
    async def over(cls, store: GateStore, location: str) -> OnAiosqlite:
        """The store, with that connection beside it."""
        import aiosqlite

        around = cls(store)
        around.connection = await aiosqlite.connect(file_of(location))
        return around

    async def aclose(self) -> None:
        """Close both."""
        await self.inner.aclose()
        await self.connection.close()


async def opened(location: str) -> GateStore | OnAiosqlite:
    """The store of the scenario."""
    store = await open_store(location)
    return await OnAiosqlite.over(store, location) if "--bug" in sys.argv else store


def say(line: str) -> None:
    """Tell the gate."""
    os.write(1, f"{line}\n".encode())


async def keep(memory: Memory) -> None:
    """Record something."""
    await memory.record(ANN, SAID, session_id="s")
    say("kept")


def keep_sync(memory: SyncMemory) -> None:
    """Record something, blocking."""
    memory.record(ANN, SAID, session_id="s")
    say("kept")


class Slow:
    """An extractor that takes its time."""

    fingerprint = "slow"

    async def extract(self, _: ExtractionRequest) -> Extraction:
        """Nothing, late."""
        say("extracting")
        await asyncio.sleep(30)
        return Extraction()


def wait_for_a_signal() -> None:
    """Do nothing until one comes."""
    say("signal me")
    while True:
        time.sleep(0.01)


# Programs that await.


async def live(location: str, *, keeps: bool = True) -> None:
    """A store and a memory that nobody closes."""
    store = await opened(location)
    opening = open_memory(store=store)
    memory = await opening.__aenter__()
    if keeps:
        LEFT.extend((store, opening, memory))
    await keep(memory)


def closed(location: str) -> None:
    """All is closed as it should be."""

    async def main() -> None:
        async with open_memory(location) as memory:
            await keep(memory)

    asyncio.run(main())
    say("ending")


def never_closed(location: str) -> None:
    """The memory is a global, and its loop is gone."""
    asyncio.run(live(location))
    say("ending")


def dropped(location: str) -> None:
    """The memory is forgotten by the program too."""
    asyncio.run(live(location, keeps=False))
    gc.collect()
    say("ending")


def store_never_closed(location: str) -> None:
    """A store without a memory."""

    async def main() -> None:
        LEFT.append(await opened(location))

    asyncio.run(main())
    say("ending")


def many_never_closed(location: str) -> None:
    """Ten of them."""

    async def main() -> None:
        LEFT.extend([await opened(f"{location}{number}") for number in range(10)])

    asyncio.run(main())
    say("ending")


def opening_cancelled(location: str) -> None:
    """The opening of the store is broken off."""

    async def main() -> None:
        opening = asyncio.ensure_future(opened(location))
        await asyncio.sleep(0.001)
        opening.cancel()
        await asyncio.gather(opening, return_exceptions=True)

    asyncio.run(main())
    say("ending")


def call_in_flight(location: str) -> None:
    """The loop ends while calls are under way."""

    async def main() -> None:
        await live(location)
        calls = [
            asyncio.ensure_future(LEFT[2].record(ANN, SAID, session_id=f"s{number}"))
            for number in range(20)
        ]
        await asyncio.sleep(0)
        LEFT.append(calls)

    asyncio.run(main())
    say("ending")


def exception(location: str) -> None:
    """The program fails while the memory is open."""

    async def main() -> None:
        async with open_memory(location) as memory:
            await keep(memory)
            say("ending")
            raise ValueError("mine")

    asyncio.run(main())


def exception_never_closed(location: str) -> None:
    """The program fails, and nobody would have closed the memory."""

    async def main() -> None:
        await live(location)
        say("ending")
        raise ValueError("mine")

    asyncio.run(main())


def exits(location: str) -> None:
    """sys.exit within the block."""

    async def main() -> None:
        async with open_memory(location) as memory:
            await keep(memory)
            say("ending")
            sys.exit(3)

    asyncio.run(main())


def exits_never_closed(location: str) -> None:
    """sys.exit, the memory being left."""
    asyncio.run(live(location))
    say("ending")
    sys.exit(3)


def exits_at_once(location: str) -> None:
    """os._exit, past every handler."""
    asyncio.run(live(location))
    say("ending")
    os._exit(3)


def interrupted(location: str) -> None:
    """Ctrl-C within the block."""

    async def main() -> None:
        async with open_memory(location) as memory:
            await keep(memory)
            say("signal me")
            await asyncio.sleep(60)

    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(main())
    sys.exit(130)


def interrupted_never_closed(location: str) -> None:
    """Ctrl-C after the loop."""
    asyncio.run(live(location))
    with contextlib.suppress(KeyboardInterrupt):
        wait_for_a_signal()
    sys.exit(130)


def terminated(location: str) -> None:
    """SIGTERM, for which nobody has a handler."""
    asyncio.run(live(location))
    wait_for_a_signal()


def terminated_in_the_loop(location: str) -> None:
    """SIGTERM within the block; the program's own handler leaves it."""

    async def main() -> None:
        async with open_memory(location) as memory:
            await keep(memory)
            left = asyncio.Event()
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, left.set)
            say("signal me")
            await left.wait()

    asyncio.run(main())


def terminated_politely(location: str) -> None:
    """SIGTERM becomes SystemExit, the memory being left."""
    signal.signal(signal.SIGTERM, _leave)
    asyncio.run(live(location))
    wait_for_a_signal()


def _leave(_number: int, _frame: FrameType | None) -> None:
    sys.exit(0)


def consolidating(location: str) -> None:
    """Ctrl-C while an extractor is at work."""

    async def main() -> None:
        async with open_memory(location, extractor=Slow()) as memory:
            await keep(memory)
            work = asyncio.ensure_future(memory.consolidate())
            await asyncio.sleep(0.05)
            say("signal me")
            await work

    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(main())
    sys.exit(130)


def scheduled(location: str) -> None:
    """A scheduler in the background, closed with the memory."""

    async def main() -> None:
        async with open_memory(location, scheduler="background") as memory:
            await keep(memory)

    asyncio.run(main())
    say("ending")


def scheduled_never_closed(location: str) -> None:
    """A scheduler in the background that nobody closes."""

    async def main() -> None:
        opening = open_memory(store=await opened(location), scheduler="background")
        LEFT.extend((opening, await opening.__aenter__()))
        await keep(LEFT[1])

    asyncio.run(main())
    say("ending")


def on_a_thread(location: str) -> None:
    """The loop was a thread's, which has ended."""
    thread = threading.Thread(target=never_closed, args=(location,))
    thread.start()
    thread.join()
    say("ending")


def on_a_daemon_thread(location: str) -> None:
    """The loop is a daemon thread's, and runs on."""
    running = threading.Event()

    async def main() -> None:
        await live(location)
        running.set()
        await asyncio.sleep(60)

    threading.Thread(target=lambda: asyncio.run(main()), daemon=True).start()
    running.wait(30)
    say("ending")


# Programs that block.


def sync_closed(location: str) -> None:
    """All is closed as it should be."""
    with open_memory_sync(location) as memory:
        keep_sync(memory)
    say("ending")


def sync_never_closed(location: str) -> None:
    """The memory is a global."""
    opening = open_memory_sync(location)
    LEFT.extend((opening, opening.__enter__()))
    keep_sync(LEFT[1])
    say("ending")


def sync_dropped(location: str) -> None:
    """The memory is forgotten by the program too."""
    opening = open_memory_sync(location)
    keep_sync(opening.__enter__())
    del opening
    gc.collect()
    say("ending")


def sync_exception(location: str) -> None:
    """The program fails within the block."""
    with open_memory_sync(location) as memory:
        keep_sync(memory)
        say("ending")
        raise ValueError("mine")


def sync_exits(location: str) -> None:
    """sys.exit within the block."""
    with open_memory_sync(location) as memory:
        keep_sync(memory)
        say("ending")
        sys.exit(3)


def sync_interrupted(location: str) -> None:
    """Ctrl-C while a blocking call waits for an extractor."""
    with (
        contextlib.suppress(KeyboardInterrupt),
        open_memory_sync(location, extractor=Slow()) as memory,
    ):
        keep_sync(memory)
        threading.Timer(0.1, say, ("signal me",)).start()
        memory.consolidate()
    sys.exit(130)


def sync_in_a_generator(location: str) -> None:
    """The block is a generator's that nobody finishes."""

    def memories() -> Iterator[SyncMemory]:
        with open_memory_sync(location) as memory:
            yield memory

    generator = memories()
    keep_sync(next(generator))
    LEFT.append(generator)
    say("ending")


def sync_at_exit(location: str) -> None:
    """A handler at the very end still asks something of memory; an answer or an error comes."""
    sync_never_closed(location)

    def last_words() -> None:
        with contextlib.suppress(MemkitError):
            LEFT[1].stats()

    atexit.register(last_words)


def sync_daemon_thread(location: str) -> None:
    """A daemon thread records on while the program ends."""
    sync_never_closed(location)
    begun = threading.Event()

    def work() -> None:
        for number in range(1_000_000):
            LEFT[1].record(ANN, SAID, session_id=f"s{number}")
            begun.set()

    threading.Thread(target=work, daemon=True).start()
    begun.wait(30)
    say("ending")


def sync_scheduled_never_closed(location: str) -> None:
    """A scheduler in the background, on memkit's own thread, which nobody ends."""
    opening = open_memory_sync(location, scheduler="background")
    LEFT.extend((opening, opening.__enter__()))
    keep_sync(LEFT[1])
    say("ending")


def sync_graph_never_closed(location: str) -> None:
    """A graph with memkit's nodes, whose memory nobody closes."""
    from tests.gates.graphs import compiled, said

    opening = open_memory_sync(location)
    LEFT.extend((opening, opening.__enter__()))
    compiled(LEFT[1]).invoke(*said("tea", "s"))
    say("kept")
    say("ending")


# Programs that fork, or are tests.


def fork() -> int:
    """os.fork; Python warns of it where there are threads, which is what is tried here."""
    with warnings.catch_warnings(action="ignore"):
        return os.fork()


def forked(location: str) -> None:
    """A child ends with the parent's memory in its hands, then the parent does."""
    sync_never_closed(location)
    child = fork()
    if not child:
        with contextlib.suppress(MemkitError):
            LEFT[1].stats()
        sys.exit(0)
    os.waitpid(child, 0)
    say("ending")


def forked_and_closed(location: str) -> None:
    """The child leaves the block of the parent."""
    with open_memory_sync(location) as memory:
        keep_sync(memory)
        child = fork()
    if not child:
        sys.exit(0)
    os.waitpid(child, 0)
    say("ending")


FAILING_TEST = """
import asyncio
from tests.gates import exiting

def test_something():
    asyncio.run(exiting.live({location!r}))
    assert {outcome}
"""


def _pytest(location: str, *, outcome: bool) -> None:
    import pytest

    path = file_of(location).with_name("test_it.py")
    path.write_text(FAILING_TEST.format(location=location, outcome=outcome))
    options = ["-q", "-p", "no:cacheprovider", "-p", "no:randomly", "-c", os.devnull, "-s"]
    code = pytest.main([*options, str(path)])
    say("ending")
    sys.exit(code)


def pytest_passes(location: str) -> None:
    """A test passes and leaves a memory open."""
    _pytest(location, outcome=True)


def pytest_fails(location: str) -> None:
    """A test fails and leaves a memory open."""
    _pytest(location, outcome=False)


if __name__ == "__main__":
    globals()[sys.argv[1]](sys.argv[2])
