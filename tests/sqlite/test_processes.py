"""Several processes, forks, and processes that end without a word."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import subprocess
import sys
import time
import warnings
from pathlib import Path

import pytest

from memkit.errors import Forked
from memkit.testing.values import HERE, an_episode
from memkit_backends.sqlite import open_store
from memkit_backends.sqlite.store import SQLiteStore

pytestmark = pytest.mark.anyio

IMPORTS = """
import asyncio, os, sys
from memkit.testing.values import an_episode, HERE
from memkit_backends.sqlite import open_store
path = sys.argv[1]
"""

ENDINGS = {
    "falls off the end": """
async def main():
    global store
    store = await open_store(path)
    await store.append([an_episode("tea")])
asyncio.run(main())
""",
    "is held in a closure": """
async def main():
    store = await open_store(path)
    await store.append([an_episode("tea")])
    return lambda: store
kept = asyncio.run(main())
""",
    "exits in the middle": """
async def main():
    global store
    store = await open_store(path)
    await store.append([an_episode("tea")])
    sys.exit(0)
asyncio.run(main())
""",
    "leaves a call behind": """
async def main():
    global store, call
    store = await open_store(path)
    await store.append([an_episode("tea")])
    call = asyncio.ensure_future(store.append([an_episode("coffee")]))
    await asyncio.sleep(0)
asyncio.run(main())
""",
    "closes on another loop": """
async def main():
    store = await open_store(path)
    await store.append([an_episode("tea")])
    return store
store = asyncio.run(main())
asyncio.run(store.aclose())
""",
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_process_that_never_closes_still_ends(path: Path, ending: str) -> None:
    """It ends within two seconds, says nothing, and what was acknowledged is there."""
    script = IMPORTS + ENDINGS[ending]
    process = subprocess.Popen(
        [sys.executable, "-W", "error", "-c", script, str(path)],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (0, b"", b"")
    connection = sqlite3.connect(path)
    (kept,) = connection.execute("SELECT count(*) FROM episode").fetchone()
    connection.close()
    assert kept >= 1


def test_ending_without_closing_takes_no_time(path: Path) -> None:
    """From the last statement to the end of the process is less than two seconds."""
    script = IMPORTS + ENDINGS["falls off the end"] + "\nprint(flush=True)\n"
    process = subprocess.Popen([sys.executable, "-c", script, str(path)], stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    last = time.monotonic()
    process.wait(timeout=30)
    process.stdout.close()
    assert time.monotonic() - last < 2


async def test_a_forked_child_is_told_and_the_parent_goes_on(
    path: Path, store: SQLiteStore
) -> None:
    """A child never touches handles of its parent: every call is `Forked`, closing is silent."""
    # Nothing is under way while it forks: SQLite's own locks would come along as they are.
    await store.append([an_episode("tea")])
    status = await asyncio.to_thread(in_child, store, path)
    assert status == 0
    await store.append([an_episode("coffee")])
    problems = await store._file.run(
        lambda connection: connection.execute("PRAGMA integrity_check").fetchall()
    )
    assert problems == [("ok",)]
    assert (await store.stats()).episodes == 3


def in_child(store: SQLiteStore, path: Path) -> int:
    """Fork, use the parent's store and one of its own there; the child's exit status."""
    with warnings.catch_warnings():
        # Forking beside threads is what this is about.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        status = 2
        try:
            status = asyncio.new_event_loop().run_until_complete(use_both(store, path))
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


async def use_both(store: SQLiteStore, path: Path) -> int:
    """0 if the parent's store is refused and a new one works."""
    try:
        await store.stats()
    except Forked:
        await store.aclose()
        own = await open_store(path, synchronous="normal")
        await own.append([an_episode("from the child", session_id="child")])
        await own.aclose()
        return 0
    return 1


OPENING = (
    IMPORTS
    + """
async def main():
    for number in range(15):
        store = await open_store(f"{path}-{number}", synchronous="normal")
        await store.append([an_episode("tea", session_id=str(os.getpid()))])
        await store.aclose()
asyncio.run(main())
"""
)


def test_eight_processes_open_the_same_new_files(path: Path) -> None:
    """Whoever comes first makes the file; nobody is locked out and nothing is lost."""
    processes = [
        subprocess.Popen([sys.executable, "-c", OPENING, str(path)], stderr=subprocess.PIPE)
        for _ in range(8)
    ]
    errors = [process.communicate(timeout=50)[1] for process in processes]
    assert errors == [b""] * 8
    for number in range(15):
        connection = sqlite3.connect(f"{path}-{number}")
        assert connection.execute("SELECT count(*) FROM episode").fetchone() == (8,)
        connection.close()
    assert not list(path.parent.glob(".*"))


async def test_two_stores_on_one_file_see_each_other(path: Path, store: SQLiteStore) -> None:
    """What this process knows of a session is checked against what others added to it."""
    other = await open_store(path, synchronous="normal")
    for number in range(10):
        writer, reader = (store, other) if number % 2 else (other, store)
        history = [f"message {each}" for each in range(number + 1)]
        keys = [f"k{each}" for each in range(number + 1)]
        [answer] = await writer.append([an_episode(*history, keys=keys)])
        assert (answer.stored, answer.skipped, answer.head) == (1, number, number + 1)
        [again] = await reader.append([an_episode(*history, keys=keys)])
        assert (again.stored, again.skipped, again.head) == (0, number + 1, number + 1)
    [stale] = await store.append([an_episode("late")], expected_head=3)
    assert (stale.stale, stale.head) == (True, 10)
    await other.append([an_episode("from the other")])
    [stale] = await store.append([an_episode("late")], expected_head=10)
    assert (stale.stale, stale.head) == (True, 11)
    assert (await store.tail(HERE, "s-1", limit=0)).head == 11
    await other.aclose()
