"""The in-memory store keeps every rule of the kit."""

from __future__ import annotations

from memkit.inmemory import InMemoryStore
from memkit.testing.clock import ManualClock
from memkit.testing.ledgers import LedgerConformance
from memkit.testing.stores import StoreConformance


class TestInMemoryStore(StoreConformance, LedgerConformance):
    """The reference."""

    async def open_store(self, clock: ManualClock) -> InMemoryStore:
        """A fresh one."""
        return InMemoryStore(lease_clock=clock)
