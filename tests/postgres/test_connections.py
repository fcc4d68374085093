"""Connections: one for each call, given back as they were taken, replaced when they are lost."""

from __future__ import annotations

import asyncio
import logging
import os
from random import Random

import asyncpg
import pytest

from memkit.errors import (
    Closed,
    ConfigError,
    Forked,
    StoreBusy,
    StoreError,
    StoreReadOnly,
    StoreUnavailable,
    WrongLoop,
)
from memkit.models import Changes
from memkit.testing.values import HERE, a_query, an_episode, an_item
from memkit_backends.postgres import open_store
from memkit_backends.postgres.store import PostgresStore
from memkit_backends.relational.driver import Transaction
from tests.postgres.server import ask, tell, with_settings

pytestmark = pytest.mark.anyio


async def kill_backends(url: str, application: str) -> int:
    """End the sessions of an application from the outside."""
    rows = await ask(
        url,
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1",
        application,
    )
    return len(rows)


async def test_a_pool_in_use_is_said_within_the_deadline(url: str, schema: str) -> None:
    """A call that finds no free connection is `StoreBusy` after `acquire_timeout`."""
    store = await open_store(url, schema=schema, max_size=1, acquire_timeout=0.1)
    entered, release = asyncio.Event(), asyncio.Event()

    async def hold(_: Transaction) -> None:
        entered.set()
        await release.wait()

    holding = asyncio.create_task(store._driver.read(hold))
    await entered.wait()
    with pytest.raises(StoreBusy, match="max_size") as caught:
        await store.stats()
    assert caught.value.retryable
    assert caught.value.outcome == "not_done"
    release.set()
    await holding
    await store.aclose()


async def test_killed_sessions_are_replaced_without_a_word(url: str, schema: str) -> None:
    """Reads, and writes that may be repeated, survive the loss of every idle connection."""
    store = await open_store(url, schema=schema, application_name="to be killed")
    await store.append([an_episode("tea", session_id="s")])
    for number in range(5):
        assert await kill_backends(url, "to be killed") >= 1
        await store.append([an_episode("tea", session_id=f"s{number % 2}")])
        await kill_backends(url, "to be killed")
        assert (await store.stats()).episodes == number + 2
        await kill_backends(url, "to be killed")
        await store.apply(HERE, Changes(add=(an_item(f"fact {number}"),)))
    await store.aclose()


async def test_a_session_killed_in_the_middle_is_begun_anew(url: str, schema: str) -> None:
    """A transaction whose connection is lost before its commit is made again, once."""
    killed = []

    def kill_once(point: str) -> None:
        if point == "before commit" and not killed:
            killed.append(point)
            raise ConnectionResetError("cut")

    store = await open_store(url, schema=schema, failpoint=kill_once)
    await store.apply(HERE, Changes(add=(an_item("Likes tea"),)))
    assert killed
    assert (await store.stats()).items == 1
    await store.aclose()


async def test_a_session_that_only_reads_is_read_only(url: str, schema: str) -> None:
    """A server that was made read-only is `StoreReadOnly`; reading goes on."""
    mark = "&" if "?" in url else "?"
    store = await open_store(f"{url}{mark}default_transaction_read_only=on", schema=schema)
    with pytest.raises(StoreReadOnly):
        await store.append([an_episode("tea")])
    assert (await store.stats()).episodes == 0
    await store.aclose()


async def test_nothing_is_left_behind_in_a_session(url: str, schema: str) -> None:
    """After every sort of call a connection has no transaction, lock or setting of memkit's."""
    pool = await asyncpg.create_pool(url, min_size=1, max_size=1)
    settings = "SELECT name, setting FROM pg_settings ORDER BY name"
    before = await pool.fetch(settings)
    store = await open_store(pool=pool, schema=schema)
    await store.append([an_episode("tea")])
    await store.apply(HERE, Changes(add=(an_item("Likes tea"),)))
    await store.find(a_query(strongest=5))

    async def fail(tx: Transaction) -> None:
        await tx.execute("INSERT INTO scope (key) VALUES ('never')")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await store._driver.write(fail)
    assert await pool.fetch(settings) == before
    locks = "SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'advisory'"
    assert await pool.fetchval(locks) == 0
    await store.aclose()
    assert await pool.fetchval("SELECT 1") == 1, "a pool that was handed in stays open"
    await pool.close()
    with pytest.raises(Closed):
        await store.stats()


async def test_cancelled_calls_leave_all_or_nothing(
    store: PostgresStore, url: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Cancelled at random moments, a write is whole or absent, and no transaction stays open."""
    random = Random(11)
    acknowledged = {}

    async def record(number: int) -> None:
        episode = an_episode("one", "two", session_id=f"s{number % 7}")
        (answer,) = await store.append([episode])
        await store.apply(HERE, Changes(add=(an_item(f"item {number}"),)))
        acknowledged[episode.id] = answer.stored

    with caplog.at_level(logging.WARNING):
        for number in range(150):
            task = asyncio.create_task(record(number))
            for _ in range(random.randrange(30)):
                await asyncio.sleep(0)
            if random.random() < 0.5:
                await asyncio.sleep(random.random() / 100)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
    assert caplog.records == []
    kept = {each.id: each for each in (await store.scan("episodes", limit=1000)).rows}
    assert acknowledged.keys() <= kept.keys()
    assert {len(each.messages) for each in kept.values()} <= {2}
    heads = [(await store.tail(HERE, f"s{number}", limit=0)).head for number in range(7)]
    assert sum(heads) == 2 * len(kept)
    open_ones = "SELECT count(*) FROM pg_stat_activity WHERE state LIKE 'idle in transaction%'"
    assert await ask(url, open_ones) == [(0,)]


async def test_a_closed_store_says_so(store: PostgresStore) -> None:
    """Closing twice is fine; whatever is called afterwards is `Closed`."""
    await asyncio.gather(store.aclose(), store.aclose())
    with pytest.raises(Closed):
        await store.stats()
    with pytest.raises(Closed):
        await store.append([an_episode("tea")])
    await store.aclose()


async def test_another_loop_is_refused(store: PostgresStore) -> None:
    """A pool belongs to the loop that made it: on another one the store says so."""

    def elsewhere() -> type[BaseException]:
        with pytest.raises(WrongLoop) as caught:
            asyncio.run(store.stats())
        return caught.type

    assert await asyncio.to_thread(elsewhere) is WrongLoop
    assert (await store.stats()).items == 0


async def test_a_child_is_refused_and_harms_nobody(store: PostgresStore) -> None:
    """After a fork the child is told so, closing does nothing, and the parent goes on."""
    child = os.fork()
    if child == 0:
        try:
            for call in (store.stats(), store.append([an_episode("tea")])):
                try:
                    call.send(None)
                except Forked:
                    continue
                os._exit(1)
            try:
                store.aclose().send(None)
            except StopIteration:
                os._exit(0)
        finally:
            os._exit(2)
    _, status = await asyncio.to_thread(os.waitpid, child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert (await store.append([an_episode("tea")]))[0].stored == 1


@pytest.mark.parametrize(
    ("location", "error"),
    [
        ("postgresql://ann:{}@127.0.0.1:1/none", StoreUnavailable),
        ("postgresql://ann:{}@no-such-host.invalid/none", StoreUnavailable),
        ("postgresql://ann:{}@127.0.0.1:port/none", ConfigError),
        ("postgresql://ann:{}@[::1/none", ConfigError),
        ("postgresql://ann:{}@127.0.0.1/none?sslmode=sometimes", ConfigError),
        ("mysql://ann:{}@127.0.0.1/none", ConfigError),
    ],
)
async def test_no_failure_shows_the_password(
    location: str, error: type[Exception], password: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Whatever is wrong with a URL or its server, the password is in no error and no log."""
    caplog.set_level(logging.DEBUG)
    with pytest.raises(error) as caught:
        await open_store(location.format(password))
    shown = [str(caught.value), repr(caught.value), caplog.text]
    cause = caught.value.__cause__
    while cause is not None:
        shown += [str(cause), repr(cause)]
        cause = cause.__cause__
    assert not any(password in each for each in shown)


@pytest.mark.parametrize(
    "option", ["no_such_setting=1", "statement_timeout=soon", "max_connections=7"]
)
async def test_a_setting_that_the_server_refuses_is_a_matter_of_configuration(
    url: str, schema: str, option: str
) -> None:
    """What stands wrong in a URL is not taken for damaged tables or a bad value of the caller."""
    location = with_settings(url, options=f"-c%20{option.replace('=', '%3D')}")
    with pytest.raises(ConfigError, match="setting in the URL"):
        await open_store(location, schema=schema)


async def test_a_role_that_is_not_let_in_is_a_matter_of_configuration(url: str) -> None:
    """A wrong role or database is not worth trying again."""
    if "host=" not in url:
        pytest.skip("needs the server of the tests")
    with pytest.raises(ConfigError, match="role"):
        await open_store(url.replace("/postgres?", "/there_is_no_such_database?"))


async def test_no_error_quotes_a_row(store: PostgresStore) -> None:
    """What the server quotes of a row is in no error, nor in what that is chained to."""

    async def twice(tx: Transaction) -> None:
        for _ in range(2):
            await tx.execute("INSERT INTO scope (key) VALUES ('canary of ann')")

    with pytest.raises(Exception, match="23505") as caught:
        await store._driver.write(twice)
    cause = caught.value.__cause__
    assert cause is not None
    assert "canary" not in f"{caught.value} {cause} {cause!r}"
    assert (await store.stats()).scopes == 0


async def test_others_in_the_way_are_outlived(store: PostgresStore) -> None:
    """Two that wait for each other: one is undone by the server, and made again."""
    names = [f"s{number}" for number in range(2)]
    for name in names:
        await store.append([an_episode("tea", session_id=name)])

    async def crossed(order: list[str], met: asyncio.Barrier, tries: list[int]) -> None:
        async def work(tx: Transaction) -> None:
            tries.append(1)
            for name in order:
                await tx.execute("UPDATE session SET name = name WHERE name = :name", name=name)
                if len(tries) <= 2 and name == order[0] and met.n_waiting < 2:
                    await met.wait()

        await store._driver.write(work)

    met, tries = asyncio.Barrier(2), list[int]()
    await asyncio.gather(crossed(names, met, tries), crossed(names[::-1], met, tries))
    assert len(tries) == 3


async def test_a_slow_statement_ends_with_the_deadline(url: str, schema: str) -> None:
    """A call is over when its deadline is, and the server works on nothing for it."""
    store = await open_store(url, schema=schema, deadline=0.3)

    async def sleep(tx: Transaction) -> None:
        await tx.fetch_all("SELECT pg_sleep(20)")

    for call in (store._driver.read, store._driver.read_each, store._driver.write):
        with pytest.raises(StoreError) as caught:
            await call(sleep)
        assert isinstance(caught.value, StoreBusy)
    busy = "SELECT query FROM pg_stat_activity WHERE state = 'active' AND query LIKE $1"
    assert await ask(url, busy, "%pg_sleep(20)") == []
    await store.aclose()


async def test_a_table_that_is_gone_is_said(postgres: str, fresh: str) -> None:
    """A schema that somebody took a table from is damage, not an empty store."""
    store = await open_store(postgres, schema=fresh)
    await tell(postgres, f'DROP TABLE "{fresh}".item CASCADE')
    with pytest.raises(StoreError, match="migrate"):
        await store.stats()
    await store.aclose()
