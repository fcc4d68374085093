"""Schemas of Postgres in which peers keep their tables."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

import asyncpg

from tests.bench.copying import copied
from tests.bench.peers.peer import CONTENTS
from tests.bench.population import LAYOUT, Row


@dataclass(frozen=True, slots=True)
class PeerSchema:
    """One schema on the server at `url`."""

    url: str
    name: str

    async def fill(
        self,
        version: str,
        setup: Callable[[], Awaitable[None]],
        table: str,
        columns: Sequence[str],
        rows: Iterable[Row],
    ) -> None:
        """Have the peer set up its tables, then copy rows into one, unless that was done."""
        mark = json.dumps([LAYOUT, CONTENTS, version]).replace("'", "''")
        connection = await asyncpg.connect(self.url)
        found = await connection.fetchval(
            "SELECT obj_description(to_regnamespace($1), 'pg_namespace')", self.name
        )
        if found != mark:
            await connection.execute(f"DROP SCHEMA IF EXISTS {self.name} CASCADE")
            await connection.execute(f"CREATE SCHEMA {self.name}")
            await setup()
            await copied(connection, self.name, table, columns, rows)
            await connection.execute(f"COMMENT ON SCHEMA {self.name} IS '{mark}'")
        await connection.close()

    @asynccontextmanager
    async def for_now(self) -> AsyncIterator[None]:
        """An empty schema, gone afterwards."""
        connection = await asyncpg.connect(self.url)
        await connection.execute(f"DROP SCHEMA IF EXISTS {self.name} CASCADE")
        await connection.execute(f"CREATE SCHEMA {self.name}")
        yield
        await connection.execute(f"DROP SCHEMA {self.name} CASCADE")
        await connection.close()
