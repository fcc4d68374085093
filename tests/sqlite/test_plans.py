"""Every hot statement goes through its index, whatever else the store holds."""

# ruff: noqa: ASYNC240  # a test's own files, on a loop that serves nobody else

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

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
from memkit.testing.values import NOW, a_query, a_source, an_episode, an_item
from memkit_backends.relational.driver import Row, Transaction
from memkit_backends.relational.store import RelationalStore
from memkit_backends.sqlite.connecting import Connector
from memkit_backends.sqlite.dialect import SQLITE
from memkit_backends.sqlite.options import Options
from memkit_backends.sqlite.store import unopened
from tests.sqlite.plans import PlannedDriver

pytestmark = pytest.mark.anyio

HOUR = timedelta(hours=1)
STORED = {"episode", "item", "item_source", "job", "scope", "session", "tombstone"}


@pytest.fixture
async def driver(path: Path) -> AsyncIterator[PlannedDriver]:
    """A driver that notes plans, closed afterwards."""
    options = Options(path=path, synchronous="normal")
    driver = PlannedDriver(unopened(Connector(options), options))
    yield driver
    await driver.aclose()


@pytest.fixture
async def store(driver: PlannedDriver) -> RelationalStore:
    """A store with a little of everything, its plans not yet noted."""
    store = RelationalStore(driver, SQLITE)
    for number in range(30):
        scope = Scope("user", f"agent {number % 3}")
        episode = an_episode(
            "tea", "coffee", keys=["k1", "k2"], scope=scope, session_id=f"s{number}"
        )
        await store.append([episode])
        item = an_item(
            f"Likes tea {number}", scope=scope, sources=[a_source(episode)], key=f"k{number}"
        )
        await store.apply(scope, Changes(add=(item, an_item(f"fact {number}", scope=scope))))
    driver.plans.clear()
    driver.tables.clear()
    return store


def scanned(driver: PlannedDriver) -> list[str]:
    """Steps that walk through a whole table of the store."""
    return [
        plan
        for plan in driver.plans
        if plan.startswith("SCAN ") and plan.split()[1] in STORED and "USING" not in plan
    ]


def used(driver: PlannedDriver) -> str:
    """All steps, to look for the names of indexes in."""
    return "\n".join(driver.plans)


async def test_the_strongest_come_from_one_range_for_each_policy(
    driver: PlannedDriver, store: RelationalStore
) -> None:
    """Nothing is sorted, no temporary table is made and no row of an item is looked up."""
    found = await store.find(a_query("", Scope("user", "agent 1"), strongest=5))
    assert found.strongest
    assert "item" not in driver.tables
    assert "USING INDEX item_strongest (scope_pk=? AND policy=?)" in used(driver)
    assert "USING INDEX item_strongest (scope_pk=? AND policy>?)" in used(driver) or (
        "USING COVERING INDEX item_strongest (scope_pk=? AND policy>?)" in used(driver)
    )
    assert "TEMP B-TREE" not in used(driver)
    assert scanned(driver) == []


async def test_text_comes_from_the_words_of_the_scope(
    driver: PlannedDriver, store: RelationalStore
) -> None:
    """A search walks the postings of its own words, then looks the items up by number."""
    await store.find(a_query("tea coffee", Scope("user", "agent 1")))
    assert "SCAN item_text VIRTUAL TABLE INDEX" in used(driver)
    assert "SEARCH item USING INTEGER PRIMARY KEY (rowid=?)" in used(driver)
    assert "TEMP B-TREE" not in used(driver)
    assert scanned(driver) == []


async def test_exact_content_comes_from_its_index(
    driver: PlannedDriver, store: RelationalStore
) -> None:
    """A content is found by its hash."""
    await store.find(a_query("", Scope("user", "agent 1"), exact=["0" * 32]))
    assert "item_content (scope_pk=? AND content_hash=?)" in used(driver)
    assert scanned(driver) == []


async def test_an_append_to_a_known_session_is_one_statement(
    driver: PlannedDriver, store: RelationalStore
) -> None:
    """What this process knows of a session is not read again: a row is added, nothing is read."""
    scope = Scope("user", "agent 0")
    await store.append([an_episode("more", keys=["k3"], scope=scope, session_id="s0")])
    assert driver.plans == []


async def test_reading_a_session_goes_by_its_positions(
    driver: PlannedDriver, store: RelationalStore
) -> None:
    """The end of a session is found from its end; nobody counts it through."""
    await store.tail(Scope("user", "agent 0"), "s0", limit=3)
    assert "SEARCH episode USING INDEX sqlite_autoindex_episode_2 (session_pk=?)" in used(driver)
    assert "TEMP B-TREE" not in used(driver)
    assert scanned(driver) == []


@pytest.mark.parametrize("idle", [None, HOUR])
async def test_claims_go_through_the_pending_alone(
    driver: PlannedDriver, store: RelationalStore, idle: timedelta | None
) -> None:
    """Which scope is next, and what of it, is read from partial indexes of what is pending."""
    now = NOW + 2 * HOUR
    claim = await store.claim(now=now, budget=100, lease=HOUR, idle=idle, max_wait=HOUR)
    assert claim is not None
    assert "SCAN episode USING INDEX episode_oldest" in used(driver)
    assert "SEARCH episode USING INDEX episode_due (home_pk=?" in used(driver)
    assert "SEARCH waiting USING INDEX episode_due (home_pk=? AND recorded_at<?)" in used(driver)
    assert scanned(driver) == []
    driver.plans.clear()
    await store.claim(Scope("user", "agent 2"), now=now, budget=100, lease=HOUR, idle=idle)
    assert "SCAN episode USING INDEX episode_oldest" not in used(driver)
    assert scanned(driver) == []
    driver.plans.clear()
    item = an_item("new", scope=claim.scope)
    outcome = Completed(changes=Changes(add=(item,)), checksum="c")
    await store.settle(claim, outcome, now=now)
    assert await was_settled(store, claim.scope, "c")
    assert "INDEX job_checksum (scope_pk=? AND checksum=?)" in used(driver)
    assert scanned(driver) == []


async def test_purging_starts_with_what_expired_first(
    driver: PlannedDriver, store: RelationalStore
) -> None:
    """What is past its time is found without looking at what is not."""
    await store.purge(now=NOW)
    assert "SEARCH item USING INDEX item_expired (expires_at<?)" in used(driver) or (
        "SEARCH item USING COVERING INDEX item_expired (expires_at<?)" in used(driver)
    )
    assert "SEARCH episode USING INDEX episode_expired (expires_at<?)" in used(driver)
    assert scanned(driver) == []


@pytest.mark.parametrize(
    "target",
    [
        WholeScope(scope=Scope("user", "agent 1")),
        Session(scope=Scope("user", "agent 1"), session_id="s1"),
        Messages(scope=Scope("user", "agent 1"), session_id="s1", keys=("k1",)),
        Episodes(scope=Scope("user", "agent 1"), ids=("e1",)),
        Items(scope=Scope("user", "agent 1"), ids=("i1",)),
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
    here = Scope("user", "agent 1")
    await store.get(here, ["i1"])
    await store.by_key(here, "k1")
    assert "item_key (scope_pk=? AND key=?)" in used(driver)
    for scope in (None, here):
        await store.scan("items", scope=scope, after="0")
        await store.scan("episodes", scope=scope, after="0")
        await store.scan("jobs", scope=scope, after="0")
        await store.scan("tombstones", scope=scope, after="0")
    assert "INDEX item_scope (scope_pk=? AND id>?)" in used(driver)
    assert "INDEX episode_home (home_pk=? AND id>?)" in used(driver)
    assert "INDEX job_scope (scope_pk=? AND id>?)" in used(driver)
    assert "INDEX tombstone_scope (scope_pk=? AND id>?)" in used(driver)
    assert "TEMP B-TREE" not in used(driver)
    assert scanned(driver) == []


async def test_every_index_has_a_statement_that_needs_it(
    driver: PlannedDriver, store: RelationalStore
) -> None:
    """An index that these tests do not name would be written for nothing."""

    async def names(tx: Transaction) -> list[Row]:
        return await tx.fetch_all(
            "SELECT name FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL"
        )

    named = Path(__file__).read_text(encoding="utf-8") + await _source_plans(driver, store)
    assert [name for (name,) in await driver.read(names) if name not in named] == []


async def _source_plans(driver: PlannedDriver, store: RelationalStore) -> str:
    driver.plans.clear()
    here = Scope("user", "agent 1")
    await store.forget(Session(scope=here, session_id="s1"), at=NOW)
    return used(driver)
