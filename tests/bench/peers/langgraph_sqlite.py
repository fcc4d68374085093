"""LangGraph's AsyncSqliteStore, with the journal and the cache that memkit has."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, closing
from importlib.metadata import version
from pathlib import Path

import aiosqlite
from langgraph.store.sqlite.aio import AsyncSqliteStore

from memkit_backends.sqlite.connecting import CACHE_KIBIBYTES
from tests.bench.on_sqlite import SqlitePlace
from tests.bench.peers.langgraph_store import FIELDS, Kept, LangGraphStore, kept
from tests.bench.peers.peer import CONTENTS
from tests.bench.population import LAYOUT, Population

ADD = f"INSERT INTO store ({', '.join(FIELDS)}) VALUES (?, ?, ?, ?, ?)"
AS_IT_WRITES = "%Y-%m-%d %H:%M:%S"
"""Its dates, which are those of CURRENT_TIMESTAMP."""


class LangGraphSqlite:
    """A file for each store."""

    name = "LangGraph AsyncSqliteStore"
    recalls, records = "asearch", "aput"

    def __init__(self, place: SqlitePlace) -> None:
        self._place = place
        self.version = version("langgraph-checkpoint-sqlite")

    async def seed(self, population: Population) -> None:
        """See `Peer.seed`."""
        path = self._path(population.items)
        mark, made = path.with_suffix(".seeded"), json.dumps([LAYOUT, CONTENTS, self.version])
        if mark.exists() and mark.read_text() == made:
            return
        for leftover in path.parent.glob(f"{path.name}*"):
            leftover.unlink()
        async with self.opened(population.items):
            pass
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            fill(connection, (kept(row) for row in population.numbered()))
        mark.write_text(made)

    @asynccontextmanager
    async def opened(self, where: int | str) -> AsyncIterator[LangGraphStore]:
        """See `Peer.opened`."""
        path = self._path(where)
        async with aiosqlite.connect(path, isolation_level=None) as connection:
            await connection.execute("PRAGMA journal_mode = WAL")
            await connection.execute("PRAGMA synchronous = FULL")
            await connection.execute(f"PRAGMA cache_size = -{CACHE_KIBIBYTES}")
            async with AsyncSqliteStore(connection) as store:
                await store.setup()
                yield LangGraphStore(store)

    def _path(self, where: int | str) -> Path:
        path = self._place.path(where)
        return path.with_name(f"langgraph-{path.name}")


def fill(connection: sqlite3.Connection, rows: Iterable[Kept]) -> None:
    """Write the rows into the tables that it has made."""
    connection.execute("PRAGMA synchronous = OFF")
    connection.execute("PRAGMA cache_size = -200000")
    connection.execute("BEGIN")
    connection.executemany(
        ADD,
        (
            (prefix, key, value, made.strftime(AS_IT_WRITES), told.strftime(AS_IT_WRITES))
            for prefix, key, value, made, told in rows
        ),
    )
    connection.execute("COMMIT")
    connection.execute("ANALYZE")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
