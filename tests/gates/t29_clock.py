"""T29: importance depends on elapsed time alone, in every zone and under any clock."""

from __future__ import annotations

import asyncio
import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from memkit.app import open_memory
from memkit.config import Config
from memkit.decay import from_microseconds, microseconds
from memkit.errors import InvalidInput
from memkit.models import Scope
from memkit.testing.clock import ManualClock
from memkit.testing.values import a_message
from tests.gates.backends import SQLITE, Backend
from tests.gates.postgres import POSTGRES
from tests.gates.progress import watched
from tests.gates.verdict import Gate, Verdict
from tests.gates.zone import Sort, Step, lived

BASE = datetime(2027, 6, 1, 12, tzinfo=UTC)
FAR = timedelta(days=400)
DAY = timedelta(days=1)
HOUR = timedelta(hours=1)
LEASE = timedelta(minutes=5)


@dataclass(frozen=True)
class Zone:
    """A zone, and the moments at which its clocks are changed within 400 days of `BASE`."""

    name: str
    rule: str
    """What TZ says: rules instead of a name, so that no database of zones is needed."""
    changes: tuple[datetime, ...]


ZONES = (
    Zone(
        "Europe/Berlin",
        "CET-1CEST,M3.5.0,M10.5.0/3",
        (datetime(2026, 10, 25, 1, tzinfo=UTC), datetime(2027, 3, 28, 1, tzinfo=UTC)),
    ),
    Zone(
        "America/New_York",
        "EST5EDT,M3.2.0,M11.1.0",
        (datetime(2027, 11, 7, 6, tzinfo=UTC), datetime(2028, 3, 12, 7, tzinfo=UTC)),
    ),
    Zone(
        "Australia/Lord_Howe",
        "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0",
        (datetime(2026, 10, 3, 15, 30, tzinfo=UTC), datetime(2027, 4, 3, 15, tzinfo=UTC)),
    ),
)
LEAP_DAY = datetime(2028, 2, 29, 12, tzinfo=UTC)
ODD = (*(change for zone in ZONES for change in zone.changes), LEAP_DAY)
SORTS: tuple[Sort, ...] = ("utc", "zoned")


def moment(chance: random.Random) -> int:
    """Any moment within 400 days, or one close to where a calendar is odd."""
    if chance.random() < 0.5:
        return microseconds(BASE + chance.uniform(-1, 1) * FAR)
    return microseconds(chance.choice(ODD) + chance.uniform(-30, 30) * HOUR)


def life(n: int, chance: random.Random) -> Iterator[Step]:
    """`n` steps, at moments in no order: this clock goes forward and back."""
    for number in watched(range(n)):
        kind = chance.randrange(6)
        if kind < 2 or number < 3:
            days = chance.choice((None, None, chance.uniform(0.1, 90)))
            # A share of the day that no change of clocks divides.
            yield moment(chance), "remember", f"fact {number:04d}", chance.uniform(0.05, 1), days
        elif kind == 2:
            yield moment(chance), "say", f"I was told fact {number:04d}", chance.uniform(0, 48)
        elif kind == 3:
            yield moment(chance), "would_go"
        else:
            yield moment(chance), "recall"


def windows() -> list[tuple[int, int]]:
    """Two days around each change of clocks, from noon to noon."""
    noons = [each.replace(hour=12, minute=0) - DAY for each in ODD]
    return [(microseconds(noon), microseconds(noon + 2 * DAY)) for noon in noons]


def child(zone: Zone, **given: Any) -> dict[str, Any]:
    """What a process says that lives in a zone."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.gates.zone"],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env={**os.environ, "TZ": zone.rule, "MEMKIT_GATE_ZONE": zone.name},
    )
    if done.returncode:
        raise AssertionError(f"{zone.name}: {done.stderr[-2000:]}")
    return json.loads(done.stdout)


def told(steps: Sequence[Step], answers: Sequence[Any]) -> Iterator[str]:
    """Where the answers are not what the formula says, worked out in plain numbers."""
    known: dict[str, tuple[int, float, float | None]] = {}
    for (stamp, action, *arguments), answer in zip(steps, answers, strict=True):
        if action == "remember":
            text, importance, days = arguments
            known[text] = (stamp, importance, days)
            if answer[0] != stamp:
                yield f"{text} was told at another moment"
        if action == "recall":
            shown = {text[-9:]: value for text, value, _ in answer}
            for text, (since, importance, days) in known.items():
                elapsed = (stamp - since) / 86_400e6
                value = importance * 0.95**elapsed
                is_over = value < 0.05 or (days is not None and elapsed >= days)
                if elapsed >= 0 and (text in shown) == is_over and abs(value - 0.05) > 1e-6:
                    yield f"{text} is {'' if is_over else 'not '}there after {elapsed:.3f} days"
                if elapsed >= 0 and text in shown and abs(shown[text] - value) > 1e-6:
                    yield f"{text} has {shown[text]} after {elapsed:.3f} days, not {value:.9f}"


def punctual(runs: Sequence[Any]) -> Iterator[str]:
    """Where a daily job did not run once a day at two, UTC, and within a look at the clock."""
    for start, end in windows():
        daily = [
            from_microseconds(at) for at, stage in runs if stage == "decay" and start <= at < end
        ]
        hours = {each.replace(minute=0, second=0, microsecond=0) for each in daily}
        if len(daily) != 2 or {each.hour for each in hours} != {2} or len(hours) != 2:
            yield f"decay ran at {', '.join(map(str, daily))}"


async def skewed(backend: Backend) -> list[str]:
    """What a worker does whose clock is years off, while another one holds the lease."""
    found: list[str] = []
    scope = Scope("ann")
    with backend.fresh() as location:
        store = await backend.open(location)
        async with open_memory(Config(), store=store, clock=ManualClock(BASE)) as memory:
            await memory.record(scope, [a_message("I live in Oslo", at=BASE)], session_id="s")
        held = await store.claim(scope, now=BASE, budget=1000, lease=LEASE)
        found += [] if held else ["nothing was due"]
        for days in (-400, -1, 1 / 144, 1, 400):
            now = BASE + days * DAY
            async with open_memory(Config(), store=store, clock=ManualClock(now)) as memory:
                found += [f"claimed early, {days:g} days off"] * len(await memory.consolidate())
        backend.expire(location)
        async with open_memory(Config(), store=store, clock=ManualClock(BASE + FAR)) as memory:
            done = await memory.consolidate()
            found += [] if [each.status for each in done] == ["completed"] else ["never claimed"]
        try:
            await store.purge(now=datetime.now(UTC) + 2 * DAY)
            found.append("purged from the future")
        except InvalidInput:
            pass
        await store.aclose()
    return found


def run(backend: Backend, n: int, seed: int, bug: str | None) -> Verdict:
    """The same life of `n` steps in each zone, under each sort of clock, against UTC's."""
    steps = list(life(n, random.Random(seed)))
    zones = ZONES[:1] if bug else ZONES
    lives = [(zone, sort) for zone in zones for sort in (("local-time",) if bug else SORTS)]
    expected, found = reference(backend, steps)
    with ThreadPoolExecutor(max_workers=2) as pool:
        heard = pool.map(partial(one_life, backend, steps), lives)
        for (zone, sort), each in zip(lives, heard, strict=True):
            found += differences(f"{zone.name} by {sort}", each, expected)
    found += asyncio.run(skewed(backend))
    return Verdict(
        failed=len(found),
        facts={
            "lives": len(lives),
            "steps": len(expected["answers"]),
            "runs": len(expected["runs"]),
            "first": next(iter(found), ""),
        },
    )


def reference(backend: Backend, steps: Sequence[Step]) -> tuple[dict[str, Any], list[str]]:
    """What a life in UTC comes to, and what is wrong with it, read here and elsewhere."""
    looks = [step for step in steps if step[1] in {"recall", "would_go"}]
    with backend.fresh() as location:
        expected = as_told(asyncio.run(lived(location, "utc", steps, windows())))
        here = as_told(asyncio.run(lived(location, "utc", looks, ())))
        given = {"location": location, "sort": "zoned", "steps": looks, "windows": ()}
        found = [
            f"afterwards, {each}"
            for zone in ZONES
            for each in differences(zone.name, child(zone, **given), here)
        ]
    found += [*told(steps, expected["answers"]), *punctual(expected["runs"])]
    return expected, found


def as_told(life: dict[str, object]) -> dict[str, Any]:
    """As the children tell it: through JSON."""
    return json.loads(json.dumps(life))


def one_life(
    backend: Backend, steps: Sequence[Step], lived_by: tuple[Zone, Sort]
) -> dict[str, Any]:
    """What one process says, on a store of its own."""
    zone, sort = lived_by
    with backend.fresh() as location:
        return child(zone, location=location, sort=sort, steps=steps, windows=windows())


def differences(name: str, heard: dict[str, Any], expected: dict[str, Any]) -> Iterator[str]:
    """What one process says otherwise than the others."""
    pairs = zip(heard["answers"], expected["answers"], strict=True)
    for number, (answer, wanted) in enumerate(pairs):
        if answer != wanted:
            yield f"{name}, step {number}: {answer!r:.150} in place of {wanted!r:.150}"
    if heard["runs"] != expected["runs"]:
        yield f"{name}: jobs ran at other times"
    if not heard["wall"]:
        yield f"{name}: the wall clock is not UTC"


def gate(backend: Backend) -> Gate:
    """The gate on one database."""
    return Gate(
        name=f"T29{backend.suffix}",
        promise=f"decay goes by elapsed time in every zone; no early claim, on {backend.name}",
        full=400,
        least=40,
        run=partial(run, backend),
        bugs=("local-time",),
    )


GATES = [gate(SQLITE), gate(POSTGRES)]
