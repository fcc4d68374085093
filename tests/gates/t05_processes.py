"""T05: eight processes write to one SQLite file, and nobody is turned away."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable

from memkit.errors import StoreError
from memkit.models import Changes
from memkit.testing.reading import all_episodes, all_items
from memkit.testing.values import HERE, an_episode, an_item
from memkit_backends.sqlite.connecting import Connector
from memkit_backends.sqlite.driver import SqliteDriver
from memkit_backends.sqlite.options import Options
from memkit_backends.sqlite.reader import Reader
from memkit_backends.sqlite.store import SQLiteStore
from memkit_backends.sqlite.writer import Writer
from tests.gates.backends import SQLITE, GateStore, file_of
from tests.gates.children import Report, together
from tests.gates.verdict import Gate, Verdict

PROCESSES = 8
SESSIONS = 3
"""Shared by all processes, so that each append first reads what others have added."""

Open = Callable[[str], Awaitable[GateStore]]


class DeferredWriter(Writer):
    """The bug: a transaction that reads first is refused at once when it comes to write."""

    begin = "BEGIN"


async def open_deferred(location: str) -> GateStore:
    """A store on that writer."""
    connector = Connector(Options(path=file_of(location)))
    writer = DeferredWriter(connector.writer, None)
    driver = SqliteDriver(writer, [Reader(connector.reader)])
    await driver.connect()
    return SQLiteStore(driver, connector)


async def write(store: GateStore, process: int, number: int) -> None:
    """One transaction: in turn a message for a session, and an item for a scope that all share."""
    name = f"{process} of process {number}"
    if number % 2:
        await store.apply(HERE, Changes(add=(an_item(f"Item {name}"),)))
    else:
        session = f"session-{number // 2 % SESSIONS}"
        await store.append([an_episode(f"Message {name}", keys=[name], session_id=session)])


async def work(open_store: Open, location: str, process: int, n: int, report: Report) -> None:
    """All transactions of one process; a refusal is told and not tried again."""
    store = await open_store(location)
    report("open")
    for number in range(n):
        try:
            await write(store, process, number)
            report("done")
        except StoreError as exc:
            report(type(exc).__name__)
    await store.aclose()


def all_at_once(open_store: Open, location: str, n: int) -> Counter[str]:
    """What all processes said."""
    works = [
        lambda report, process=process: asyncio.run(work(open_store, location, process, n, report))
        for process in range(PROCESSES)
    ]
    return Counter(line for child in together(works, seconds=600) for line in child.said)


async def kept(location: str) -> tuple[int, int, int]:
    """How many messages and items there are, and how many messages the sessions count."""
    store = await SQLITE.open(location)
    tails = [await store.tail(HERE, f"session-{each}", limit=1) for each in range(SESSIONS)]
    found = len(await all_episodes(store)), len(await all_items(store))
    await store.aclose()
    return *found, sum(tail.head for tail in tails)


def run(n: int, _seed: int, bug: str | None) -> Verdict:
    """`n` transactions of each process."""
    with SQLITE.fresh() as location:
        asyncio.run(kept(location))
        said = all_at_once(open_deferred if bug else SQLITE.open, location, n)
        messages, items, heads = asyncio.run(kept(location))
        wrong = SQLITE.problems(location)
    errors = said.total() - said["done"] - said["open"]
    return Verdict(
        lost=max(0, said["done"] - messages - items),
        doubled=max(0, messages + items - said["done"]),
        failed=errors + len(wrong) + (heads != messages) + (said["done"] != PROCESSES * n),
        facts={"rows": messages + items, "errors": errors},
    )


GATES = [
    Gate(
        name="T05",
        promise="eight processes write to one SQLite file without an error",
        full=500,
        least=50,
        run=run,
        bugs=("deferred-begin",),
    )
]
