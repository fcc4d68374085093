"""SQLite against the kit: on a file, on a file with few parameters, and in memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from memkit.contracts import Store
from memkit.testing.clock import ManualClock
from memkit.testing.ledgers import LedgerConformance
from memkit.testing.stores import StoreConformance
from memkit_backends.sqlite import open_store


class OnFile(StoreConformance, LedgerConformance):
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


class TestSQLiteInMemory(StoreConformance, LedgerConformance):
    """One connection for everything: what `sqlite://:memory:` is."""

    async def open_store(self, clock: ManualClock) -> Store:
        return await open_store("sqlite://:memory:", lease_clock=clock)
