"""T03: a crash, an error or a cancellation at any point of any transaction changes no outcome."""

from __future__ import annotations

import asyncio
import gc
import os
import random
import sys
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from threading import Event
from typing import Literal, get_args

from memkit.app import open_memory
from memkit.config import Config
from memkit.errors import MemkitError
from memkit.memory import Memory
from memkit.models import Scope
from memkit.testing.clock import ManualClock
from memkit.testing.reading import all_episodes, all_items, all_tombstones
from tests.gates.backends import SQLITE, Backend
from tests.gates.bugs import TwoCommits
from tests.gates.children import Child, ChildError, Report
from tests.gates.postgres import POSTGRES
from tests.gates.progress import watched
from tests.gates.telling import Retelling
from tests.gates.verdict import Gate, Verdict

Fault = Literal["exit", "exception", "cancel"]
FAULTS: tuple[Fault, ...] = get_args(Fault)
Place = tuple[int, Fault]
"""Which point, counted from the first, and what happens there."""

ANN = Scope("ann")
CONFIG = Config.model_validate({"consolidate": {"concurrency": 1, "max_attempts": 100}})
EXITED = 9
STUCK = 20.0
"""Seconds for a scenario that takes a fraction of one."""


def said(*keys: str, instead: str = "") -> list[dict[str, str]]:
    """Messages with these keys."""
    return [{"role": "user", "content": f"{key} {instead}", "key": key} for key in keys]


async def consolidate(memory: Memory) -> None:
    """Everything pending, however often a fault has put it off."""
    while (await memory.stats()).pending:
        await memory.consolidate()


async def reinforce(memory: Memory) -> None:
    """Meet what was told again."""
    item = await memory.store.by_key(ANN, "city")
    assert item is not None
    await memory.reinforce(ANN, item.id, importance=0.9)


STEPS: tuple[Callable[[Memory], Awaitable[object]], ...] = (
    lambda memory: memory.record(ANN, said("a", "b"), session_id="one"),
    lambda memory: memory.record(ANN, said("c"), session_id="two"),
    lambda memory: memory.record(ANN, said("a", instead="again"), session_id="one", revise=True),
    consolidate,
    lambda memory: memory.remember(ANN, "Lives in Bergen", key="city"),
    lambda memory: memory.remember(ANN, "Is away", key="away", ttl=timedelta(hours=1)),
    lambda memory: memory.record(ANN, said("d", "e"), session_id="two", history=True),
    consolidate,
    reinforce,
    lambda memory: memory.forget(ANN, session_id="two", message_keys=["d"]),
    lambda memory: memory.forget(ANN, session_id="one", message_keys=["b"], replacement="(gone)"),
    lambda memory: memory.decay(),
)
"""A life of a memory, in steps that may each be taken again; an hour lies between two."""


@dataclass
class Trap:
    """Counts the points that are passed, and springs at one of them."""

    backend: Backend
    place: Place | None = None
    passed: list[str] = field(default_factory=list)
    loop: asyncio.AbstractEventLoop | None = None
    step: asyncio.Task[object] | None = None
    thread: int = 0

    def __call__(self, point: str) -> None:
        """The failpoint, called wherever the database is called."""
        self.passed.append(point)
        if self.place is None or len(self.passed) != self.place[0]:
            return
        match self.place[1]:
            case "exit":
                os._exit(EXITED)
            case "exception":
                raise self.backend.failure()
            case "cancel":
                self._cancel()

    def _cancel(self) -> None:
        assert self.loop is not None
        assert self.step is not None
        if threading.get_ident() == self.thread:
            # On the loop itself: whoever waits for the statement hears of it there.
            self.step.cancel()
            return
        delivered = Event()
        self.loop.call_soon_threadsafe(self._cancel_step, delivered)
        # The statement goes on only when whoever waits for it knows that it is cancelled.
        delivered.wait(STUCK)

    def _cancel_step(self, delivered: Event) -> None:
        assert self.loop is not None
        assert self.step is not None
        self.step.cancel()
        self.loop.call_soon(delivered.set)


async def live(  # noqa: PLR0913  # what a child is told
    backend: Backend, location: str, trap: Trap, first: int, report: Report, *, bug: bool
) -> object:
    """Take the steps from `first` on, each again where a fault ended it, and tell what is left."""
    trap.loop, trap.thread = asyncio.get_running_loop(), threading.get_ident()
    store = await backend.open(location, failpoint=trap)
    clock = ManualClock()
    async with open_memory(
        CONFIG,
        store=TwoCommits(store) if bug else store,
        extractor=Retelling(),
        scheduler="manual",
        clock=clock,
    ) as memory:
        clock.advance(hours=first)
        for number, step in enumerate(STEPS[first:], start=first):
            while not await is_taken(memory, step, trap):
                # A claim whose answer was lost ends with its lease; what failed is tried later.
                # Another write first: what was cancelled may still be under way.
                await store.requeue([])
                backend.expire(location)
                clock.advance(minutes=2)
            clock.set(ManualClock()() + timedelta(hours=number + 1))
            report(f"taken {number}")
        left = await everything(memory)
    gc.collect()  # errors that were caught hold on to their frames, and to cursors in them
    held = backend.held(location)
    await store.aclose()
    return left, held


async def is_taken(memory: Memory, step: Callable[[Memory], Awaitable[object]], trap: Trap) -> bool:
    """Whether the step came to its end. Only memkit's own errors are waited for."""
    trap.step = asyncio.ensure_future(_awaited(step(memory)))
    try:
        await asyncio.wait_for(asyncio.shield(trap.step), STUCK)
    except (MemkitError, asyncio.CancelledError):
        return False
    return True


async def _awaited(work: Awaitable[object]) -> object:
    return await work


def survived(backend: Backend, place: Place | None, *, bug: bool) -> tuple[object, list[str]]:
    """What is left in the end of a life with that fault in it, and the points it passed."""
    with backend.fresh() as location:
        first, trap = 0, Trap(backend, place)
        if place is not None and place[1] == "exit":
            first = crashed(backend, location, trap, bug=bug)
            trap = Trap(backend)
        left = asyncio.run(live(backend, location, trap, first, len, bug=bug))
        return (left, backend.problems(location)), trap.passed


def crashed(backend: Backend, location: str, trap: Trap, *, bug: bool) -> int:
    """How many steps a process took before it ended in the middle of one."""
    child = Child.fork(
        lambda report: asyncio.run(live(backend, location, trap, 0, report, bug=bug))
    )
    if child.ended(seconds=STUCK) != EXITED:
        raise ChildError(f"it never came to {trap.place}")
    backend.expire(location)
    return len(child.said)


def run(backend: Backend, n: int, seed: int, bug: str | None) -> Verdict:
    """Every point with every fault, or `n` of them."""
    chance = random.Random(seed)
    expected, points = survived(backend, None, bug=False)
    places = [(number, fault) for number in range(1, len(points) + 1) for fault in FAULTS]
    chosen = chance.sample(places, min(n, len(places)))
    tried, missed = 0, []
    for place in watched(chosen):
        tried += 1
        try:
            is_fine = survived(backend, place, bug=bool(bug))[0] == expected
        except Exception as exc:  # noqa: BLE001  # an untyped failure is what is looked for
            is_fine = False
            print(f"{place}: {exc!r}", file=sys.stderr)  # noqa: T201  # to see where
        if not is_fine:
            missed.append(f"{place[1]} at {place[0]}, {points[place[0] - 1]}")
            if bug:
                break
    return Verdict(
        failed=len(missed) + (not points),
        facts={
            "points": len(points),
            "named": len(set(points)),
            "tried": tried,
            "first": next(iter(missed), ""),
        },
    )


async def everything(memory: Memory) -> object:
    """All that is kept, without ids, dates and the words that differ from run to run."""
    episodes, items = await all_episodes(memory.store), await all_items(memory.store)
    stats = await memory.stats()
    return (
        sorted(
            (each.session_id, each.position, message.key or "", message.text)
            for each in episodes
            for message in each.messages
        ),
        sorted(
            (
                item.content.partition(", as told in")[0],
                item.key or "",
                item.status,
                item.importance,
                [(source.session_id, source.position, source.key) for source in item.sources],
            )
            for item in items
        ),
        len(await all_tombstones(memory.store)),
        (stats.items, stats.superseded, stats.episodes, stats.messages, stats.pending, stats.dead),
    )


def gate(backend: Backend, *, least: int) -> Gate:
    """The gate on one database."""
    return Gate(
        name=f"T03{backend.suffix}",
        promise=f"exit, error or cancel at any point changes no outcome, on {backend.name}",
        full=1_200,
        least=least,
        run=partial(run, backend),
        bugs=("commit-before-mark",),
    )


GATES = [gate(SQLITE, least=150), gate(POSTGRES, least=30)]
