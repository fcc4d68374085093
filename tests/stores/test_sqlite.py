"""SQLite against the kit: on a file, on a file with few parameters, and in memory."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from memkit.contracts import Store
from memkit.models import Changes, Items
from memkit.testing.clock import ManualClock
from memkit.testing.ledgers import LedgerConformance
from memkit.testing.maintenance import MaintainsConformance
from memkit.testing.stores import StoreConformance
from memkit.testing.values import HERE, NOW, an_item
from memkit_backends.sqlite import open_store


class OnFile(StoreConformance, LedgerConformance, MaintainsConformance):
    """A file that every test begins anew, opened a second time to be reopened."""

    @pytest.fixture(autouse=True)
    def _place(self, tmp_path: Path) -> None:
        self.path = tmp_path / "memory.db"

    async def open_store(self, clock: ManualClock) -> Store:
        return await open_store(self.path, synchronous="normal", lease_clock=clock)

    async def reopen(self, store: Store, clock: ManualClock) -> Store:
        """Close it and open the file again."""
        await store.aclose()
        return await self.open_store(clock)


class TestSQLiteOnFile(OnFile):
    """The store as people use it."""


class TestSQLiteWithFewParameters(OnFile):
    """The store where SQLite takes 999 parameters in a statement, as many builds do."""

    async def open_store(self, clock: ManualClock) -> Store:
        store = await open_store(self.path, synchronous="normal", readers=1, lease_clock=clock)

        def limit(connection: sqlite3.Connection) -> None:
            connection.setlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER, 999)
            connection.setlimit(sqlite3.SQLITE_LIMIT_COMPOUND_SELECT, 50)

        await store._file.run(limit)
        await store._file.inspect(limit)
        return store

    async def test_a_batch_takes_one_parameter(self, clock: ManualClock) -> None:
        """However many ids a call has, its statements take a list as one parameter."""
        store = await self.open_store(clock)
        items = [an_item(f"fact {number}") for number in range(1500)]
        await store.apply(HERE, Changes(add=tuple(items)))
        assert len(await store.get(HERE, [item.id for item in items])) == len(items)
        receipt = await store.forget(Items(scope=HERE, ids=tuple(i.id for i in items)), at=NOW)
        assert receipt.items == len(items)
        await store.aclose()


class TestSQLiteInMemory(StoreConformance, LedgerConformance, MaintainsConformance):
    """One connection for everything: what `sqlite://:memory:` is."""

    async def open_store(self, clock: ManualClock) -> Store:
        return await open_store("sqlite://:memory:", lease_clock=clock)
