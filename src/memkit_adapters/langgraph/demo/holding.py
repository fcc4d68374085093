"""What a store holds, counted and by id: to see whether it is the same after reopening."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from memkit.cli.words import counted
from memkit.errors import InvalidInput
from memkit.models import Scope, Stats
from memkit.sync import SyncMemory
from memkit_adapters.langgraph.demo.aging import all_items, expiries
from memkit_adapters.langgraph.demo.replay import USERS


@dataclass(frozen=True, slots=True)
class Holding:
    """Counts, and every item with its date."""

    stats: Stats
    expiries: dict[str, datetime]

    @classmethod
    def of(cls, memory: SyncMemory) -> Holding:
        """What the memory's store holds now."""
        return cls(memory.stats(), expiries(memory))

    def __str__(self) -> str:
        stats = self.stats
        return (
            f"{counted(stats.items, 'item')}, {counted(stats.messages, 'message')}, "
            f"{counted(stats.episodes, 'episode')}"
        )


def make_room(memory: SyncMemory) -> None:
    """Forget what earlier runs of the demo left. `InvalidInput` if anything else is there."""
    leftovers: set[Scope] = set()
    for scope in _scopes(memory):
        if not (scope.user_id or "").startswith(USERS):
            raise InvalidInput(
                "this store holds memories that are not the demo's; the demo moves the clock and "
                "deletes what has faded, so give it an empty store"
            )
        leftovers.add(scope)
    for scope in leftovers:
        memory.forget(scope)


def _scopes(memory: SyncMemory) -> Iterator[Scope]:
    """Whose items and episodes the store holds, page by page."""
    yield from (item.scope for item in all_items(memory))
    after = None
    while True:
        page = memory.scan("episodes", after=after)
        yield from (episode.scope for episode in page.rows)
        after = page.after
        if after is None:
            return
