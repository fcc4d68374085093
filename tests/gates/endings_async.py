"""Programs that await, each ending in its own way.

Each says "kept" when something was recorded, and "ending" when it has nothing left to do.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import signal
import sys
import threading
from types import FrameType

from memkit.app import open_memory
from tests.gates.endings import ANN, LEFT, SAID, Slow, keep, opened, say, wait_for_a_signal


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
        LEFT.extend([await opened(location) for _ in range(10)])

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
