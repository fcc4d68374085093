"""Connections between two calls: at hand, given up when they are lost, idle, or waited for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import asyncpg
import pytest

from memkit.testing.values import an_episode
from memkit_backends.postgres import open_store
from memkit_backends.postgres.reserve import Reserve, is_lost

pytestmark = pytest.mark.anyio


@pytest.fixture
async def pool(url: str) -> AsyncIterator[asyncpg.Pool]:
    """A pool of two connections, closed afterwards."""
    async with asyncpg.create_pool(url, min_size=0, max_size=2) as pool:
        yield pool


async def test_the_last_connection_given_back_is_taken_first(pool: asyncpg.Pool) -> None:
    """One caller after the other uses one connection: the others may grow old and go."""
    reserve = Reserve(pool, keeps=True)
    first, second = await reserve.acquire(), await reserve.acquire()
    assert reserve.keep(first)
    assert reserve.keep(second)
    assert reserve.take() is second
    assert reserve.take() is first
    assert reserve.take() is None
    await pool.release(first)
    await pool.release(second)


async def test_a_connection_that_was_closed_meanwhile_is_passed_over(
    pool: asyncpg.Pool, url: str
) -> None:
    """What the server ended is never handed out, and the pool may make another."""
    reserve = Reserve(pool, keeps=True)
    connection = await reserve.acquire()
    killed = await connection.fetchval("SELECT pg_backend_pid()")
    assert reserve.keep(connection)
    async with asyncpg.create_pool(url, min_size=1, max_size=1) as other:
        await other.execute("SELECT pg_terminate_backend($1)", killed)
    async with asyncio.timeout(20):
        while not is_lost(connection):  # noqa: ASYNC110  # the server's word arrives on this loop
            await asyncio.sleep(0)
    assert reserve.take() is None
    assert pool.get_size() == 0


async def test_what_is_idle_for_long_is_closed(pool: asyncpg.Pool) -> None:
    """A burst does not leave its connections open for good, without a further call."""
    reserve = Reserve(pool, keeps=True, idle=0.0)
    assert reserve.keep(await reserve.acquire())
    async with asyncio.timeout(20):
        while pool.get_size():  # noqa: ASYNC110  # the timer is this loop's
            await asyncio.sleep(0)
    assert reserve.take() is None


async def test_nothing_is_kept_from_those_who_wait(pool: asyncpg.Pool) -> None:
    """While a caller waits for the pool, what is given back goes there."""
    reserve = Reserve(pool, keeps=True)
    held = [await reserve.acquire(), await reserve.acquire()]
    waiting = asyncio.create_task(reserve.acquire())
    await asyncio.sleep(0)
    assert not reserve.keep(held[0])
    await pool.release(held[0])
    got = await waiting
    assert reserve.keep(got)
    assert reserve.keep(held[1])
    reserve.drop()


async def test_connections_of_a_pool_handed_in_go_back_to_it(
    pool: asyncpg.Pool, schema: str
) -> None:
    """Others use it too: after a call, every connection is free for them."""
    store = await open_store(pool=pool, schema=schema)
    await store.append([an_episode("tea")])
    assert pool.get_idle_size() == pool.get_size() == 1
    await store.aclose()


async def test_closing_gives_up_what_is_at_hand(url: str, schema: str) -> None:
    """A store that is closed leaves no session on the server."""
    store = await open_store(url, schema=schema, application_name="closes")
    await asyncio.gather(*(store.stats() for _ in range(5)))
    await store.aclose()
    connection = await asyncpg.connect(url)
    async with asyncio.timeout(20):
        left = 1
        while left:
            left = await connection.fetchval(
                "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'closes'"
            )
    await connection.close()


async def test_closing_waits_for_no_connection_that_is_given_back_meanwhile(
    url: str, schema: str
) -> None:
    """A call that ends while the store closes gives its connection to the pool, which waits."""
    store = await open_store(url, schema=schema, deadline=20)
    call = asyncio.create_task(store.stats())
    await asyncio.sleep(0)
    async with asyncio.timeout(10):
        await store.aclose()
    await call
