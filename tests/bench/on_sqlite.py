"""SQLite for the bench: seeding past memkit, and the raw driver (aiosqlite, sqlite3)."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import time
import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import aiosqlite

from memkit import Memory, open_memory
from memkit.contracts import Extractor
from memkit.decay import microseconds
from memkit.models import Scope, new_id, utcnow
from memkit_backends.sqlite import open_store
from memkit_backends.sqlite.connecting import CACHE_KIBIBYTES
from tests.bench.places import CANDIDATE, DIGESTS, SHOWN, config_of
from tests.bench.population import (
    COLUMNS,
    LAYOUT,
    POLICIES,
    Population,
    Row,
    expired,
    refuse_another_schema,
)

POLICY = POLICIES["semantic"].name

# Of the rows, as long as a column is asked for that memkit's index lacks.
STRONGEST = f"""
    SELECT {CANDIDATE}, item.importance
      FROM item INDEXED BY item_strongest
     WHERE scope_pk = ? AND policy = ? AND status = 'active' AND expires_at > ?
     ORDER BY fades_at DESC, id
     LIMIT ?
"""
OF_INDEX = STRONGEST.replace(", item.importance", "")
MATCHES = f"""
    SELECT {CANDIDATE}, item.tokens
      FROM item_text JOIN item ON item.pk = item_text.rowid
     WHERE item_text MATCH ? AND status = 'active' AND expires_at > ?
     LIMIT 2000
"""
EPISODES = """
    CREATE TABLE raw_episode (
        id TEXT PRIMARY KEY, session INTEGER, position INTEGER, recorded_at INTEGER,
        digests BLOB, messages TEXT, UNIQUE (session, position)
    )
"""
ADD = f"INSERT INTO item ({', '.join(COLUMNS)}) VALUES ({', '.join('?' * len(COLUMNS))})"
ADD_SOURCE = """
    INSERT INTO item_source (item_pk, ordinal, episode_id, session_id, position, recorded_at)
    VALUES (?, 0, ?, ?, 0, ?)
"""
PENDING = """
    SELECT id, messages FROM episode
     WHERE home_pk = ? AND status = 'pending'
     ORDER BY recorded_at, pk
"""
SETTLE = "UPDATE episode SET status = 'settled' WHERE home_pk = ? AND status = 'pending'"
ADD_JOB = """
    INSERT INTO job (id, scope_pk, fence, status, outcome, episode_ids, added, attempts, started_at)
    VALUES (?, ?, 1, 'completed', 'completed', ?, ?, 1, ?)
"""
INSERT = "INSERT INTO raw_episode VALUES (?, ?, ?, ?, ?, ?)"


class SqlitePlace:
    """Files: what is seeded in one folder, what a run makes anew in another."""

    name = "sqlite"

    def __init__(self, folder: Path, scratch: Path) -> None:
        self.folder = folder
        self.scratch = scratch

    def seed(self, population: Population) -> None:
        """See `Place.seed`."""
        path = self.path(population.items)
        mark = path.with_suffix(".seeded")
        if mark.exists() and json.loads(mark.read_text()) == self._mark():
            return
        for leftover in path.parent.glob(f"{path.name}*"):
            leftover.unlink()
        asyncio.run(_made(path))
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            fill(connection, population)
        mark.write_text(json.dumps(self._mark()))

    def path(self, where: int | str) -> Path:
        """The file of a store."""
        folder = self.folder if isinstance(where, int) else self.scratch
        return folder / f"items-{where}.db"

    @asynccontextmanager
    async def memory(
        self, where: int | str, *, extractor: Extractor | None = None, **settings: object
    ) -> AsyncIterator[Memory]:
        """See `Place.memory`."""
        config = config_of({"use": "sqlite", "path": str(self.path(where)), **settings})
        async with open_memory(config, extractor=extractor) as memory:
            yield memory

    @asynccontextmanager
    async def raw(self, items: int) -> AsyncIterator[RawSqlite]:
        """See `Place.raw`."""
        async with aiosqlite.connect(self.path(items), isolation_level=None) as connection:
            await connection.execute(f"PRAGMA cache_size = -{CACHE_KIBIBYTES}")
            yield RawSqlite(connection)

    @asynccontextmanager
    async def raw_records(self, *, synchronous: str = "full") -> AsyncIterator[RawSqliteRecords]:
        """See `Place.raw_records`."""
        path = self.path(f"raw-{uuid.uuid4().hex}")
        async with aiosqlite.connect(path) as connection:
            await connection.execute("PRAGMA journal_mode = WAL")
            await connection.execute(f"PRAGMA synchronous = {synchronous}")
            await connection.execute(EPISODES)
            yield RawSqliteRecords(connection)

    async def settle_each(self, where: str, learnt: Mapping[Scope, Sequence[Row]]) -> None:
        """See `Place.settle_each`."""
        with closing(sqlite3.connect(self.path(where), isolation_level=None)) as connection:
            connection.execute("PRAGMA synchronous = FULL")
            for scope, rows in learnt.items():
                settle(connection, scope, rows)

    async def expire(self, items: int, count: int) -> int:
        """See `Place.expire`."""
        with closing(sqlite3.connect(self.path(items), isolation_level=None)) as connection:
            scopes = Population(items).small.stop
            connection.execute("PRAGMA synchronous = OFF")
            connection.execute("BEGIN")
            rows = expired(list(range(1, scopes + 1)), count, utcnow())
            connection.executemany(ADD, rows)
            connection.execute("COMMIT")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        # Onto the disk, or the first commit that is measured would wait for these pages.
        with self.path(items).open("rb+") as file:
            os.fsync(file.fileno())
        return count

    async def size(self, items: int) -> int:
        """See `Place.size`."""
        return self.path(items).stat().st_size

    @asynccontextmanager
    async def watched(self, items: int) -> AsyncIterator[tuple[Memory, list[float]]]:
        """See `Place.watched`."""
        held: list[float] = []
        begun = 0.0

        def watch(point: str) -> None:
            nonlocal begun
            if point == "after begin":
                begun = time.perf_counter()
            elif point == "after commit":
                held.append(time.perf_counter() - begun)

        store = await open_store(self.path(items), failpoint=watch)
        try:
            async with open_memory(config_of({"use": "sqlite"}), store=store) as memory:
                yield memory, held
        finally:
            await store.aclose()

    def _mark(self) -> list[object]:
        root = Path(__file__).parents[2] / "src/memkit_backends/sqlite/migrations"
        return [LAYOUT, *(each.read_text() for each in sorted(root.glob("*.sql")))]


class RawSqlite:
    """aiosqlite, one hop to its thread a call; and `sqlite3` on this thread."""

    def __init__(self, connection: aiosqlite.Connection) -> None:
        self._connection = connection
        self._now = microseconds(utcnow())
        self.others = {"the driver and an index of all columns": self._of_index}

    async def strongest(self, number: int, scope: int, limit: int = SHOWN) -> list[Any]:  # noqa: ARG002  # Postgres needs it
        """See `Raw.strongest`."""
        asked = (scope + 1, POLICY, self._now, limit)
        return list(await self._connection.execute_fetchall(STRONGEST, asked))

    async def _of_index(self, number: int, scope: int) -> list[Any]:  # noqa: ARG002  # likewise
        asked = (scope + 1, POLICY, self._now, SHOWN)
        return list(await self._connection.execute_fetchall(OF_INDEX, asked))

    async def matches(self, number: int, scope: int, words: Sequence[str]) -> list[Any]:  # noqa: ARG002  # likewise
        """See `Raw.matches`."""
        glued = " OR ".join(f'"{scope + 1}x{word}"' for word in words)
        return list(await self._connection.execute_fetchall(MATCHES, (glued, self._now)))


class RawSqliteRecords:
    """aiosqlite as its pages show it: INSERT, then commit, one caller at a time."""

    def __init__(self, connection: aiosqlite.Connection) -> None:
        self._connection = connection
        self._turn = asyncio.Lock()
        self._position = 0

    async def insert(self, number: int, messages: str) -> None:
        """See `RawRecords.insert`."""
        async with self._turn:
            self._position += 1
            row = (new_id(), number % 16, self._position, number, DIGESTS, messages)
            await self._connection.execute(INSERT, row)
            await self._connection.commit()


async def _made(path: Path) -> None:
    store = await open_store(path)
    await store.aclose()


def fill(connection: sqlite3.Connection, population: Population) -> None:
    """Write the rows; indexes are made afterwards, which is several times as fast."""
    connection.execute("PRAGMA synchronous = OFF")
    connection.execute("PRAGMA cache_size = -200000")
    indexes = connection.execute(
        "SELECT name, sql FROM sqlite_master"
        " WHERE type = 'index' AND tbl_name = 'item' AND sql IS NOT NULL"
    ).fetchall()
    scopes = population.scopes
    rows = population.rows(list(range(1, len(scopes) + 1)), utcnow())
    refuse_another_schema(next(population.rows([1] * len(scopes), utcnow())))
    connection.execute("BEGIN")
    for name, _ in indexes:
        connection.execute(f"DROP INDEX {name}")
    connection.executemany(
        "INSERT INTO scope (pk, key) VALUES (?, ?)",
        ((pk, scope.key) for pk, scope in enumerate(scopes, start=1)),
    )
    connection.executemany(ADD, rows)
    for _, sql in indexes:
        connection.execute(sql)
    connection.execute("COMMIT")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def settle(connection: sqlite3.Connection, scope: Scope, rows: Sequence[Row]) -> None:
    """See `Place.settle_each`."""
    now = microseconds(utcnow())
    connection.execute("BEGIN IMMEDIATE")
    [pk] = connection.execute("SELECT pk FROM scope WHERE key = ?", (scope.key,)).fetchone()
    pending = connection.execute(PENDING, (pk,)).fetchall()
    for row in rows:
        item = connection.execute(ADD, (pk, *row)).lastrowid
        connection.execute(ADD_SOURCE, (item, pending[0][0], "s0", now))
    connection.execute(SETTLE, (pk,))
    ids = json.dumps([episode for episode, _ in pending])
    connection.execute(ADD_JOB, (new_id(), pk, ids, len(rows), now))
    connection.execute("COMMIT")
