"""Every hot statement goes through its index and its own scope, whatever else the store holds."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from pathlib import Path

import asyncpg
import pytest

from memkit.models import (
    Changes,
    Completed,
    Episodes,
    Items,
    Messages,
    Scope,
    Session,
    WholeScope,
)
from memkit.testing.ledgers.suite import was_settled
from memkit.testing.values import NOW, a_query, an_episode, an_item
from memkit_backends.postgres import ddl
from memkit_backends.postgres.dialect import POSTGRES
from memkit_backends.postgres.driver import PostgresDriver
from memkit_backends.postgres.options import Options
from memkit_backends.postgres.pooling import opened_pool
from memkit_backends.postgres.statements import TABLES
from memkit_backends.relational.store import RelationalStore
from tests.postgres.crowd import fill
from tests.postgres.plans import ForAny, PlannedDriver, for_these
from tests.postgres.server import ask, schema_at, tell

pytestmark = pytest.mark.anyio

ROWS = int(os.environ.get("MEMKIT_PLAN_ROWS", "30000"))
"""Items of the crowd. What these tests say was seen to hold for a million too."""

HOUR = timedelta(hours=1)
HERE = Scope("user 5")


@pytest.fixture(scope="module")
def crowd(postgres: str) -> Iterator[tuple[str, str]]:
    """The URL and schema of a store that many others share."""
    with schema_at(postgres) as schema:
        asyncio.run(tell(postgres, ddl(schema)))
        asyncio.run(fill(postgres, schema, ROWS, ROWS // 10))
        yield postgres, schema


@pytest.fixture(params=["these values", "any values"])
async def driver(
    crowd: tuple[str, str], request: pytest.FixtureRequest
) -> AsyncIterator[PlannedDriver]:
    """A driver that notes plans of the one sort or the other, closed afterwards."""
    options = Options(location=crowd[0], schema=crowd[1], max_size=1, deadline=50)
    connection = await asyncpg.connect(crowd[0])
    explain = for_these if request.param == "these values" else ForAny(connection, crowd[1])
    driver = PlannedDriver(PostgresDriver(await opened_pool(options), options), explain)
    yield driver
    await driver.aclose()
    # What was said is new again where plans of the other sort are asked for.
    own = f"""SELECT pk FROM "{crowd[1]}".session WHERE name = 'own'"""
    await connection.execute(f'DELETE FROM "{crowd[1]}".episode WHERE session_pk IN ({own})')
    await connection.execute(f'DELETE FROM "{crowd[1]}".session WHERE pk IN ({own})')
    await connection.close()


@pytest.fixture
def store(driver: PlannedDriver) -> RelationalStore:
    """The nouns over it."""
    return RelationalStore(driver, POSTGRES)


def scanned(driver: PlannedDriver) -> list[str]:
    """Steps that walk through a whole table of the store."""
    return [
        plan
        for plan in driver.plans
        if "Seq Scan on" in plan and plan.partition("Seq Scan on ")[2].split()[0] in TABLES
    ]


def used(driver: PlannedDriver) -> str:
    """All steps, to look for the names of indexes in."""
    return "\n".join(driver.plans)


async def test_the_strongest_come_from_one_range_for_each_policy(
    driver: PlannedDriver, store: RelationalStore
) -> None:
    """No item is looked at that is not returned, and nothing of a scope is sorted."""
    found = await store.find(a_query("", HERE, strongest=5))
    assert len(found.strongest) == 5
    assert "using item_strongest on item" in used(driver)
    assert "AND (policy = range.policy) AND (expires_at > " in used(driver)
    assert "Sort" not in used(driver)
    assert scanned(driver) == []


async def test_text_comes_from_the_words_of_the_scope(
    driver: PlannedDriver, store: RelationalStore
) -> None:
    """A search walks the postings of its own words, which no other scope has."""
    found = await store.find(a_query("tea topic", HERE))
    assert 0 < len(found.text) <= ROWS // (ROWS // 10)
    assert "Bitmap Index Scan on item_words" in used(driver)
    assert scanned(driver) == []


# For any number of hashes it would rather read a whole scope, were all of common size; since
# that costs more than a plan for the few at hand, it stays with these.
@pytest.mark.parametrize("driver", ["these values"], indirect=True)
async def test_exact_content_comes_from_its_index(
    driver: PlannedDriver, store: RelationalStore
) -> None:
    """A content is found by its hash."""
    await store.find(a_query("", HERE, exact=["0" * 32]))
    assert "item_content" in used(driver)
    assert scanned(driver) == []


async def test_an_append_to_a_known_session_is_one_statement(
    driver: PlannedDriver, store: RelationalStore
) -> None:
    """What this process knows of a session is not read again: a row is added, nothing is read."""
    await store.append([an_episode("first", keys=["k1"], scope=HERE, session_id="own")])
    driver.plans.clear()
    await store.append([an_episode("more", keys=["k2"], scope=HERE, session_id="own")])
    assert [plan for plan in driver.plans if "Insert on" in plan] == ["Insert on episode"]
    assert "Scan" not in used(driver)


async def test_reading_a_session_goes_by_its_positions(
    driver: PlannedDriver, store: RelationalStore
) -> None:
    """The end of a session is found from its end; nobody counts it through."""
    await store.tail(HERE, "session", limit=3)
    assert "episode_session_pk_position_key" in used(driver)
    assert scanned(driver) == []


@pytest.mark.parametrize("idle", [None, HOUR])
async def test_claims_go_through_the_pending_alone(
    driver: PlannedDriver, store: RelationalStore, idle: timedelta | None
) -> None:
    """Which scope is next, and what of it, is read from partial indexes of what is pending."""
    now = NOW + 2 * HOUR
    claim = await store.claim(now=now, budget=100, lease=HOUR, idle=idle, max_wait=HOUR)
    assert claim is not None
    assert "using episode_oldest on episode" in used(driver)
    assert "episode_due" in used(driver)
    assert scanned(driver) == []
    driver.plans.clear()
    await store.claim(HERE, now=now, budget=100, lease=HOUR, idle=idle)
    assert "episode_due" in used(driver)
    assert scanned(driver) == []
    driver.plans.clear()
    item = an_item(f"new {idle}", scope=claim.scope)
    outcome = Completed(changes=Changes(add=(item,)), checksum="c")
    await store.settle(claim, outcome, now=now)
    assert await was_settled(store, claim.scope, "c")
    assert "job_checksum" in used(driver)
    assert scanned(driver) == []


async def test_purging_starts_with_what_expired_first(
    driver: PlannedDriver, store: RelationalStore
) -> None:
    """What is past its time is found without looking at what is not."""
    await store.purge(now=NOW, limit=10)
    assert "using item_expired on item" in used(driver)
    assert "using episode_expired on episode" in used(driver)
    assert scanned(driver) == []


@pytest.mark.parametrize(
    "target",
    [
        WholeScope(scope=Scope("user 6")),
        Session(scope=Scope("user 7"), session_id="session"),
        Messages(scope=Scope("user 8"), session_id="session", keys=("k1",)),
        Episodes(scope=Scope("user 9"), ids=("episode 8",)),
        Items(scope=Scope("user 10"), ids=("item 000000009",)),
    ],
    ids=lambda target: type(target).__name__,
)
async def test_forgetting_looks_at_its_own_scope_alone(
    driver: PlannedDriver, store: RelationalStore, target: WholeScope
) -> None:
    """However much others remember, forgetting walks through none of it."""
    await store.forget(target, at=NOW)
    assert scanned(driver) == []


async def test_reading_items_and_pages_goes_by_index(
    driver: PlannedDriver, store: RelationalStore
) -> None:
    """Pages continue where the last one ended, of one scope or of all."""
    await store.get(HERE, ["item 000000004"])
    await store.by_key(HERE, "key 4")
    assert "item_key" in used(driver)
    for scope in (None, HERE):
        await store.scan("items", scope=scope, after="item 000000003")
        await store.scan("episodes", scope=scope, after="0", limit=10)
        await store.scan("jobs", scope=scope, after="0", limit=10)
        await store.scan("tombstones", scope=scope, after="0", limit=10)
    assert scanned(driver) == []


async def test_every_index_has_a_reason(crowd: tuple[str, str]) -> None:
    """An index that the schema's script gives no reason for would be written for nothing."""
    rows = await ask(crowd[0], "SELECT indexname FROM pg_indexes WHERE schemaname = $1", crowd[1])
    named = {name for (name,) in rows if not name.endswith(("_pkey", "_key"))} | {"item_key"}
    tests = Path(__file__).read_text(encoding="utf-8")  # noqa: ASYNC240  # a test's own file
    unproven = {name for name in named if name not in tests}
    assert unproven <= {
        "item_scope",
        "episode_home",
        "job_scope",
        "tombstone_scope",
        "item_source_episode",
    }
