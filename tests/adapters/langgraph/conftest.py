"""Memories and stores for nodes in real graphs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest

from memkit.errors import StoreUnavailable
from memkit.inmemory import InMemoryStore
from memkit.models import Scope
from memkit.sync import SyncMemory, open_memory_sync
from memkit.testing.around import StoreAround

ALICE = Scope(user_id="alice")
THREAD = {"configurable": {"thread_id": "t1", "user_id": "alice"}}

Answer = TypeVar("Answer")


class Outage(StoreAround):
    """A store that can be away; it counts what it was asked meanwhile."""

    def __init__(self) -> None:
        super().__init__(InMemoryStore())
        self.away = False
        self.refused = 0

    async def through(self, _name: str, call: Callable[[], Awaitable[Answer]], /) -> Answer:
        """Refuse while away."""
        if self.away:
            self.refused += 1
            raise StoreUnavailable("the store is away")
        return await call()


@pytest.fixture(params=["memory", "sqlite"])
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SyncMemory]:
    """A memory on every store that needs no server."""
    url = "memory://" if request.param == "memory" else f"sqlite:///{tmp_path}/memory.db"
    with open_memory_sync(url) as opened:
        yield opened


@pytest.fixture
def outage() -> Outage:
    """A store that can be away."""
    return Outage()


@pytest.fixture
def failing(outage: Outage) -> Iterator[SyncMemory]:
    """A memory on that store."""
    with open_memory_sync(store=outage) as opened:
        yield opened


def recorded(memory: SyncMemory, scope: Scope = ALICE) -> list[str]:
    """What is recorded for a scope, as `role: text`, in order."""
    return [
        f"{message.role}: {message.text}"
        for episode in memory.scan("episodes", scope=scope).rows
        for message in episode.messages
    ]
