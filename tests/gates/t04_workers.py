"""T04: sixteen workers on one queue, of which some crash and some overrun: exactly once."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from memkit.errors import LeaseLost
from memkit.models import Changes, Claim, Completed, MemoryItem, Scope, Source, new_id, utcnow
from memkit.testing.reading import all_items, all_jobs
from memkit.testing.values import an_episode, an_item
from memkit_backends.postgres.store import PostgresStore
from tests.gates.postgres import POSTGRES, open_at
from tests.gates.progress import Progress
from tests.gates.telling import FACTS
from tests.gates.unfenced import open_unfenced
from tests.gates.verdict import Gate, Verdict

WORKERS = 16
SCOPES = 100
HOT = Scope("hot")
HOT_SHARE = 0.1
"""The share of all episodes that lies in one scope."""

LEASE = timedelta(seconds=1)
CRASHES = 0.15
OVERRUNS = 0.15
"""The shares of claims that are never settled, and settled when another has taken over."""

BATCH = 4
"""Episodes of one claim; an episode that was tried before comes alone."""


@dataclass
class Work:
    """What all workers did together."""

    location: str
    chance: random.Random
    bug: bool
    progress: Progress
    crashed: int = 0
    refused: int = 0
    settled: int = 0
    done: int = 0
    """Episodes."""
    late: list[asyncio.Task[None]] = field(default_factory=list)

    async def worker(self) -> None:
        """Claim and settle until nothing is pending."""
        opened = open_unfenced if self.bug else open_at
        store = await opened(self.location, max_size=1)
        while True:
            claim = await store.claim(now=utcnow(), budget=BATCH, lease=LEASE, context=0)
            if claim is not None:
                await self._carry_out(store, claim)
            elif (await store.stats()).pending == 0:
                break
            else:
                # What is left is in the hands of those who crashed or take too long.
                await asyncio.sleep(LEASE.total_seconds() / 4)
        await asyncio.gather(*self.late)
        await store.aclose()

    async def _carry_out(self, store: PostgresStore, claim: Claim) -> None:
        fate = self.chance.random()
        if fate < CRASHES:
            self.crashed += 1
        elif fate < CRASHES + OVERRUNS:
            self.late.append(asyncio.create_task(self._settle_late(store, claim)))
        else:
            await self._settle(store, claim)

    async def _settle_late(self, store: PostgresStore, claim: Claim) -> None:
        await asyncio.sleep(LEASE.total_seconds() * self.chance.uniform(0.9, 2.5))
        await self._settle(store, claim)

    async def _settle(self, store: PostgresStore, claim: Claim) -> None:
        try:
            await store.settle(claim, outcome(claim, utcnow()), now=utcnow())
        except LeaseLost:
            self.refused += 1
        else:
            self.settled += 1
            self.done += len(claim.episodes)
            self.progress.at(self.done)


def outcome(claim: Claim, now: datetime) -> Completed:
    """So many items of each episode, in words that nobody else finds."""
    items = [a_fact(claim.scope, source, now) for source in sources(claim) for _ in range(FACTS)]
    return Completed(changes=Changes(add=tuple(items)), checksum=new_id())


def sources(claim: Claim) -> list[Source]:
    """One for each episode."""
    return [
        Source(
            episode_id=each.id,
            session_id=each.session_id,
            position=each.position,
            recorded_at=each.recorded_at,
        )
        for each in claim.episodes
    ]


def a_fact(scope: Scope, source: Source, now: datetime) -> MemoryItem:
    """An item from that source."""
    return an_item(f"fact {new_id()}", scope=scope, sources=[source], at=now)


async def fill(store: PostgresStore, n: int) -> list[str]:
    """`n` pending episodes over all scopes and the hot one; their ids."""
    now = utcnow() - timedelta(hours=1)
    hot = round(n * HOT_SHARE)
    scopes = [HOT] * hot + [Scope(f"user-{number % SCOPES}") for number in range(n - hot)]
    made = [
        an_episode("say", scope=scope, session_id=f"s-{number % 7}", at=now, tokens=1)
        for number, scope in enumerate(scopes)
    ]
    for first in range(0, n, 500):
        await store.append(made[first : first + 500])
    return [each.id for each in made]


async def tried(n: int, seed: int, bug: str | None) -> Verdict:
    """`n` episodes worked off by all workers."""
    with POSTGRES.fresh() as location:
        store = await open_at(location)
        ids = await fill(store, n)
        work = Work(location, random.Random(seed), bool(bug), Progress(n))
        await asyncio.gather(*(work.worker() for _ in range(WORKERS)))
        verdict = await judged(store, ids, work)
        await store.aclose()
        return verdict


async def judged(store: PostgresStore, ids: Sequence[str], work: Work) -> Verdict:
    """Every episode against the items that rest on it."""
    found = Counter(source.episode_id for item in await all_items(store) for source in item.sources)
    jobs = Counter(job.status for job in await all_jobs(store))
    stats = await store.stats()
    return Verdict(
        lost=sum(found[each] < FACTS for each in ids),
        doubled=sum(found[each] > FACTS for each in ids),
        failed=stats.pending
        + stats.dead
        + jobs["running"]
        + len(found.keys() - set(ids))
        # Without a crash and a refusal nothing was tried.
        + (not work.crashed)
        + (not work.refused and not work.bug),
        facts={"settled": work.settled, "crashed": work.crashed, "refused": work.refused},
    )


def run(n: int, seed: int, bug: str | None) -> Verdict:
    """See `tried`."""
    return asyncio.run(tried(n, seed, bug))


GATES = [
    Gate(
        name="T04",
        promise="16 workers with crashes and overruns consolidate exactly once, on postgres",
        full=5_000,
        least=500,
        run=run,
        bugs=("no-fence",),
    )
]
