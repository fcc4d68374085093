"""T02: clients killed in the middle, while another works on: nothing lost, nothing doubled."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Iterable
from dataclasses import replace

from memkit.app import open_memory
from memkit.models import Extraction, ExtractionRequest
from tests.gates.accounts import Account
from tests.gates.children import Child, Report
from tests.gates.postgres import POSTGRES
from tests.gates.progress import watched
from tests.gates.t01_kill import LINES, forget, looked_through, record
from tests.gates.telling import LEASE, QUICK, Retelling
from tests.gates.unfenced import open_unfenced
from tests.gates.verdict import Gate, Verdict

LOOK_EVERY = 100
FORGET_EVERY = 6
OVERRUNS = 0.2
"""The share of extractions that take longer than their lease."""


class Dawdling(Retelling):
    """Blocks its loop at times for longer than a lease, so that nothing can renew it."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._chance = random.Random(seed)

    async def extract(self, request: ExtractionRequest) -> Extraction:
        """See `Extractor.extract`."""
        if self._chance.random() < OVERRUNS:
            time.sleep(LEASE.total_seconds() * 1.5)  # noqa: ASYNC251  # that is what it is for
        return await super().extract(request)


async def live(location: str, *, bug: bool, numbers: Iterable[int], report: Report) -> None:
    """Record one message after the other, consolidate beside it, and forget some."""
    numbers = iter(numbers)
    first = next(numbers)
    store = await (open_unfenced if bug else POSTGRES.open)(location)
    async with open_memory(
        QUICK, store=store, extractor=Dawdling(first), scheduler="manual"
    ) as memory:
        report("open")
        for number in (first, *(next(numbers) for _ in range(10_000))):
            await asyncio.gather(record(memory, number, report), memory.consolidate())
            if number // 2 % FORGET_EVERY == 0 and number - 2 * FORGET_EVERY >= first:
                await forget(memory, number - 2 * FORGET_EVERY, report)
    await store.aclose()


def born(location: str, first: int, *, bug: bool) -> Child:
    """A client; two that live at the same time count by odd and by even numbers."""
    numbers = range(first, first + 2 * 10_002, 2)
    return Child.fork(
        lambda report: asyncio.run(live(location, bug=bug, numbers=numbers, report=report))
    )


def run(n: int, seed: int, bug: str | None) -> Verdict:
    """`n` clients killed on one store, where there are always two."""
    chance, account, verdict = random.Random(seed), Account(), Verdict(failed=1)
    with POSTGRES.fresh() as location:
        asyncio.run(_made(location))
        firsts = [0, 1]
        alive = [born(location, first, bug=bool(bug)) for first in firsts]
        for kills in watched(range(1, n + 1)):
            side = kills % 2
            alive[side].wait_for_lines(chance.randrange(LINES))
            time.sleep(chance.uniform(0.002, 0.03))
            said = alive[side].kill()
            account.read(said)
            firsts[side] += 2 * sum(line.startswith("ok add") for line in said)
            looks = kills == n or kills % (LOOK_EVERY // 5 if bug else LOOK_EVERY) == 0
            if looks:
                said = alive[1 - side].kill()
                account.read(said)
                firsts[1 - side] += 2 * sum(line.startswith("ok add") for line in said)
                verdict = judged(location, account, kills)
                if not verdict.passed or kills == n:
                    break
                alive[1 - side] = born(location, firsts[1 - side], bug=bool(bug))
            alive[side] = born(location, firsts[side], bug=bool(bug))
    return verdict


async def _made(location: str) -> None:
    await (await POSTGRES.open(location)).aclose()


def judged(location: str, account: Account, kills: int) -> Verdict:
    """The verdict so far."""
    holdings, wrong = asyncio.run(looked_through(POSTGRES, location))
    verdict = account.verdict(holdings)
    facts = {"kills": kills, **verdict.facts}
    return replace(verdict, failed=verdict.failed + wrong, facts=facts)


GATES = [
    Gate(
        name="T02",
        promise="kill -9 of clients loses nothing acknowledged and doubles nothing, on postgres",
        full=1_000,
        least=100,
        run=run,
        bugs=("no-fence",),
    )
]
