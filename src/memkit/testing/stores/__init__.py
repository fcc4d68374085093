"""`StoreConformance`: what every store must do, as tests.

A whole test file, here for the store in memory. What a store reads its own time from is given
to it as it takes it; `reopen(store, clock)` is for those that are durable.

    from memkit.inmemory import InMemoryStore
    from memkit.testing import StoreConformance

    class TestMyStore(StoreConformance):
        async def open_store(self, clock):
            return InMemoryStore(lease_clock=clock)
"""

from memkit.testing.stores.adding import AddingRules
from memkit.testing.stores.append import AppendRules
from memkit.testing.stores.changing import ChangingRules
from memkit.testing.stores.dating import DatingRules
from memkit.testing.stores.finding import FindingRules
from memkit.testing.stores.forgetting import ForgettingRules
from memkit.testing.stores.keeping import KeepingRules
from memkit.testing.stores.purging import PurgingRules
from memkit.testing.stores.reading import ReadingRules
from memkit.testing.stores.redacting import RedactingRules

__all__ = ["StoreConformance"]


class StoreConformance(
    AppendRules,
    AddingRules,
    ChangingRules,
    DatingRules,
    FindingRules,
    ReadingRules,
    ForgettingRules,
    RedactingRules,
    PurgingRules,
    KeepingRules,
):
    """The contract `Store`, rule by rule."""
