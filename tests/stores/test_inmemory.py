"""What the in-memory store says of itself."""

from __future__ import annotations

from datetime import timedelta

import pytest

from memkit.contracts import Ledger
from memkit.errors import Closed
from memkit.inmemory import InMemoryStore
from memkit.models import Released
from memkit.testing.clock import ManualClock
from memkit.testing.values import HERE, NOW, a_query, an_episode

pytestmark = pytest.mark.anyio

HOUR = timedelta(hours=1)


@pytest.fixture
def store() -> InMemoryStore:
    """A fresh store."""
    return InMemoryStore(lease_clock=ManualClock(NOW))


async def test_the_store_keeps_both_contracts() -> None:
    """It is a ledger, atomic, immediate, and its leases exclude."""
    store = InMemoryStore()
    offered = store.capabilities
    assert isinstance(store, Ledger)
    assert (offered.name, offered.transactions) == ("memory", True)
    assert (offered.consistency, offered.leases) == ("immediate", "exclusive")


async def test_a_closed_store_claims_nothing(store: InMemoryStore) -> None:
    """The ledger's calls raise `Closed` after `aclose`, as the store's do."""
    await store.append([an_episode("hi")])
    claim = await store.claim(HERE, now=NOW, budget=100, lease=HOUR)
    assert claim is not None
    await store.aclose()
    for call in (
        lambda: store.claim(now=NOW, budget=1, lease=HOUR),
        lambda: store.renew(claim, lease=HOUR),
        lambda: store.settle(claim, Released(), now=NOW),
        lambda: store.background(claim, a_query(), checksum="c"),
        lambda: store.requeue(["x"]),
    ):
        with pytest.raises(Closed):
            await call()
