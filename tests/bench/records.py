"""The bars of record: ten new messages, and a history of five hundred with ten new."""

from __future__ import annotations

import json
import random
from collections import deque
from collections.abc import AsyncIterator

from memkit import Memory
from memkit.models import Message
from tests.bench.bars import Bar, Measure
from tests.bench.measuring import Call, Timings, interleaved
from tests.bench.places import Place, RawRecords
from tests.bench.population import Words, scope_of

CALLERS = 16
NEW, OLD = 10, 500

Said = dict[str, str]


class Speech:
    """Conversations of which no two messages are alike; ten are about 1.8 kB as stored."""

    def __init__(self) -> None:
        self._words = Words()
        self._rng = random.Random(11)
        self._pool = [self._words.text(self._rng) for _ in range(2_000)]
        self._number = 0

    def turn(self) -> list[Said]:
        """Ten new messages."""
        return [self._message(role) for role in ("user", "assistant") * (NEW // 2)]

    def _message(self, role: str) -> Said:
        self._number += 1
        return {"role": role, "content": f"{self._number} {self._rng.choice(self._pool)}"}


def body(turn: list[Said]) -> str:
    """What the driver alone keeps of a turn: as many bytes as memkit does, at hand already."""
    return json.dumps(
        [
            {"role": each["role"], "content": [{"type": "text", "text": each["content"]}]}
            for each in turn
        ]
    )


def turning(
    memory: Memory, raw: RawRecords, ready: list[list[Said]], callers: int
) -> dict[str, Call]:
    """Whole calls with mappings, as a framework has them, into one session for each caller."""
    bodies = [body(each) for each in ready]

    async def mine(number: int) -> None:
        caller = number % callers
        done = await memory.record(scope_of(caller), ready[number], session_id=f"s{caller}")
        assert done.new == NEW

    async def theirs(number: int) -> None:
        await raw.insert(number, bodies[number])

    return {"memkit": mine, "raw": theirs}


async def new_messages(  # how a store is opened, and who calls
    memory: Memory, raw: RawRecords, *, callers: int, rounds: int, calls: int
) -> Timings:
    """Ten messages, then ten others."""
    speech = Speech()
    ready = [speech.turn() for _ in range((rounds + 2) * calls)]
    subjects = turning(memory, raw, ready, callers)
    return await interleaved(subjects, rounds=rounds, calls=calls, callers=callers)


async def history(
    memory: Memory, raw: RawRecords, *, callers: int, rounds: int, calls: int
) -> Timings:
    """Every call hands in the last 500 messages anew, and ten that are new behind them."""
    speech = Speech()
    spoken = [deque[Message](maxlen=OLD) for _ in range(callers)]
    for caller, said in enumerate(spoken):
        said.extend(Message.model_validate(each) for _ in range(50) for each in speech.turn())
        await memory.record(scope_of(caller), [*said], session_id=f"h{caller}", history=True)
    ready = [
        [Message.model_validate(each) for each in speech.turn()]
        for _ in range((rounds + 2) * calls)
    ]
    bodies = [body(speech.turn()) for _ in range(100)]

    async def mine(number: int) -> None:
        caller = number % callers
        said, new = spoken[caller], ready[number]
        done = await memory.record(
            scope_of(caller), [*said, *new], session_id=f"h{caller}", history=True
        )
        assert done.new == NEW
        said.extend(new)

    async def theirs(number: int) -> None:
        await raw.insert(number, bodies[number % len(bodies)])

    subjects = {"memkit": mine, "raw": theirs}
    return await interleaved(subjects, rounds=rounds, calls=calls, callers=callers)


async def on_sqlite(place: Place, rounds: int) -> AsyncIterator[Measure]:
    """One caller without fsync."""
    async with (
        place.memory("normal", synchronous="normal") as memory,
        place.raw_records(synchronous="normal") as raw,
    ):
        timings = await new_messages(memory, raw, callers=1, rounds=rounds, calls=300)
        what = "record, NORMAL, 1 caller, share of one aiosqlite INSERT"
        yield share(place, what, timings, Bar(sort="least", bound=0.5))


async def full_on_sqlite(
    place: Place, rounds: int, *, bar: Bar | None, regime: str
) -> AsyncIterator[Measure]:
    """Sixteen callers with fsync, which may share commits."""
    async with place.memory(f"full-{regime[:2]}") as memory, place.raw_records() as raw:
        timings = await new_messages(memory, raw, callers=CALLERS, rounds=rounds, calls=320)
        yield share(place, f"record, FULL, 16 callers, {regime}, share of raw FULL", timings, bar)


async def on_postgres(
    place: Place, rounds: int, *, bar: Bar, regime: str
) -> AsyncIterator[Measure]:
    """Sixteen callers, then the same with a history."""
    async with place.memory("records") as memory, place.raw_records() as raw:
        timings = await new_messages(memory, raw, callers=CALLERS, rounds=rounds, calls=640)
        yield share(place, f"record, 16 callers, {regime}, share of raw INSERT", timings, bar)
        timings = await history(memory, raw, callers=CALLERS, rounds=rounds, calls=320)
        yield share(
            place,
            f"record, history of 510, 16 callers, {regime}, share of raw INSERT",
            timings,
            Bar(sort="least", bound=0.2, goal=0.3),
        )


def share(place: Place, what: str, timings: Timings, bar: Bar | None) -> Measure:
    """How much of the driver's speed is left; several times it where commits are shared."""
    return Measure(
        store=place.name,
        what=what,
        value=timings.times("raw", "memkit"),
        unit="",
        bar=bar,
        memkit=timings.seconds("memkit"),
        beside=timings.seconds("raw"),
    )
