"""T01: SIGKILL at any moment loses nothing that was acknowledged, and doubles nothing."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Iterable
from functools import partial
from itertools import count

from memkit.app import open_memory
from memkit.models import Scope
from memkit.testing.around import LedgerStoreAround
from tests.gates.accounts import Holdings
from tests.gates.backends import SQLITE, Backend, GateStore
from tests.gates.bugs import MarkFirst, TwoCommits
from tests.gates.children import Child, Report
from tests.gates.telling import LEASE, QUICK, Retelling
from tests.gates.verdict import Gate, Verdict

SCOPES = tuple(Scope(f"user-{number}") for number in range(3))
LINES = 10
"""Up to so many lines a process may say before it is about to be killed."""

LOOK_EVERY = 100
"""Kills between two looks at the whole store; with a bug a look comes sooner."""


Wrap = Callable[[GateStore], GateStore | LedgerStoreAround]
BUGS: dict[str, Wrap] = {"two-commits": TwoCommits, "mark-first": MarkFirst}


def as_it_is(store: GateStore) -> GateStore:
    """No bug."""
    return store


def key(number: int) -> str:
    """The key of a message."""
    return f"message-{number}"


async def live(
    backend: Backend, location: str, wrap: Wrap, numbers: Iterable[int], report: Report
) -> None:
    """Record one message after the other, and consolidate beside it."""
    store = await backend.open(location)
    async with open_memory(
        QUICK, store=wrap(store), extractor=Retelling(), scheduler="manual"
    ) as memory:
        report("open")
        for number in numbers:
            report(f"try {number}")
            said = {"role": "user", "content": f"say {number}", "key": key(number)}
            scope, session = SCOPES[number % len(SCOPES)], f"session-{number % 4}"
            recording = memory.record(scope, [said], session_id=session)
            await asyncio.gather(recording, memory.consolidate())
            report(f"kept {number}")
    await store.aclose()


def one_life(
    backend: Backend, location: str, wrap: Wrap, first: int, chance: random.Random
) -> list[str]:
    """What a process said until it was killed: mostly while it worked, at times on opening."""
    work = partial(live, backend, location, wrap, count(first))
    child = Child.fork(lambda report: asyncio.run(work(report)))
    # By what it has said rather than by time alone: so a busy machine kills as deep as an idle one.
    child.wait_for_lines(chance.randrange(LINES))
    time.sleep(chance.uniform(0.002, 0.03))
    return child.kill()


def warm_up(backend: Backend) -> None:
    """Load here what is loaded on first use, so that no life is spent on that."""
    with backend.fresh() as location:
        asyncio.run(live(backend, location, as_it_is, range(3), len))


async def looked_through(backend: Backend, location: str) -> tuple[Holdings, int]:
    """What there is once everything pending is consolidated, and what is wrong with it."""
    store = await backend.open(location)
    async with open_memory(QUICK, store=store, extractor=Retelling(), scheduler="manual") as memory:
        while (await memory.stats()).pending:
            await memory.consolidate()
            await asyncio.sleep(LEASE.total_seconds())
        holdings = await Holdings.of(store)
        dead = (await memory.stats()).dead
    await store.aclose()
    return holdings, dead + len(backend.problems(location))


def run(backend: Backend, n: int, seed: int, bug: str | None) -> Verdict:
    """`n` lives that end in SIGKILL, on one store."""
    chance = random.Random(seed)
    wrap = BUGS[bug] if bug else as_it_is
    acknowledged: set[str] = set()
    verdict, first = Verdict(failed=1), 0
    warm_up(backend)
    with backend.fresh() as location:
        for lives in range(1, n + 1):
            said = one_life(backend, location, wrap, first, chance)
            numbers = [int(line.removeprefix("kept ")) for line in said if line[:4] == "kept"]
            acknowledged.update(map(key, numbers))
            # What was tried last and not acknowledged is said again: it may be there or not.
            first = max([first, *(number + 1 for number in numbers)])
            if lives == n or lives % (LOOK_EVERY // 5 if bug else LOOK_EVERY) == 0:
                verdict = judged(backend, location, acknowledged, lives)
                if not verdict.passed:
                    break
    return verdict


def judged(backend: Backend, location: str, acknowledged: set[str], lives: int) -> Verdict:
    """The verdict so far. A message whose facts are short counts as lost too."""
    holdings, wrong = asyncio.run(looked_through(backend, location))
    return Verdict(
        lost=holdings.lost(acknowledged) + holdings.short,
        doubled=holdings.doubled,
        failed=wrong + (not acknowledged),
        facts={
            "kills": lives,
            "acknowledged": len(acknowledged),
            "items": sum(holdings.items.values()),
        },
    )


GATES = [
    Gate(
        name="T01",
        promise="kill -9 loses nothing acknowledged and doubles nothing, on SQLite",
        full=1_000,
        least=300,
        run=partial(run, SQLITE),
        bugs=tuple(BUGS),
    )
]
