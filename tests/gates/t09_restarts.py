"""T09: a server that is killed again and again loses nothing acknowledged, and work resumes."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from tests.gates.load import Load, open_retrying
from tests.gates.postgres import open_at, schema_on
from tests.gates.progress import watched
from tests.gates.verdict import Gate, Verdict
from tests.postgres.server import own_server, restart, url_of

RECORDERS = 4
CONSOLIDATORS = 2
STORMS = 5
FEW = 5
"""Restarts of a storm that is to show a bug."""
RESUMED = 5.0
"""Seconds within which something is acknowledged again once the server answers."""


@dataclass
class Storm:
    """The load that goes on, and whether something was acknowledged of late."""

    load: Load
    acknowledged: asyncio.Event = field(default_factory=asyncio.Event)

    async def recorder(self, number: int) -> None:
        """Record without end."""
        while True:
            if await self.load.record(f"session-{number}"):
                self.acknowledged.set()

    async def consolidator(self) -> None:
        """Consolidate without end."""
        while True:
            if not await self.load.consolidate():
                await asyncio.sleep(0.05)

    async def resumed(self, since: float) -> float:
        """How long it took until something was acknowledged again."""
        self.acknowledged.clear()
        with suppress(TimeoutError):
            await asyncio.wait_for(self.acknowledged.wait(), 6 * RESUMED)
        return time.monotonic() - since


async def tried(location: str, server: Any, n: int, seed: int, bug: str | None) -> Verdict:
    """`n` restarts under load."""
    chance = random.Random(seed)
    store = await (open_retrying if bug else open_at)(location, max_size=8)
    storm = Storm(Load(store))
    tasks = [asyncio.create_task(storm.recorder(number)) for number in range(RECORDERS)]
    tasks += [asyncio.create_task(storm.consolidator()) for _ in range(CONSOLIDATORS)]
    pauses: list[float] = []
    for _ in watched(range(n)):
        await asyncio.sleep(chance.uniform(0.3, 1))
        await asyncio.to_thread(restart, server)
        pauses.append(await storm.resumed(time.monotonic()))
    failed = await ended(tasks)
    await storm.load.drain()
    verdict = storm.load.account.verdict(await storm.load.holdings())
    await store.aclose()
    slow = sum(pause > RESUMED for pause in pauses)
    facts = {
        **verdict.facts,
        "slowest": round(max(pauses), 2),
        "errors": repr(dict(storm.load.errors)),
        "first": next(iter(failed), ""),
    }
    return replace(verdict, failed=verdict.failed + slow + len(failed), facts=facts)


async def ended(tasks: Sequence[asyncio.Task[None]]) -> list[str]:
    """End them all; what any of them died of before."""
    for task in tasks:
        task.cancel()
    died = await asyncio.gather(*tasks, return_exceptions=True)
    return [repr(each) for each in died if not isinstance(each, asyncio.CancelledError)]


def run(n: int, seed: int, bug: str | None) -> Verdict:
    """On a server that nobody else uses."""
    with own_server() as server:
        verdict = Verdict(failed=1)
        # The bug shows itself only where a commit was under way; so it gets several short storms.
        restarts = min(n, FEW) if bug else n
        for storm in range(STORMS if bug else 1):
            with schema_on(url_of(server)) as location:
                verdict = asyncio.run(tried(location, server, restarts, seed + storm, bug))
            if not verdict.passed:
                break
        return verdict


GATES = [
    Gate(
        name="T09",
        promise="restarts of the server lose nothing acknowledged; work resumes within 5 s",
        full=200,
        least=5,
        run=run,
        bugs=("retry-unkeyed",),
    )
]
