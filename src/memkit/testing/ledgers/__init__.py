"""`LedgerConformance`: what a store that leaves extraction to memkit must do, as tests.

Beside `StoreConformance`, whose `open_store` serves both:

    from memkit.inmemory import InMemoryStore
    from memkit.testing import LedgerConformance, StoreConformance

    class TestMyStore(StoreConformance, LedgerConformance):
        async def open_store(self, clock):
            return InMemoryStore(lease_clock=clock)
"""

from memkit.testing.ledgers.background import BackgroundRules
from memkit.testing.ledgers.claiming import ClaimingRules
from memkit.testing.ledgers.leasing import LeasingRules
from memkit.testing.ledgers.settling import SettlingRules

__all__ = ["LedgerConformance"]


class LedgerConformance(ClaimingRules, LeasingRules, BackgroundRules, SettlingRules):
    """The contract `Ledger`, rule by rule."""
