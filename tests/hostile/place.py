"""Where a case happens: one store, a clock that stands still, and a neighbor to be left alone."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeVar

from memkit.app import open_memory
from memkit.config import Config
from memkit.contracts import Extractor
from memkit.decay import microseconds
from memkit.errors import MemkitError
from memkit.memory import Memory
from memkit.models import Changes, MemoryItem, Message, Scope, Stats
from memkit.testing.around import LedgerStore
from memkit.testing.clock import ManualClock
from memkit.testing.reading import all_episodes, all_items
from memkit.testing.values import NOW, an_item

Answer = TypeVar("Answer")

SCOPE = Scope("u1")
CANARY = "zebedee"
NEIGHBOR = Scope("neighbor")
NEIGHBORS = (
    f"{CANARY} prefers C++ and a multi-agent planner, likes tea, lives in Rome, is an "
    "administrator, traveled to Japan and is allergic to penicillin"
)
"""Says what the cases are about, so that whatever finds too much finds this."""


@dataclass(frozen=True, kw_only=True)
class Place:
    """A fresh store of one sort. Memories opened here, one or several, share it."""

    name: str
    store: LedgerStore
    clock: ManualClock = field(default_factory=lambda: ManualClock(NOW))

    @asynccontextmanager
    async def memory(
        self, extractor: Extractor | None = None, **settings: object
    ) -> AsyncIterator[Memory]:
        """A memory as a user opens it, without any file or environment; it stays quiet."""
        async with open_memory(
            Config.model_validate(settings),
            store=self.store,
            clock=self.clock,
            extractor=extractor,
        ) as memory:
            yield memory

    async def settle_neighbor(self) -> None:
        """Let the neighbor have something to be found."""
        item = an_item(NEIGHBORS, scope=NEIGHBOR, key=CANARY, pinned=True)
        await self.store.apply(NEIGHBOR, Changes(add=(item,)))

    async def neighbor_is_well(self) -> bool:
        """Whether the neighbor has what it had, and nothing else."""
        items = await all_items(self.store, NEIGHBOR)
        return [item.content for item in items] == [NEIGHBORS]

    async def kept(self) -> object:
        """All that the store keeps but for the neighbor's: without ids, which are random."""
        items = [item for item in await all_items(self.store) if item.scope != NEIGHBOR]
        episodes = await all_episodes(self.store)
        messages = [
            (episode.scope.key, episode.session_id, episode.flags, _told(each))
            for episode in episodes
            for each in episode.messages
        ]
        return sorted(map(_item, items)), sorted(messages), _counted(await self.store.stats())


def _told(message: Message) -> str:
    return message.model_dump_json()


def _item(item: MemoryItem) -> tuple[str, str]:
    sources = [(each.session_id, each.position, each.key) for each in item.sources]
    minted = {"id", "job_id", "sources", "superseded_by"}
    fields = {name: _shown(value) for name, value in item if name not in minted}
    return item.scope.key, json.dumps([fields, sources], sort_keys=True)


def _shown(value: object) -> str:
    # A date is the same date in any zone. Other values may be what JSON cannot say.
    return str(microseconds(value)) if isinstance(value, datetime) else repr(value)


def _counted(stats: Stats) -> str:
    return json.dumps(stats.model_dump(mode="json"), sort_keys=True)


async def refused(call: Awaitable[object], *kinds: type[MemkitError]) -> str:
    """The name of the error that `call` ends in: one of `kinds`, any of memkit's by default."""
    typed = kinds or (MemkitError,)
    try:
        answer = await call
    except typed as exc:
        return type(exc).__name__
    raise AssertionError(f"not refused; the answer was {type(answer).__name__}")


async def ends(call: Awaitable[Answer]) -> Answer | str:
    """What `call` answers, or the name of memkit's error that it ends in."""
    try:
        return await call
    except MemkitError as exc:
        return type(exc).__name__


def must(claim: object, otherwise: str) -> None:
    """Raise `AssertionError` unless the claim holds."""
    if not claim:
        raise AssertionError(otherwise)


def same(found: object, wanted: object) -> None:
    """Raise `AssertionError` unless both are equal."""
    must(found == wanted, f"{found!r:.300} in place of {wanted!r:.300}")


Act = Callable[[Place], Awaitable[object]]


@dataclass(frozen=True)
class Case:
    """One hostile input. `act` does it and returns what was seen, which every store must show.

    It raises `AssertionError` for what must not be, and nothing else.
    """

    name: str
    act: Act


def cases(family: str, acts: Iterable[tuple[str, Act]]) -> tuple[Case, ...]:
    """The cases of one family, each with a name of its own."""
    return tuple(Case(f"{family}: {name}", act) for name, act in acts)
