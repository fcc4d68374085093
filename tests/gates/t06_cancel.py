"""T06: whatever is cancelled at whatever moment is whole or absent, and nothing is held after."""

from __future__ import annotations

import asyncio
import os
import random
import threading
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial

from memkit.app import open_memory
from memkit.memory import Memory
from memkit.models import Scope
from tests.gates.accounts import Account, Holdings
from tests.gates.backends import SQLITE, Backend, GateStore
from tests.gates.postgres import POSTGRES
from tests.gates.progress import Progress
from tests.gates.telling import LEASE, QUICK, Retelling
from tests.gates.unshielded import open_unshielded
from tests.gates.unshielded_postgres import open_unshielded_postgres
from tests.gates.verdict import Gate, Verdict

ANN = Scope("ann")
AT_ONCE = 4
"""Calls that are made together, so that they share transactions, and are cancelled apart."""

UNSHIELDED = {SQLITE.name: open_unshielded, POSTGRES.name: open_unshielded_postgres}
"""The store of the bug on each database."""

Call = Callable[[], Awaitable[object]]


@dataclass
class Calls:
    """Random calls of a memory, and what came of them."""

    memory: Memory
    chance: random.Random
    account: Account = field(default_factory=Account)
    told: set[str] = field(default_factory=set)
    failed: list[BaseException] = field(default_factory=list)
    cancelled: int = 0
    number: int = 0

    async def make_some(self) -> None:
        """Some calls at once, each of them cancelled at a moment of its own."""
        await asyncio.gather(*(self._cancel(self._any()) for _ in range(AT_ONCE)))

    def _any(self) -> Call:
        self.number += 1
        kinds = (self._record, self._record, self._remember, self._consolidate, self._read)
        return partial(self.chance.choice(kinds), str(self.number))

    async def _cancel(self, call: Call) -> None:
        ticks, seconds = self.chance.randrange(8), self.chance.random() * 0.004
        task = asyncio.ensure_future(_awaited(call))
        for _ in range(ticks):
            await asyncio.sleep(0)
        if self.chance.random() < 0.7:
            await asyncio.sleep(seconds)
        self.cancelled += task.cancel()
        with suppress(asyncio.CancelledError):
            await self._kept(task)
            return
        if self.chance.random() < 0.5:
            await self._kept(_awaited(call))  # the outcome is unknown, so it is made again

    async def _kept(self, call: Awaitable[object]) -> None:
        try:
            await asyncio.wait_for(call, 30)
        except Exception as exc:  # noqa: BLE001  # no call may fail for another's cancellation
            self.failed.append(exc)

    async def _record(self, name: str) -> None:
        keys = f"{name}-a", f"{name}-b"
        said = [{"role": "user", "content": f"say {key}", "key": key} for key in keys]
        for key in keys:
            self.account.note("invoke", "add", key)
        await self.memory.record(ANN, said, session_id=f"session-{int(name) % 5}")
        for key in keys:
            self.account.note("ok", "add", key)

    async def _remember(self, name: str) -> None:
        await self.memory.remember(ANN, f"Was told {name}", key=name)
        self.told.add(name)

    async def _consolidate(self, _: str) -> None:
        await self.memory.consolidate()

    async def _read(self, name: str) -> None:
        await self.memory.inject(ANN, query=f"fact say {name}")


async def _awaited(call: Call) -> object:
    return await call()


def resources() -> tuple[int, int]:
    """How many threads and open files this process has."""
    return threading.active_count(), len(os.listdir("/proc/self/fd"))  # noqa: PTH208  # names alone


async def tried(backend: Backend, n: int, seed: int, bug: str | None) -> Verdict:
    """At least `n` cancellations on one store."""
    open_store = UNSHIELDED[backend.name] if bug else backend.open
    with backend.fresh() as location:
        await (await backend.open(location)).aclose()
        store: GateStore = await open_store(location)
        async with open_memory(
            QUICK, store=store, extractor=Retelling(), scheduler="manual"
        ) as memory:
            calls = Calls(memory, random.Random(seed))
            while calls.cancelled < n // 10:
                await calls.make_some()
            before = resources()  # everything has been in use by now
            progress = Progress(n)
            while calls.cancelled < n and not (bug and calls.failed):
                progress.at(calls.cancelled)
                await calls.make_some()
            if calls.failed:
                return Verdict(failed=len(calls.failed), facts=facts(calls, calls.failed[0]))
            while (await memory.stats()).pending:
                await memory.consolidate()
                await asyncio.sleep(LEASE.total_seconds())
            verdict = await judged(backend, location, calls, before)
        await store.aclose()
        return verdict


def facts(calls: Calls, first: object) -> dict[str, int | float | str]:
    """Figures for the report."""
    return {
        "cancelled": calls.cancelled,
        "acknowledged": calls.account.acknowledged + len(calls.told),
        "first": repr(first) if first else "",
    }


async def judged(backend: Backend, location: str, calls: Calls, before: tuple[int, int]) -> Verdict:
    """What is there against what was acknowledged, and what is held."""
    after = resources()
    store = calls.memory.store
    holdings = await Holdings.of(store)
    told = [await store.by_key(ANN, name) for name in calls.told]
    pairs = Counter(key.rpartition("-")[0] for key in holdings.messages)
    halves = sum(count == 1 for count in pairs.values())
    held = backend.held(location)
    grown = [f"{now} after {then}" for now, then in zip(after, before, strict=True) if now > then]
    wrong = [*held, *grown, *backend.problems(location)]
    verdict = calls.account.verdict(holdings)
    return replace(
        verdict,
        lost=verdict.lost + told.count(None),
        failed=verdict.failed + halves + len(wrong),
        facts=facts(calls, next(iter(wrong), None)),
    )


def run(backend: Backend, n: int, seed: int, bug: str | None) -> Verdict:
    """See `tried`."""
    return asyncio.run(tried(backend, n, seed, bug))


def gate(backend: Backend) -> Gate:
    """The gate on one database."""
    return Gate(
        name=f"T06{backend.suffix}",
        promise=f"cancelled at any tick, a call is whole or absent, on {backend.name}",
        full=2_000,
        least=200,
        run=partial(run, backend),
        bugs=("no-shield",),
    )


GATES = [gate(SQLITE), gate(POSTGRES)]
