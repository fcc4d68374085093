"""`StoreConformance`: what every store must do, as tests.

A third party's whole test file:

    from memkit.testing.stores import StoreConformance
    from my_plugin import MyStore

    class TestMyStore(StoreConformance):
        async def open_store(self, clock):
            return MyStore(clock=clock)
"""

from memkit.testing.stores.adding import AddingRules
from memkit.testing.stores.append import AppendRules
from memkit.testing.stores.changing import ChangingRules
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
    FindingRules,
    ReadingRules,
    ForgettingRules,
    RedactingRules,
    PurgingRules,
    KeepingRules,
):
    """The contract `Store`, rule by rule."""
