"""Programs that block, fork, or are tests, each ending in its own way.

Each says "kept" when something was recorded, and "ending" when it has nothing left to do.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import os
import sys
import tempfile
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path

from memkit.errors import MemkitError
from memkit.sync import SyncMemory, open_memory_sync
from tests.gates.endings import ANN, LEFT, SAID, Slow, keep_sync, say


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
from tests.gates import endings_async

def test_something():
    asyncio.run(endings_async.live({location!r}))
    assert {outcome}
"""


def _pytest(location: str, *, outcome: bool) -> None:
    import pytest

    options = ["-q", "-p", "no:cacheprovider", "-p", "no:randomly", "-c", os.devnull, "-s"]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "test_it.py"
        path.write_text(FAILING_TEST.format(location=location, outcome=outcome))
        code = pytest.main([*options, str(path)])
    say("ending")
    sys.exit(code)


def pytest_passes(location: str) -> None:
    """A test passes and leaves a memory open."""
    _pytest(location, outcome=True)


def pytest_fails(location: str) -> None:
    """A test fails and leaves a memory open."""
    _pytest(location, outcome=False)
