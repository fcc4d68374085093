"""T18: sixteen processes make the schema at one moment, and each finds it made."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing
from functools import partial

from memkit.testing.reading import all_episodes
from memkit.testing.values import an_episode
from memkit_backends.sqlite.files import APPLICATION_ID
from memkit_backends.sqlite.migrating import migrations, statements, supported
from tests.gates.backends import SQLITE, Backend, GateStore, file_of
from tests.gates.children import Report, together
from tests.gates.postgres import POSTGRES
from tests.gates.progress import Progress
from tests.gates.unlocked_postgres import open_unlocked_postgres
from tests.gates.verdict import Gate, Verdict

SESSIONS = 16

Open = Callable[[str], Awaitable[GateStore]]


async def open_unlocked(location: str) -> GateStore:
    """The bug: whoever finds no tables makes them, one by one and without a lock."""
    with closing(sqlite3.connect(file_of(location), isolation_level=None)) as connection:
        if connection.execute("PRAGMA user_version").fetchone()[0] < supported():
            for migration in migrations():
                for statement in statements(migration.script):
                    connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {supported()}")
    return await SQLITE.open(location)


UNLOCKED: dict[str, Open] = {
    SQLITE.name: open_unlocked,
    POSTGRES.name: open_unlocked_postgres,
}
"""The store of the bug on each database."""


async def make(open_store: Open, location: str, number: int, report: Report) -> None:
    """Open a store that is not there yet, and keep something in it."""
    try:
        store = await open_store(location)
        await store.append([an_episode("tea", session_id=f"session-{number}")])
        await store.aclose()
    except Exception as exc:  # noqa: BLE001  # counting these is the point
        report(f"{type(exc).__name__}: {exc}")


async def kept(backend: Backend, location: str) -> int:
    """How many episodes there are."""
    store = await backend.open(location)
    found = len(await all_episodes(store))
    await store.aclose()
    return found


def round_of(backend: Backend, open_store: Open) -> list[str]:
    """What went wrong in one round."""
    with backend.fresh() as location:
        works = [
            lambda report, number=number: asyncio.run(make(open_store, location, number, report))
            for number in range(SESSIONS)
        ]
        errors = [line for child in together(works, seconds=120) for line in child.said]
        missing = SESSIONS - len(errors) - asyncio.run(kept(backend, location))
        return errors + ["an episode is missing"] * missing + backend.problems(location)


def run(backend: Backend, n: int, _seed: int, bug: str | None) -> Verdict:
    """`n` rounds, each on a store that is not there yet."""
    open_store = UNLOCKED[backend.name] if bug else backend.open
    wrong: list[str] = []
    rounds, progress = 0, Progress(n)
    while rounds < n and not (bug and wrong):
        wrong += round_of(backend, open_store)
        rounds += 1
        progress.at(rounds)
    return Verdict(
        failed=len(wrong), facts={"opens": SESSIONS * rounds, "first": next(iter(wrong), "")}
    )


def gate(backend: Backend) -> Gate:
    """The gate on one database."""
    return Gate(
        name=f"T18{backend.suffix}",
        promise=f"sixteen sessions make the schema at once, and none fails, on {backend.name}",
        full=10,
        least=2,
        run=partial(run, backend),
        bugs=("no-lock",),
    )


GATES = [gate(SQLITE), gate(POSTGRES)]
