"""T17: old stores are upgraded whole, newer ones refused untouched, by many processes at once."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
import tempfile
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path

from memkit.errors import SchemaTooNew
from memkit.testing.reading import all_episodes
from memkit.testing.values import an_episode
from memkit_backends.sqlite import open_store
from memkit_backends.sqlite.files import APPLICATION_ID
from memkit_backends.sqlite.migrating import migrations, statements, supported
from tests.gates.backends import SQLITE, Backend, GateStore, file_of
from tests.gates.children import Report, together
from tests.gates.golden_stores import GOLDEN, add_to, fingerprint
from tests.gates.progress import watched
from tests.gates.verdict import Gate, Verdict

PROCESSES = 8

Open = Callable[[str], Awaitable[GateStore]]


def make_old(path: Path) -> None:
    """A store as the migration before the last left it; with one migration, without tables."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        for migration in migrations()[:-1]:
            run_each(connection, migration.script)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {supported() - 1}")


def run_each(connection: sqlite3.Connection, script: str) -> None:
    """Every statement of a script by itself."""
    for statement in statements(script):
        connection.execute(statement)


async def open_stamped_first(location: str) -> GateStore:
    """The bug: a store is said to be upgraded, and then it is."""
    with closing(sqlite3.connect(file_of(location), isolation_level=None)) as connection:
        if connection.execute("PRAGMA user_version").fetchone()[0] < supported():
            connection.execute(f"PRAGMA user_version = {supported()}")
            run_each(connection, migrations()[-1].script)
    return await SQLITE.open(location)


async def use(open_store_at: Open, location: str, process: int, report: Report) -> None:
    """Open the store and keep something in it."""
    try:
        store = await open_store_at(location)
        await store.append([an_episode("tea", session_id=f"session-{process}")])
        await store.aclose()
    except Exception as exc:  # noqa: BLE001  # counting these is the point
        report(f"{type(exc).__name__}: {exc}")


async def kept(backend: Backend, location: str) -> int:
    """How many episodes there are."""
    store = await backend.open(location)
    found = len(await all_episodes(store))
    await store.aclose()
    return found


def crowd(backend: Backend, open_store_at: Open, location: str) -> list[str]:
    """What goes wrong when many processes open a store that is new, or old, at one moment."""
    works = [
        lambda report, process=process: asyncio.run(use(open_store_at, location, process, report))
        for process in range(PROCESSES)
    ]
    errors = [line for child in together(works, seconds=60) for line in child.said]
    missing = PROCESSES - len(errors) - asyncio.run(kept(backend, location))
    return errors + ["an episode is missing"] * missing + backend.problems(location)


def is_refused_untouched(mode: str) -> bool:
    """Whether a store from the future is refused, in this journal mode, and left as it was."""
    with SQLITE.fresh() as location:
        path = file_of(location)
        asyncio.run(kept(SQLITE, location))
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute(f"PRAGMA journal_mode = {mode}")
            connection.execute(f"PRAGMA user_version = {supported() + 1}")
        before = path.read_bytes()
        try:
            asyncio.run(kept(SQLITE, location))
        except SchemaTooNew as exc:
            return path.read_bytes() == before and exc.found == supported() + 1
        return False


async def differs(golden: Path) -> bool:
    """Whether a golden store holds something else once it is upgraded."""
    with tempfile.TemporaryDirectory() as folder:
        copy = shutil.copy(golden, folder)
        store = await open_store(copy)
        found = await fingerprint(store)
        await store.aclose()
    return found != golden.with_suffix(".sha256").read_text().strip()


def goldens(folder: Path) -> list[Path]:
    """All golden stores, and one that is made now: there is always something to be tried."""
    asyncio.run(add_to(folder))
    return [*sorted(GOLDEN.glob("*.db")), *folder.glob("*.db")]


def run(n: int, _seed: int, bug: str | None) -> Verdict:
    """`n` crowds, every second of them at a new store; every golden store; two from the future."""
    open_store_at = open_stamped_first if bug else SQLITE.open
    wrong: list[str] = []
    for number in watched(range(n)):
        with SQLITE.fresh() as location:
            if bug or number % 2:
                make_old(file_of(location))
            wrong += crowd(SQLITE, open_store_at, location)
        if bug and wrong:
            break
    wrong += [
        f"{mode}: not refused" for mode in ("DELETE", "WAL") if not is_refused_untouched(mode)
    ]
    with tempfile.TemporaryDirectory() as folder:
        stores = goldens(Path(folder))
        wrong += [f"{each.name} differs" for each in stores if asyncio.run(differs(each))]
    return Verdict(
        failed=len(wrong),
        facts={
            "opens": PROCESSES * (number + 1),
            "golden": len(stores),
            "first": next(iter(wrong), ""),
        },
    )


GATES = [
    Gate(
        name="T17",
        promise="old stores are upgraded whole, newer ones refused, by eight at once, on sqlite",
        full=15,
        least=4,
        run=run,
        bugs=("stamp-first",),
    )
]
