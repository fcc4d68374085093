"""Transactions: all or nothing, for each caller alone, whatever happens to the others."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from random import Random

import pytest

from memkit.errors import (
    Closed,
    InvalidInput,
    MessageConflict,
    StoreBusy,
    StoreError,
    StoreFull,
)
from memkit.models import Appended, Changes, Episode
from memkit.testing.values import HERE, an_episode, an_item
from memkit_backends.relational.driver import Transaction
from memkit_backends.sqlite import open_store
from memkit_backends.sqlite.store import SQLiteStore

pytestmark = pytest.mark.anyio


async def queued(
    store: SQLiteStore, episodes: Sequence[Episode]
) -> list[list[Appended] | BaseException]:
    """Append each by a caller of its own, all of them waiting for the writer together."""
    release, begun = threading.Event(), threading.Event()

    def wait(_: sqlite3.Connection) -> None:
        begun.set()
        release.wait(20)

    waiting = asyncio.create_task(store._file.run(wait))
    await asyncio.to_thread(begun.wait, 20)
    writes = [asyncio.create_task(store.append([each])) for each in episodes]
    await asyncio.sleep(0)
    release.set()
    answers = await asyncio.gather(*writes, return_exceptions=True)
    await waiting
    return answers


async def test_callers_that_queue_share_a_commit(path: Path) -> None:
    """Many writes that wait together are made durable together."""
    points: list[str] = []
    store = await open_store(path, synchronous="normal", failpoint=points.append)
    answers = await queued(store, [an_episode("tea", session_id=f"s{n}") for n in range(20)])
    assert [answer[0].stored for answer in answers] == [1] * 20
    assert points.count("after commit") == 1
    await store.aclose()


async def test_one_that_fails_in_a_group_harms_no_other(store: SQLiteStore) -> None:
    """Of callers that share a commit, the one that fails undoes itself alone."""
    await store.append([an_episode("tea", keys=["k"], session_id="s5")])
    answers = await queued(
        store, [an_episode("coffee", keys=["k"], session_id=f"s{number}") for number in range(10)]
    )
    failed = [number for number, each in enumerate(answers) if isinstance(each, Exception)]
    assert failed == [5]
    assert isinstance(answers[5], MessageConflict)
    assert (await store.stats()).episodes == 10


async def test_a_group_that_breaks_is_made_again_one_by_one(path: Path) -> None:
    """When the shared commit fails, each caller is told what became of its own write."""
    left = [3]

    def fail_thrice(point: str) -> None:
        if point == "before commit" and left[0]:
            left[0] -= 1
            raise sqlite3.OperationalError("the disk fell out")

    store = await open_store(path, synchronous="normal", failpoint=fail_thrice)
    answers = await queued(store, [an_episode("tea", session_id=f"s{n}") for n in range(6)])
    kept = [each for each in answers if not isinstance(each, BaseException)]
    assert len(kept) == 4, "the group failed once, then two of its callers alone"
    assert (await store.stats()).episodes == 4
    await store.aclose()


async def test_a_rollback_takes_no_other_write_along(store: SQLiteStore) -> None:
    """Two tasks on one store: what one undoes was never the other's."""

    async def fail(tx: Transaction) -> None:
        await tx.execute("INSERT INTO scope (key) VALUES ('never')")
        raise InvalidInput("changed its mind")

    for number in range(100):
        undone = asyncio.create_task(store._driver.write(fail))
        await store.append([an_episode("tea", session_id=f"s{number}")])
        with pytest.raises(InvalidInput):
            await undone
    assert (await store.stats()).episodes == 100

    async def count(tx: Transaction) -> list[tuple[int]]:
        return await tx.fetch_all("SELECT count(*) FROM scope WHERE key = 'never'")

    assert await store._driver.read(count) == [(0,)]


async def test_cancelled_calls_leave_all_or_nothing(path: Path) -> None:
    """Cancelled at random moments, a write is whole or absent, and none stays open."""
    store = await open_store(path, synchronous="normal")
    random = Random(11)
    acknowledged: dict[str, int] = {}
    threads = threading.active_count()

    async def record(number: int) -> None:
        episode = an_episode("one", "two", session_id=f"s{number % 7}")
        (answer,) = await store.append([episode])
        await store.apply(HERE, Changes(add=(an_item(f"item {number}"),)))
        acknowledged[episode.id] = answer.stored

    for number in range(300):
        task = asyncio.create_task(record(number))
        for _ in range(random.randrange(6)):
            await asyncio.sleep(0)
        if random.random() < 0.3:
            await asyncio.sleep(random.random() / 1000)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    assert not await store._file.run(lambda connection: connection.in_transaction)
    kept = {each.id: each for each in (await store.scan("episodes", limit=1000)).rows}
    assert acknowledged.keys() <= kept.keys()
    assert {len(each.messages) for each in kept.values()} <= {2}
    assert threading.active_count() == threads
    heads = [(await store.tail(HERE, f"s{number}", limit=0)).head for number in range(7)]
    assert sum(heads) == 2 * len(kept)
    await store.append([an_episode("still works")])
    await store.aclose()


async def test_waiting_for_another_process_ends_in_store_busy(path: Path) -> None:
    """A lock that others do not let go of is `StoreBusy` after the timeout, and then over."""
    store = await open_store(path, busy_timeout=0.05)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreBusy) as caught:
        await store.append([an_episode("tea")])
    assert caught.value.retryable
    assert caught.value.outcome == "not_done"
    assert (await store.stats()).episodes == 0, "reading goes on"
    other.execute("ROLLBACK")
    other.close()
    await store.append([an_episode("tea")])
    await store.aclose()


async def test_a_full_disk_is_said_and_gone_when_there_is_room(store: SQLiteStore) -> None:
    """Without space a write is `StoreFull` and nothing of it is stored; reads go on."""

    def limit(pages: int, connection: sqlite3.Connection) -> None:
        (used,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count = {used + pages}")

    await store._file.run(partial(limit, 5))
    acknowledged: list[Episode] = []

    async def fill() -> None:
        for number in range(1000):
            episode = an_episode("tea " * 500, session_id=f"s{number}")
            await store.append([episode])
            acknowledged.append(episode)

    with pytest.raises(StoreFull):
        await fill()
    kept = (await store.scan("episodes", limit=1000)).rows
    assert {each.id for each in kept} == {each.id for each in acknowledged}
    await store._file.run(partial(limit, 1000))
    await store.append([an_episode("room again")])
    problems = await store._file.run(
        lambda connection: connection.execute("PRAGMA integrity_check").fetchall()
    )
    assert problems == [("ok",)]


async def test_a_closed_store_says_so(store: SQLiteStore) -> None:
    """Closing twice is fine, from two tasks too; whatever is called afterwards is `Closed`."""
    pending = asyncio.create_task(store.append([an_episode("tea")]))
    await asyncio.sleep(0)
    await asyncio.gather(store.aclose(), store.aclose())
    assert (await pending)[0].stored == 1, "what was asked before is carried out"
    with pytest.raises(Closed):
        await store.stats()
    with pytest.raises(Closed):
        await store.append([an_episode("tea")])


async def test_no_thread_outlives_its_store(path: Path) -> None:
    """Opening and closing leaves no thread behind, cancelled openings neither."""
    for _ in range(5):
        await (await open_store(path)).aclose()
        opening = asyncio.create_task(open_store(path))
        await asyncio.sleep(0.001)
        opening.cancel()
        await asyncio.gather(opening, return_exceptions=True)
        if not opening.cancelled() and opening.exception() is None:
            await opening.result().aclose()
    left = [each for each in threading.enumerate() if each.name.startswith("memkit-sqlite")]
    for thread in left:
        await asyncio.to_thread(thread.join, 5)
    assert not any(thread.is_alive() for thread in left)


async def test_twenty_tasks_share_a_database_in_memory() -> None:
    """In memory there is one connection, so that everybody sees the same rows."""
    store = await open_store("sqlite://:memory:")

    async def work(number: int) -> int:
        await store.append([an_episode("tea", session_id=f"s{number}")])
        return (await store.tail(HERE, f"s{number}", limit=9)).head

    assert await asyncio.gather(*map(work, range(20))) == [1] * 20
    assert (await store.stats()).episodes == 20
    await store.aclose()


async def test_an_error_behind_a_statement_leaves_nothing_open(path: Path) -> None:
    """A statement that answers with rows is over before anything else fails: others may commit."""
    failed: list[str] = []

    def fail_once(point: str) -> None:
        if point == "after statement" and not failed:
            failed.append(point)
            raise sqlite3.OperationalError("seeded")

    store = await open_store(path)
    await store.apply(HERE, Changes(add=(an_item("tea"), an_item("coffee"))))
    await store.aclose()
    store = await open_store(path, failpoint=fail_once)

    async def delete(tx: Transaction) -> object:
        return await tx.fetch_all("DELETE FROM item RETURNING id")

    with pytest.raises(StoreError) as kept:  # its frames live as long as it does
        await store._file.write(delete)
    await store.append([an_episode("tea")])
    assert (await store.stats()).items == 2
    assert kept.value.__cause__ is not None
    await store.aclose()
