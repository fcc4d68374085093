"""A memory on each store that is there, its clock in the test's hand."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from memkit import Memory, open_memory
from memkit.testing.clock import ManualClock
from memkit.testing.values import NOW
from tests.postgres.server import with_settings


@pytest.fixture
def clock() -> ManualClock:
    """The time, which stands still until a test moves it."""
    return ManualClock(NOW)


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A fresh store of each sort."""
    match request.param:
        case "memory":
            return "memory://"
        case "sqlite":
            return f"sqlite:///{tmp_path / 'memory.db'}"
        case _:
            url, schema = request.getfixturevalue("postgres_store")
            return with_settings(url, schema=schema)


@pytest.fixture
async def memory(store_url: str, clock: ManualClock) -> AsyncIterator[Memory]:
    """A memory as it is without any configuration."""
    async with open_memory(store_url, clock=clock) as opened:
        yield opened
