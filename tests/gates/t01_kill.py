"""T01: SIGKILL at any moment loses nothing that was acknowledged, and doubles nothing."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from itertools import count

from memkit.app import open_memory
from memkit.memory import Memory
from memkit.models import Scope
from memkit.testing.around import LedgerStoreAround
from tests.gates.accounts import Account, Holdings
from tests.gates.backends import SQLITE, Backend, GateStore
from tests.gates.bugs import MarkFirst, TwoCommits
from tests.gates.children import Child, Report
from tests.gates.progress import watched
from tests.gates.telling import LEASE, QUICK, Retelling
from tests.gates.verdict import Gate, Verdict

SCOPES = tuple(Scope(f"user-{number}") for number in range(3))
LINES = 10
"""Up to so many lines a process may say before it is about to be killed."""

FORGET_EVERY = 6
"""Messages between two that are forgotten again."""

LOOK_EVERY = 100
"""Kills between two looks at the whole store; with a bug a look comes sooner."""


Wrap = Callable[[GateStore], GateStore | LedgerStoreAround]
BUGS: dict[str, Wrap] = {"two-commits": TwoCommits, "mark-first": MarkFirst}


def as_it_is(store: GateStore) -> GateStore:
    """No bug."""
    return store


async def live(
    backend: Backend, location: str, wrap: Wrap, numbers: Iterable[int], report: Report
) -> None:
    """Record one message after the other, consolidate beside it, and forget some."""
    store = await backend.open(location)
    async with open_memory(
        QUICK, store=wrap(store), extractor=Retelling(), scheduler="manual"
    ) as memory:
        report("open")
        for number in numbers:
            await asyncio.gather(record(memory, number, report), memory.consolidate())
            if number % FORGET_EVERY == 0:
                await forget(memory, max(0, number - FORGET_EVERY // 2), report)
    await store.aclose()


def place(number: int) -> tuple[Scope, str]:
    """The scope and the session of a message."""
    return SCOPES[number % len(SCOPES)], f"session-{number % 4}"


async def record(memory: Memory, number: int, report: Report) -> None:
    """Record a message, saying so."""
    key = f"message-{number}"
    scope, session = place(number)
    report(f"invoke add {key}")
    said = {"role": "user", "content": f"say {number}", "key": key}
    await memory.record(scope, [said], session_id=session)
    report(f"ok add {key}")


async def forget(memory: Memory, number: int, report: Report) -> None:
    """Forget a message, saying so."""
    key = f"message-{number}"
    scope, session = place(number)
    report(f"invoke forget {key}")
    await memory.forget(scope, session_id=session, message_keys=[key])
    report(f"ok forget {key}")


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
    account, verdict, first = Account(), Verdict(failed=1), 0
    warm_up(backend)
    with backend.fresh() as location:
        for lives in watched(range(1, n + 1)):
            said = one_life(backend, location, wrap, first, chance)
            account.read(said)
            # What was begun last and not acknowledged is said again: it may be there or not.
            first += sum(line.startswith("ok add") for line in said)
            if lives == n or lives % (LOOK_EVERY // 5 if bug else LOOK_EVERY) == 0:
                verdict = judged(backend, location, account, lives)
                if not verdict.passed:
                    break
    return verdict


def judged(backend: Backend, location: str, account: Account, lives: int) -> Verdict:
    """The verdict so far."""
    holdings, wrong = asyncio.run(looked_through(backend, location))
    verdict = account.verdict(holdings)
    facts = {"kills": lives, **verdict.facts}
    return replace(verdict, failed=verdict.failed + wrong, facts=facts)


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
