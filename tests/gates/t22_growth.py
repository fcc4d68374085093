"""T22: decay is read, not written: ten runs over 50,000 facts leave the store as it was."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from memkit.app import open_memory
from memkit.config import Config
from memkit.contracts import Store
from memkit.decay import Policy
from memkit.memory import Memory
from memkit.models import Changes, MemoryItem, Patch, Purged, Scope
from memkit.testing.around import LedgerStoreAround
from memkit.testing.clock import ManualClock
from memkit.testing.reading import all_items
from memkit.testing.values import DAY, NOW, an_item
from tests.gates.backends import SQLITE, Backend, GateStore
from tests.gates.postgres import POSTGRES
from tests.gates.verdict import Gate, Verdict

RUNS = 10
BATCH = 1_000
FEW = 2_000
MOST_GROWTH = 0.05
SCOPES = tuple(Scope(f"user-{number}") for number in range(20))


class StoresImportance(LedgerStoreAround):
    """The bug: every pass of decay multiplies what is stored."""

    async def purge(
        self, *, now: datetime, limit: int = 1000, dry_run: bool = False, force: bool = False
    ) -> Purged:
        """See `Store.purge`; before that, UPDATE all."""
        for scope in SCOPES:
            items = await all_items(self.inner, scope, limit=BATCH)
            patches = (Patch(id=each.id, importance=0.95 * each.importance) for each in items)
            await self.inner.apply(scope, Changes(update=tuple(patches)))
        return await self.inner.purge(now=now, limit=limit, dry_run=dry_run, force=force)


Wrap = Callable[[GateStore], GateStore | LedgerStoreAround]
BUGS: dict[str, Wrap] = {"update-all": StoresImportance}


def as_it_is(store: GateStore) -> GateStore:
    """No bug."""
    return store


SIZE = {
    "sqlite": "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size",
    "postgres": """
        SELECT CAST(sum(pg_total_relation_size(oid)) AS bigint) FROM pg_class
         WHERE relkind = 'r' AND relnamespace = to_regnamespace(current_schema()::text)
    """,
}
"""How to ask what the tables and their indexes take up."""


def bytes_of(backend: Backend, location: str) -> int:
    """What the store takes up."""
    [[size]] = backend.rows(location, SIZE[backend.name])
    return size


@dataclass(frozen=True)
class Sizes:
    """Bytes before, and the most that there were while decay ran."""

    before: int
    most: int

    @property
    def growth(self) -> float:
        """As a share of what there was."""
        return self.most / self.before - 1


def facts(n: int, chance: random.Random) -> list[MemoryItem]:
    """Facts of every importance: a few fade on each of the days that follow."""
    return [
        an_item(
            f"fact {number} about {chance.choice(('tea', 'dogs', 'Oslo', 'Python'))}, "
            f"which is no {chance.randrange(10**9)}",
            scope=chance.choice(SCOPES),
            importance=chance.uniform(0.051, 1.0),
            at=NOW - chance.uniform(0, 0.3) * DAY,
        )
        for number in range(n)
    ]


async def fill(store: Store, items: list[MemoryItem]) -> None:
    """Keep all of them."""
    for scope in SCOPES:
        own = [each for each in items if each.scope == scope]
        for start in range(0, len(own), BATCH):
            await store.apply(scope, Changes(add=tuple(own[start : start + BATCH])))


async def settled(memory: Memory, items: list[MemoryItem]) -> dict[str, MemoryItem]:
    """The items by id, the store's own upkeep being done."""
    await fill(memory.store, items)
    await memory.erase()
    return {each.id: each for each in await all_items(memory.store, limit=BATCH)}


async def tried(backend: Backend, n: int, seed: int, bug: str | None) -> Verdict:
    """Fill a store, let ten days pass one by one, and look at what became of it."""
    wrap = BUGS[bug] if bug else as_it_is
    clock, given = ManualClock(NOW), facts(min(n, FEW) if bug else n, random.Random(seed))
    with backend.fresh() as location:
        store = await backend.open(location)
        async with open_memory(Config(), store=store, clock=clock) as whole:
            before = await settled(whole, given)
        async with open_memory(Config(), store=wrap(store), clock=clock) as memory:
            size = bytes_of(backend, location)
            most, wrong = size, 0
            # With the bug the first pass shows it.
            for _ in range(1 if bug else RUNS):
                now = clock.advance(days=1)
                gone = set((await memory.decay()).item_ids)
                most = max(most, bytes_of(backend, location))
                wrong += len(gone ^ {each for each in before if before[each].expires_at <= now})
                before = {key: each for key, each in before.items() if key not in gone}
            after = {each.id: each for each in await all_items(store, limit=BATCH)}
            shown = await current(memory)
        await store.aclose()
    expected = {each.id: importance(each, clock()) for each in before.values()}
    rewritten = sum(after[key] != each for key, each in before.items() if key in after)
    off = sum(abs(shown[key] - expected.get(key, 0.0)) > 1e-6 for key in shown)
    sizes = Sizes(size, most)
    return Verdict(
        lost=len(before.keys() - after.keys()),
        failed=wrong + rewritten + off + (sizes.growth > MOST_GROWTH) + (not shown),
        facts={
            "facts": len(given),
            "gone": len(given) - len(after),
            "growth": round(sizes.growth, 4),
            "rewritten": rewritten,
            "bytes": size,
        },
    )


def importance(item: MemoryItem, now: datetime) -> float:
    """What an item's importance has to be, by the formula alone."""
    days = (now - item.reinforced_at) / DAY
    return item.importance * Policy.from_name(item.policy).factor ** days


async def current(memory: Memory) -> dict[str, float]:
    """What recall shows of every scope's strongest."""
    shown = {}
    for scope in SCOPES:
        found = await memory.inject(scope, limit=100, token_budget=100_000)
        shown |= {each.id: each.importance for each in found.items}
    return shown


def run(backend: Backend, n: int, seed: int, bug: str | None) -> Verdict:
    """See `tried`."""
    return asyncio.run(tried(backend, n, seed, bug))


def gate(backend: Backend) -> Gate:
    """The gate on one database."""
    return Gate(
        name=f"T22{backend.suffix}",
        promise=f"ten runs of decay write nothing but deletions, on {backend.name}",
        full=50_000,
        least=FEW,
        run=partial(run, backend),
        bugs=tuple(BUGS),
    )


GATES = [gate(SQLITE), gate(POSTGRES)]
