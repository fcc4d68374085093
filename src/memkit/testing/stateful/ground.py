"""What the rules of the machine share: the stores, what was made so far, and the clock."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import ClassVar, TypeVar

from hypothesis.stateful import RuleBasedStateMachine

from memkit.models import Claim, Episode, MemoryItem, Scope, Source
from memkit.testing.around import LedgerStore
from memkit.testing.clock import ManualClock
from memkit.testing.reading import all_episodes, all_items
from memkit.testing.stateful.side_by_side import Answers, SideBySide
from memkit.testing.values import a_source, numbered

Made = TypeVar("Made")
TICK = timedelta(seconds=1, microseconds=1)


class Ground(RuleBasedStateMachine):
    """The stores and what has been done to them. A subclass says how the one is opened."""

    lease: ClassVar[timedelta] = timedelta(hours=2)
    runner: ClassVar[asyncio.Runner | None] = None
    """The loop that every example runs on, if connections are to outlive one; else its own."""

    def __init__(self) -> None:
        super().__init__()
        self._own_runner = asyncio.Runner()
        try:
            self.stores = SideBySide(self.open_stores, self.runner or self._own_runner)
        except BaseException:
            self._own_runner.close()
            raise
        self.episodes: list[Episode] = []
        self.items: list[MemoryItem] = []
        self._made = 0
        self.claims: list[Answers[Claim]] = []
        self.epochs: dict[Scope, Answers[int]] = {}

    async def open_store(self, clock: ManualClock) -> LedgerStore:
        """A fresh, empty store that reads its own time from `clock`."""
        raise NotImplementedError(f"{type(self).__name__} must define open_store(clock)")

    async def open_stores(self, clock: ManualClock) -> Sequence[LedgerStore]:
        """The store beside the reference; or several, each of which `reopen` has to know."""
        return [await self.open_store(clock)]

    async def reopen(self, store: LedgerStore, clock: ManualClock) -> LedgerStore:  # noqa: ARG002  # overrides need it
        """What `store` keeps, opened anew. One that declares itself durable must say how."""
        if store.capabilities.durable:
            raise NotImplementedError(f"{type(self).__name__} must define reopen(store, clock)")
        return store

    @property
    def now(self) -> datetime:
        """The time, which no two calls share."""
        return self.stores.clock.advance(TICK)

    def fresh_id(self) -> str:
        """An id that is the same when the example is run again, and in no order of time."""
        self._made += 1
        return numbered(self._made * 7919 % 10_007)

    def kept(self) -> list[MemoryItem]:
        """The items that are there, and the newest that was added, there or not."""
        return [*self.stores.peek(all_items), *self.items[-1:]]

    def said(self, home: Scope) -> list[Source]:
        """Every message that is kept in `home`, as a source."""
        episodes = self.stores.peek(lambda store: all_episodes(store, home))
        return [
            a_source(episode, place)
            for episode in episodes
            for place in range(len(episode.messages))
        ]

    def teardown(self) -> None:
        """Let go of the stores, and of the loop."""
        with self._own_runner:
            self.stores.close()


def pick(made: Sequence[Made], place: int) -> list[Made]:
    """The one at `place`, counted around from the newest, if there is any."""
    return [made[-1 - place % len(made)]] if made else []


def picked(made: Sequence[Made], places: Sequence[int]) -> list[Made]:
    """Those at `places`, each once."""
    return [made[place] for place in sorted({each % len(made) for each in places})] if made else []
