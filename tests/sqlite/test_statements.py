"""What a run of consolidation asks of the database: each statement is a round trip elsewhere."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from pathlib import Path

import pytest

from memkit import Changes, Completed
from memkit.testing.values import HERE, NOW, a_source, an_episode, an_item
from memkit_backends.sqlite import open_store

pytestmark = pytest.mark.anyio


async def test_a_claim_and_its_end_are_few_statements(tmp_path: Path) -> None:
    """A claim of many episodes is five, and settling it seven and one for each item and source."""
    passed: Counter[str] = Counter()
    store = await open_store(tmp_path / "memory.db", failpoint=lambda name: passed.update([name]))
    try:
        said = [an_episode(f"number {n}", session_id=f"s-{n}") for n in range(10)]
        await store.append(said)
        passed.clear()
        claim = await store.claim(HERE, now=NOW, budget=1000, lease=timedelta(minutes=1))
        assert claim is not None
        assert len(claim.episodes) == 10
        assert passed["before statement"] == 5
        passed.clear()
        items = tuple(an_item(f"fact {n}", sources=[a_source(said[n])]) for n in range(3))
        await store.settle(claim, Completed(changes=Changes(add=items), checksum="c"), now=NOW)
        assert passed["before statement"] == 7 + 2 * len(items)
        assert passed["before begin"] == passed["before commit"] == 1
    finally:
        await store.aclose()
