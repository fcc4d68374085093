"""T08: statements of several sessions interleaved come out as if one call followed the other."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from itertools import combinations_with_replacement, permutations
from typing import Any, LiteralString, TypeVar

from memkit.errors import MemkitError
from memkit.inmemory import InMemoryStore
from memkit.models import (
    Changes,
    Claim,
    Completed,
    Episode,
    Items,
    MemoryItem,
    Patch,
    Session,
    WholeScope,
)
from memkit.testing.around import LedgerStore
from memkit.testing.reading import all_episodes, all_items, all_jobs, all_tombstones
from memkit.testing.values import HERE, NOW, a_reinforcement, a_source, an_episode, an_item
from memkit_backends.postgres.dialect import POSTGRES as POSTGRES_DIALECT
from memkit_backends.postgres.driver import PostgresDriver
from memkit_backends.postgres.options import Options
from memkit_backends.postgres.pooling import opened_pool
from memkit_backends.relational.driver import Parameters, Row, Transaction, Value, Work
from memkit_backends.relational.store import RelationalStore
from tests.gates.postgres import POSTGRES
from tests.gates.progress import watched
from tests.gates.verdict import Gate, Verdict
from tests.postgres.server import empty, parted

Answer = TypeVar("Answer")

HOUR = timedelta(hours=1)
BLOCKED = 0.03
"""Seconds after which a session that does not come to its next statement waits for another."""


@dataclass
class Turnstile:
    """Lets a session make one statement at a time."""

    waiting: asyncio.Event = field(default_factory=asyncio.Event)
    go: asyncio.Event = field(default_factory=asyncio.Event)

    async def wait(self) -> None:
        """Say that the next statement is due, and wait for the turn."""
        self.waiting.set()
        await self.go.wait()
        self.go.clear()


class Stepped:
    """A transaction whose statements wait for their turn."""

    def __init__(self, inner: Transaction, turnstile: Turnstile) -> None:
        self._inner = inner
        self._turnstile = turnstile

    async def execute(self, sql: LiteralString, **parameters: Value) -> int:
        await self._turnstile.wait()
        return await self._inner.execute(sql, **parameters)

    async def execute_many(self, sql: LiteralString, rows: Sequence[Parameters]) -> None:
        await self._turnstile.wait()
        await self._inner.execute_many(sql, rows)

    async def fetch_all(self, sql: LiteralString, **parameters: Value) -> list[Row]:
        await self._turnstile.wait()
        return await self._inner.fetch_all(sql, **parameters)

    async def fetch_one(self, sql: LiteralString, **parameters: Value) -> Row | None:
        await self._turnstile.wait()
        return await self._inner.fetch_one(sql, **parameters)


class SteppedDriver:
    """A driver whose transactions go step by step."""

    def __init__(self, inner: PostgresDriver, turnstile: Turnstile) -> None:
        self._inner = inner
        self._turnstile = turnstile

    async def read(self, work: Work[Answer]) -> Answer:
        return await self._inner.read(partial(self._stepped, work))

    async def read_each(self, work: Work[Answer]) -> Answer:
        return await self._inner.read_each(partial(self._stepped, work))

    async def write(self, work: Work[Answer], *, repeatable: bool = False) -> Answer:
        return await self._inner.write(partial(self._stepped, work), repeatable=repeatable)

    async def write_once(self, work: Work[Answer]) -> Answer:
        return await self._inner.write_once(partial(self._stepped, work))

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def _stepped(self, work: Work[Answer], tx: Transaction) -> Any:
        return await work(Stepped(tx, self._turnstile))


@dataclass(frozen=True)
class Scene:
    """What there is before the calls, the same in every try."""

    spoken: Episode
    tea: MemoryItem
    coffee: MemoryItem
    stale: MemoryItem
    more: Episode

    @classmethod
    def new(cls) -> Scene:
        """An episode, consolidated by nobody, an item from it, and one that was told."""
        spoken = an_episode("tea", "milk", keys=["k1", "k2"])
        tea = an_item("Likes tea", sources=[a_source(spoken)], importance=0.5)
        more = an_episode("sugar", keys=["k3"])
        coffee = an_item("Likes coffee", importance=0.5)
        stale = an_item("Is away", ttl=HOUR / 2)
        return cls(spoken, tea, coffee, stale, more)

    async def set(self, store: LedgerStore) -> Claim:
        """Make it so, and claim what is pending."""
        await store.append([self.spoken])
        await store.apply(HERE, Changes(add=(self.tea, self.coffee, self.stale)))
        claim = await store.claim(HERE, now=NOW + HOUR, budget=100, lease=HOUR)
        assert claim is not None
        return claim


Call = Callable[[LedgerStore, Scene, Claim], Awaitable[object]]


async def settle(store: LedgerStore, scene: Scene, claim: Claim) -> object:
    """Settle what was claimed, with a fact of it and one that is there already."""
    milk = an_item("Likes milk", sources=[a_source(scene.spoken, 1)], item_id="milk")
    again = an_item("Likes coffee", sources=[a_source(scene.spoken)], item_id="coffee again")
    outcome = Completed(changes=Changes(add=(milk, again)), checksum="c")
    return await store.settle(claim, outcome, now=NOW + HOUR)


CALLS: Mapping[str, Call] = {
    "settle": settle,
    "renew": lambda store, _, claim: store.renew(claim, lease=HOUR),
    "claim": lambda store, *_: store.claim(HERE, now=NOW + HOUR, budget=100, lease=HOUR),
    "record": lambda store, scene, _: store.append([scene.more]),
    "history": lambda store, *_: store.append(
        [an_episode("tea", "milk", "sugar", keys=["k1", "k2", "k3"], episode_id="all of it")]
    ),
    "forget session": lambda store, *_: store.forget(
        Session(scope=HERE, session_id="s-1"), at=NOW + HOUR
    ),
    "forget item": lambda store, scene, _: store.forget(
        Items(scope=HERE, ids=(scene.coffee.id,)), at=NOW + HOUR
    ),
    "forget all": lambda store, *_: store.forget(WholeScope(scope=HERE), at=NOW + HOUR),
    "reinforce": lambda store, scene, _: store.apply(
        HERE,
        Changes(
            reinforce=(a_reinforcement(scene.coffee, importance=0.9, at=NOW + timedelta(days=1)),)
        ),
    ),
    "patch": lambda store, scene, _: store.apply(
        HERE, Changes(update=(Patch(id=scene.coffee.id, metadata={"by": "hand"}),))
    ),
    "remember": lambda store, *_: store.apply(
        HERE, Changes(add=(an_item("Likes coffee", item_id="told", at=NOW + HOUR),))
    ),
    "purge": lambda store, *_: store.purge(now=NOW + 2 * HOUR, force=True),
    "revive": lambda store, scene, _: store.apply(
        HERE, Changes(reinforce=(a_reinforcement(scene.stale, importance=0.9, at=NOW + HOUR),))
    ),
}
"""Everything that writes. Each pair, and each of some triples, is tried."""

CASTS: tuple[tuple[str, ...], ...] = (
    *combinations_with_replacement(CALLS, 2),
    ("settle", "forget session", "record"),
    ("settle", "claim", "forget item"),
    ("reinforce", "patch", "settle"),
    ("record", "history", "forget session"),
    ("purge", "reinforce", "remember"),
)


async def state(store: LedgerStore) -> str:
    """All there is, but for what a store makes up itself."""
    items, episodes = await all_items(store), await all_episodes(store)
    jobs, stones = await all_jobs(store), await all_tombstones(store)
    stats = await store.stats()
    tail = await store.tail(HERE, "s-1", limit=10)
    return repr(
        (
            sorted(repr(each.model_dump(exclude={"id", "job_id"})) for each in items),
            sorted(
                (each.position, message.key, message.text)
                for each in episodes
                for message in each.messages
            ),
            sorted(Counter((job.status, job.error) for job in jobs).items(), key=repr),
            sorted(stone.content_hash for stone in stones),
            (stats.pending, stats.dead, stats.messages),
            (tail.head, tail.digests),
        )
    )


async def outcome(call: Callable[[], Awaitable[object]]) -> str:
    """How a call ended, as far as it can be compared."""
    try:
        answer = await call()
    except MemkitError as exc:
        return type(exc).__name__
    return "nothing" if answer is None else "done"


async def serial(scene: Scene, cast: Sequence[str]) -> set[str]:
    """What is left after each order of the calls, in the reference."""
    left = set()
    for order in set(permutations(cast)):
        store = InMemoryStore()
        claim = await scene.set(store)
        for name in order:
            await outcome(partial(CALLS[name], store, scene, claim))
        left.add(await state(store))
    return left


async def interleaved(
    stores: Sequence[tuple[RelationalStore, Turnstile]],
    scene: Scene,
    claim: Claim,
    cast: Sequence[str],
    chance: random.Random,
) -> None:
    """Make the calls at once, one statement after the other in a random order."""
    tasks = {}
    for name, (store, turnstile) in zip(cast, stores, strict=False):
        turnstile.waiting.clear()
        turnstile.go.clear()
        task = asyncio.ensure_future(outcome(partial(CALLS[name], store, scene, claim)))
        tasks[task] = turnstile
    while left := [task for task in tasks if not task.done()]:
        ready = [task for task in left if tasks[task].waiting.is_set()]
        if not ready:
            await asyncio.sleep(0)
            continue
        task = chance.choice(ready)
        turnstile = tasks[task]
        turnstile.waiting.clear()
        turnstile.go.set()
        # Its statement is over when the next is due, or the call; or it waits for another.
        arrival = asyncio.ensure_future(turnstile.waiting.wait())
        await asyncio.wait({task, arrival}, timeout=BLOCKED, return_when=asyncio.FIRST_COMPLETED)
        arrival.cancel()
    for task in tasks:
        task.result()


async def session(url: str, schema: str) -> PostgresDriver:
    """One connection."""
    options = Options(location=url, schema=schema, max_size=1)
    return PostgresDriver(await opened_pool(options), options)


def stepped(driver: PostgresDriver, *, bug: bool) -> tuple[RelationalStore, Turnstile]:
    """A store on it that goes step by step; the bug is that no row is ever locked."""
    turnstile = Turnstile()
    dialect = replace(POSTGRES_DIALECT, lock_row="") if bug else POSTGRES_DIALECT
    return RelationalStore(SteppedDriver(driver, turnstile), dialect), turnstile


async def tried(location: str, n: int, seed: int, bug: str | None) -> Verdict:
    """`n` interleavings, of every cast in turn."""
    chance, wrong = random.Random(seed), list[str]()
    url, settings = parted(location)
    schema = settings["schema"]
    await (await POSTGRES.open(location)).aclose()
    drivers = [await session(url, schema) for _ in range(3)]
    casts = chance.sample(CASTS, len(CASTS))
    for number in watched(range(n)):
        cast = casts[number % len(casts)]
        await empty(url, schema)
        scene, plain = Scene.new(), await POSTGRES.open(location)
        claim = await scene.set(plain)
        # New nouns each time: they remember numbers of rows that are gone now.
        stores = [stepped(driver, bug=bool(bug)) for driver in drivers]
        await interleaved(stores, scene, claim, cast, chance)
        if await state(plain) not in await serial(scene, cast):
            wrong.append(" | ".join(cast))
            if bug:
                break
        await plain.aclose()
    for driver in drivers:
        await driver.aclose()
    return Verdict(
        failed=len(wrong),
        facts={"casts": len(CASTS), "first": next(iter(wrong), "")},
    )


def run(n: int, seed: int, bug: str | None) -> Verdict:
    """See `tried`."""
    with POSTGRES.fresh() as location:
        return asyncio.run(tried(location, n, seed, bug))


GATES = [
    Gate(
        name="T08",
        promise="interleaved statements of several sessions come out as one after the other",
        full=2_000,
        least=80,
        run=run,
        bugs=("no-row-lock",),
    )
]
