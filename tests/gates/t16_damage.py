"""T16: a damaged file is read as it was or refused as damaged; it is never mended nor emptied."""

from __future__ import annotations

import asyncio
import random
import sys
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import timedelta

from memkit.errors import StoreCorrupt, StoreError
from memkit.models import Changes, Completed, Items, WholeScope
from memkit.testing.reading import everything
from memkit.testing.values import HERE, NOW, THERE, a_query, a_source, an_episode, an_item
from memkit_backends.sqlite import open_store
from tests.gates.backends import SQLITE, GateStore, file_of
from tests.gates.progress import watched
from tests.gates.verdict import Gate, Verdict

EPISODES = 60
PAGE = 4096

Damage = Callable[[bytearray, int, random.Random], object]
Open = Callable[[str], Awaitable[GateStore]]


def flip_bit(whole: bytearray, at: int, chance: random.Random) -> None:
    """One bit is another."""
    whole[at] ^= 1 << chance.randrange(8)


def flip(whole: bytearray, at: int, chance: random.Random) -> None:
    """Some bytes are others."""
    end = min(len(whole), at + chance.randint(1, 64))
    whole[at:end] = bytes(byte ^ 0xFF for byte in whole[at:end])


def zero(whole: bytearray, at: int, chance: random.Random) -> None:
    """A sector, or a page, is blank."""
    size = chance.choice((512, PAGE))
    start = at - at % size
    whole[start : start + size] = bytes(len(whole[start : start + size]))


def swap(whole: bytearray, at: int, chance: random.Random) -> None:
    """A page is written where another belongs."""
    here, there = at - at % PAGE, chance.randrange(0, len(whole), PAGE)
    whole[here : here + PAGE] = whole[there : there + PAGE]


def truncate(whole: bytearray, at: int, chance: random.Random) -> None:
    """The end is missing, to the page or not."""
    del whole[at - chance.choice((0, at % PAGE)) :]


DAMAGES: tuple[Damage, ...] = (flip_bit, flip, zero, swap, truncate)


async def fill(location: str) -> None:
    """A store with some of everything, closed."""
    store = await SQLITE.open(location)
    for number in range(EPISODES):
        episode = an_episode(
            f"Cup {number} of tea {'in the garden ' * 20}",
            keys=[f"k{number}"],
            session_id=f"s{number % 5}",
            scope=(HERE, THERE)[number % 2],
        )
        await store.append([episode])
        item = an_item(f"Likes tea {number}", scope=episode.home, sources=[a_source(episode)])
        await store.apply(episode.home, Changes(add=(item,)))
    claim = await store.claim(HERE, now=NOW, budget=100, lease=timedelta(minutes=1))
    assert claim is not None
    done = Completed(changes=Changes(), checksum="tea")
    await store.settle(claim, done, now=NOW)
    items = (await store.scan("items", scope=THERE)).rows
    await store.forget(Items(scope=THERE, ids=(items[0].id, items[1].id)), at=NOW)
    await store.aclose()


async def read(store: GateStore) -> tuple[object, ...]:
    """All there is, by every way of reading."""
    found = await store.find(a_query("likes tea", HERE, THERE, strongest=100))
    return (
        *await everything(store),
        sorted(each.id for each in found.text),
        [each.id for each in found.strongest],
        [await store.tail(HERE, f"s{number}", limit=100) for number in range(5)],
    )


async def write(store: GateStore) -> None:
    """Some of every write."""
    await store.append([an_episode("more tea", session_id="s1", at=NOW)])
    await store.apply(HERE, Changes(add=(an_item("Likes more tea"),)))
    claim = await store.claim(now=NOW + timedelta(days=1), budget=100, lease=timedelta(minutes=1))
    if claim is not None:
        await store.settle(claim, Completed(changes=Changes(), checksum="more"), now=NOW)
    await store.forget(WholeScope(scope=THERE), at=NOW)


async def outcome(open_store: Open, location: str, was: tuple[object, ...]) -> str:
    """How it ended, from what may happen to what may not."""
    try:
        store = await open_store(location)
    except StoreCorrupt:
        return "refused"
    try:
        now = await read(store)
        if now != was and not any(each.level == "error" for each in await store.check()):
            return "altered" if sizes(now) == sizes(was) else "LOST UNSEEN"
        with suppress(StoreError):  # an index that leads astray may seem a forgetting, say
            await write(store)
    except StoreCorrupt:
        return "refused later"
    finally:
        await store.aclose()
    return "read" if now == was else "found by check"


def sizes(rows: tuple[object, ...]) -> list[int]:
    """How much there is of each."""
    return [len(each) for each in rows if isinstance(each, list)]


async def open_anew(location: str) -> GateStore:
    """The bug: what cannot be opened is thrown away, and an empty store put in its place."""
    try:
        return await SQLITE.open(location)
    except StoreCorrupt:
        file_of(location).unlink()
        return await SQLITE.open(location)


async def tried(n: int, seed: int, *, bug: bool) -> Verdict:
    """`n` damages at random places, each on a fresh copy."""
    chance = random.Random(seed)
    ends: Counter[str] = Counter()
    with SQLITE.fresh() as location:
        path = file_of(location)
        await fill(location)
        whole = path.read_bytes()
        was = await reading(location)
        first = ""
        for _ in watched(range(n)):
            damage, at = chance.choice(DAMAGES), chance.randrange(len(whole))
            damaged = bytearray(whole)
            damage(damaged, at, chance)
            path.write_bytes(damaged)
            end = await ended(open_anew if bug else SQLITE.open, location, was)
            ends[end] += 1
            if not end[0].islower():
                first = first or f"{damage.__name__} at {at}: {end}"
                if bug:
                    break
            for each in path.parent.iterdir():
                each.unlink()
    failed = sum(count for end, count in ends.items() if not end[0].islower())
    return Verdict(
        failed=failed + (ends["read"] + ends["refused"] == 0), facts={**ends, "first": first}
    )


async def reading(location: str) -> tuple[object, ...]:
    """What an undamaged store reads as."""
    store = await open_store(location)
    try:
        return await read(store)
    finally:
        await store.aclose()


async def ended(open_store: Open, location: str, was: tuple[object, ...]) -> str:
    """How one damage ended; what may not happen begins with a capital letter."""
    before = file_of(location).read_bytes()
    try:
        end = await outcome(open_store, location, was)
    except Exception as exc:  # noqa: BLE001  # counting these is the point
        print(repr(exc), repr(exc.__cause__), file=sys.stderr)  # noqa: T201  # to see why
        return f"Untyped: {type(exc).__name__}"
    if end == "refused" and file_of(location).read_bytes() != before:
        return "Touched"
    return end


def run(n: int, seed: int, bug: str | None) -> Verdict:
    """See `tried`."""
    return asyncio.run(tried(n, seed, bug=bool(bug)))


GATES = [
    Gate(
        name="T16",
        promise="a damaged SQLite file is read as it was or refused, never emptied",
        full=500,
        least=50,
        run=run,
        bugs=("re-create",),
    )
]
