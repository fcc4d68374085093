"""How a command opens memory: the configured one, without a scheduler of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from memkit.config import Config, load
from memkit.models import Scope
from memkit.sync import SyncMemory, open_memory_sync


def configured(config: Path | None, store: str | None) -> Config:
    """What file, environment and options say together."""
    return load(config, arguments={} if store is None else {"store": store})


@contextmanager
def opened(config: Path | None, store: str | None, *, migrate: bool = True) -> Iterator[SyncMemory]:
    """The memory that is configured, for the time of one command."""
    stated = configured(config, store)
    migrate = migrate and stated.migrate
    with open_memory_sync(stated, scheduler="manual", migrate=migrate) as memory:
        yield memory


def stated(user: str | None, agent: str | None, workflow: str | None) -> Scope | None:
    """The scope that the options state, or None where they state nothing."""
    scope = Scope(user, agent, workflow)
    return None if scope.is_unset else scope
