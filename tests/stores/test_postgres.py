"""Postgres against the kit: on its own clock's double, as people use it."""

from __future__ import annotations

import pytest

from memkit.contracts import Store
from memkit.testing.clock import ManualClock
from memkit.testing.ledgers import LedgerConformance
from memkit.testing.maintenance import MaintainsConformance
from memkit.testing.stores import StoreConformance
from memkit_backends.postgres import open_store


class OnPostgres(StoreConformance, LedgerConformance, MaintainsConformance):
    """A schema that every test begins anew. No search_path ever leads to it."""

    @pytest.fixture(autouse=True)
    def _place(self, postgres_store: tuple[str, str]) -> None:
        self.url, self.schema = postgres_store

    async def open_store(self, clock: ManualClock) -> Store:
        return await open_store(self.url, schema=self.schema, lease_clock=clock)

    async def reopen(self, store: Store, clock: ManualClock) -> Store:
        """Close it and open the schema again."""
        await store.aclose()
        return await self.open_store(clock)


class TestPostgres(OnPostgres):
    """The store as people use it."""


class TestPostgresWithOneConnection(OnPostgres):
    """No call ever needs a second connection while it holds one."""

    async def open_store(self, clock: ManualClock) -> Store:
        return await open_store(self.url, schema=self.schema, lease_clock=clock, max_size=1)


class TestPostgresBehindAPooler(OnPostgres):
    """What memkit does without prepared statements, for a pooler between it and the server."""

    async def open_store(self, clock: ManualClock) -> Store:
        return await open_store(
            self.url, schema=self.schema, lease_clock=clock, pooler="transaction"
        )
