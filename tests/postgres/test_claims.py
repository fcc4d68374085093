"""Two workers about the same scope, at the one moment between what is seen and what is locked."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from typing import LiteralString

import asyncpg
import pytest

from memkit.models import Claim, Skipped
from memkit.testing.values import HERE, MINUTE, NOW, THERE, an_episode
from memkit_backends.postgres.dialect import POSTGRES
from memkit_backends.postgres.driver import PostgresDriver
from memkit_backends.postgres.options import Options
from memkit_backends.postgres.pooling import opened_pool
from memkit_backends.postgres.store import PostgresStore
from memkit_backends.relational.store import RelationalStore

pytestmark = pytest.mark.anyio

GATE = 7
HELD_CLOCK: LiteralString = (
    "CASE WHEN pg_advisory_xact_lock(7) IS NULL THEN 0 ELSE " + POSTGRES.store_clock + " END"
)
"""The store's clock, which a statement reads after it has seen its rows: it stops at the gate."""


@pytest.fixture
async def gate(url: str) -> AsyncIterator[asyncpg.Connection]:
    """A connection that opens and shuts the gate."""
    connection = await asyncpg.connect(url)
    yield connection
    await connection.close()


@pytest.fixture
async def held(url: str, schema: str) -> AsyncIterator[RelationalStore]:
    """A store whose claims wait at the gate."""
    options = Options(location=url, schema=schema)
    driver = PostgresDriver(await opened_pool(options), options)
    yield RelationalStore(driver, replace(POSTGRES, store_clock=HELD_CLOCK))
    await driver.aclose()


async def someone_waits(gate: asyncpg.Connection) -> None:
    """Return once a statement stands at the gate."""
    async with asyncio.timeout(20):
        waiting = 0
        while not waiting:
            waiting = await gate.fetchval(
                "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
            )


async def claimed(store: RelationalStore) -> Claim | None:
    """What there is to do."""
    return await store.claim(now=NOW, budget=1_000, lease=MINUTE, context=0)


async def test_a_claim_passes_over_a_scope_that_is_settled_while_it_looks(
    store: PostgresStore, held: RelationalStore, gate: asyncpg.Connection
) -> None:
    """A late worker's settle leaves nothing in the scope: the claim takes the next one."""
    await store.append([an_episode("tea", scope=HERE, at=NOW - MINUTE)])
    await store.append([an_episode("coffee", scope=THERE)])
    late = await store.claim(HERE, now=NOW, budget=1_000, lease=timedelta(0), context=0)
    assert late is not None
    await gate.execute("SELECT pg_advisory_lock($1)", GATE)
    claiming = asyncio.create_task(claimed(held))
    await someone_waits(gate)
    # It looks twice: once to see, whether there is anything, and once to lock it.
    await gate.execute("SELECT pg_advisory_unlock($1)", GATE)
    await gate.execute("SELECT pg_advisory_lock($1)", GATE)
    await someone_waits(gate)
    await store.settle(late, Skipped(checksum="c"), now=NOW)
    await gate.execute("SELECT pg_advisory_unlock($1)", GATE)
    claim = await claiming
    assert claim is not None
    assert claim.scope == THERE
