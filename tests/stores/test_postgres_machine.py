"""In memory = SQLite = Postgres, whatever is done to them."""

from __future__ import annotations

import os
from typing import ClassVar

import pytest
from hypothesis import HealthCheck, settings

from memkit.testing.around import LedgerStore
from memkit.testing.clock import ManualClock
from memkit.testing.stateful import StoreMachine
from memkit_backends.postgres import open_store
from tests.postgres.server import empty

EXAMPLES = int(os.environ.get("MEMKIT_EXAMPLES", "40"))
"""How many histories are tried; the gate T07 asks for more."""


class PostgresMachine(StoreMachine):
    """Postgres beside the reference."""

    place: ClassVar[tuple[str, str]]

    async def open_store(self, clock: ManualClock) -> LedgerStore:
        """The one schema, emptied."""
        url, schema = self.place
        await empty(url, schema)
        return await open_store(url, schema=schema, lease_clock=clock, max_size=2)

    async def reopen(self, store: LedgerStore, clock: ManualClock) -> LedgerStore:
        """Close it and open the schema again."""
        await store.aclose()
        url, schema = self.place
        return await open_store(url, schema=schema, lease_clock=clock, max_size=2)


class TestPostgresMachine(PostgresMachine.TestCase):
    """What holds for one store holds for the other."""

    settings = settings(
        max_examples=EXAMPLES,
        stateful_step_count=20,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )

    @pytest.fixture(autouse=True)
    def _placed(self, postgres_store: tuple[str, str]) -> None:
        PostgresMachine.place = postgres_store
