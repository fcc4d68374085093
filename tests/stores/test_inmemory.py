"""The in-memory store: what it promises beyond the kit's rules."""

from __future__ import annotations

from datetime import timedelta

import pytest

from memkit.contracts import Ledger, Store
from memkit.errors import Closed
from memkit.inmemory import InMemoryStore
from memkit.models import Changes, Completed, Session
from memkit.testing.clock import ManualClock
from memkit.testing.values import HERE, NOW, a_source, an_episode, an_item

pytestmark = pytest.mark.anyio

HOUR = timedelta(hours=1)


async def test_the_store_carries_a_session_from_append_to_forget() -> None:
    """What is appended is claimed, settled into items, and forgotten with them."""
    store: Store = InMemoryStore(lease_clock=ManualClock(NOW))
    assert isinstance(store, Ledger)
    episode = an_episode("I like tea", keys=["k1"])
    (answer,) = await store.append([episode])
    assert (answer.stored, answer.head) == (1, 1)
    claim = await store.claim(now=NOW, budget=100, lease=HOUR)
    assert claim is not None
    item = an_item("Likes tea", sources=[a_source(claim.episodes[0])])
    outcome = Completed(changes=Changes(add=(item,)), checksum="c")
    job = await store.settle(claim, outcome, now=NOW)
    assert (job.status, job.added) == ("completed", 1)
    assert await store.settled(HERE, "c")
    receipt = await store.forget(Session(scope=HERE, session_id="s-1"), at=NOW)
    assert (receipt.items, receipt.messages, receipt.jobs, receipt.epoch) == (1, 1, 1, 1)
    assert (await store.tail(HERE, "s-1", limit=9)).head == 1
    await store.aclose()
    await store.aclose()
    with pytest.raises(Closed):
        await store.stats()
