"""T14: without space, what was acknowledged stays, the rest is refused, and all goes on after."""

from __future__ import annotations

import asyncio
import logging
import os
import random
import resource
import sqlite3
from collections.abc import Awaitable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, get_args

from memkit.app import open_memory
from memkit.errors import StoreError, StoreFull, StoreUnavailable
from memkit.memory import Memory
from memkit.models import Appended, Episode, Scope
from memkit.testing.around import LedgerStoreAround
from memkit_backends.sqlite.store import SQLiteStore
from tests.gates.accounts import Account, Holdings
from tests.gates.backends import SQLITE, Backend, file_of
from tests.gates.children import Child, Report
from tests.gates.disks import mounted
from tests.gates.progress import Progress
from tests.gates.telling import LEASE, QUICK, Retelling
from tests.gates.verdict import Gate, Verdict

Limit = Literal["pages", "file", "disk"]
LIMITS: tuple[Limit, ...] = get_args(Limit)
REFUSALS: dict[Limit, set[str]] = {
    "pages": {StoreFull.__name__},
    # The system says "file too large" here rather than "no space", and SQLite an I/O error.
    "file": {StoreFull.__name__, StoreUnavailable.__name__},
    "disk": {StoreFull.__name__},
}
PAGE = 4096
MOST = 400
"""Recordings that no room of a round is enough for."""
TRIES = 3
"""Times that one call may try what cannot work."""
ANN = Scope("ann")


@dataclass(frozen=True, kw_only=True)
class Round:
    """How the space ends: after `room` pages, by which limit; and whether it comes back."""

    limit: Limit
    room: int
    size: int
    comes_back: bool

    @classmethod
    def random(cls, chance: random.Random) -> Round:
        """Any of them."""
        return cls(
            limit=chance.choice(LIMITS),
            room=chance.randint(5, 200),
            size=chance.randint(4_000, 20_000),
            comes_back=chance.random() < 0.5,
        )


class SwallowError(LedgerStoreAround):
    """The bug: what could not be stored is answered like what was."""

    async def append(
        self,
        episodes: Sequence[Episode],
        *,
        expected_head: int | None = None,
        revise: bool = False,
    ) -> list[Appended]:
        """See `Store.append`."""
        try:
            return await self.inner.append(episodes, expected_head=expected_head, revise=revise)
        except StoreError:
            return [
                Appended(episode_id=each.id, head=0, stored=len(each.messages)) for each in episodes
            ]


async def limit(store: SQLiteStore, location: str, trial: Round) -> None:
    """Leave so much room and no more."""
    room = trial.room * PAGE
    match trial.limit:
        case "pages":
            await store._file.run(partial(_limit_pages, trial.room))
        case "disk" if file_of(location).parent.is_mount():
            folder = file_of(location).parent
            free = os.statvfs(folder).f_bavail * PAGE
            (folder / "ballast").write_bytes(bytes(max(0, free - room)))
        case _:
            size = file_of(location).stat().st_size + room
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


async def lift(store: SQLiteStore, location: str) -> None:
    """Give all the room back."""
    await store._file.run(partial(_limit_pages, 1 << 20))
    file_of(location).with_name("ballast").unlink(missing_ok=True)
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


@contextmanager
def place(trial: Round) -> Iterator[str]:
    """Where the store of a round is to be; where no disk may be mounted, files are limited."""
    with SQLITE.fresh() as location:
        disk = mounted(file_of(location).parent) if trial.limit == "disk" else nullcontext()
        with disk:
            yield location


def _limit_pages(room: int, connection: sqlite3.Connection) -> None:
    (used,) = connection.execute("PRAGMA page_count").fetchone()
    connection.execute(f"PRAGMA max_page_count = {used + room}").fetchone()


class Counting(logging.Handler):
    """Counts what is logged as worse than information."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.count = 0

    def emit(self, _: logging.LogRecord) -> None:
        """One more."""
        self.count += 1


async def record(memory: Memory, size: int, number: int, report: Report) -> bool:
    """Record a message that cannot be made smaller; whether that was acknowledged."""
    noise = random.Random(number).randbytes(size // 2).hex()
    said = {"role": "user", "content": f"say {number} {noise}", "key": str(number)}
    report(f"invoke add {number}")
    return await told(report, f"ok add {number}", memory.record(ANN, [said], session_id="s"))


async def told(report: Report, line: str, call: Awaitable[object]) -> bool:
    """Whether the call worked, in which case `line` is told; else why it did not."""
    try:
        await call
    except StoreError as exc:
        report(f"refused {type(exc).__name__}")
        return False
    report(line)
    return True


async def live(location: str, trial: Round, report: Report, *, bug: bool) -> None:
    """Record until there is no room, try everything else, and go on when there is room again."""
    store = await SQLITE.open(location)
    told_too_often, extractor = Counting(), Retelling()
    logging.getLogger("memkit").addHandler(told_too_often)
    async with open_memory(
        QUICK,
        store=SwallowError(store) if bug else store,
        extractor=extractor,
        scheduler="manual",
    ) as memory:
        await record(memory, trial.size, 0, report)
        await limit(store, location, trial)
        number = 1
        while number < MOST and await record(memory, trial.size, number, report):
            number += 1
        calls, logged = extractor.calls, told_too_often.count
        await told(report, "consolidated", memory.consolidate())
        await told(report, "remembered", memory.remember(ANN, "x" * 10_000))
        await told(report, "forgot", memory.forget(ANN, items=["none"]))
        await memory.inject(ANN, query="say")  # reading goes on
        vain = extractor.calls - calls - await completed(memory)
        report(f"tries {max(vain, told_too_often.count - logged)}")
        if trial.comes_back:
            await lift(store, location)
            await record(memory, trial.size, number, report)
            await told(report, "consolidated again", memory.consolidate())
    await store.aclose()


async def completed(memory: Memory) -> int:
    """How many jobs have come to their end."""
    jobs = await memory.jobs(limit=1_000)
    return sum(job.status == "completed" for job in jobs.rows)


async def looked_through(backend: Backend, location: str) -> Holdings:
    """What there is once there is room and everything pending is consolidated."""
    store = await backend.open(location)
    async with open_memory(QUICK, store=store, extractor=Retelling(), scheduler="manual") as memory:
        while (await memory.stats()).pending:
            await memory.consolidate()
            await asyncio.sleep(LEASE.total_seconds())
        holdings = await Holdings.of(store)
    await store.aclose()
    return holdings


def judged(location: str, trial: Round, said: list[str]) -> Verdict:
    """The verdict on one round."""
    account = Account()
    account.read(said)
    refused = {line.removeprefix("refused ") for line in said if line.startswith("refused")}
    (told_at,) = [place for place, line in enumerate(said) if line.startswith("tries")]
    afterwards = said[told_at + 1 :]
    file_of(location).with_name("ballast").unlink(missing_ok=True)
    holdings = asyncio.run(looked_through(SQLITE, location))
    wrong = [
        not refused,
        bool(refused - REFUSALS[trial.limit]),
        int(said[told_at].removeprefix("tries ")) > TRIES,
        trial.comes_back and any(map(is_refusal, afterwards)),
        bool(SQLITE.problems(location)),
    ]
    verdict = account.verdict(holdings)
    first = ", ".join(said[told_at - 4 :]) if any(wrong) else ""
    return replace(
        verdict,
        failed=verdict.failed + sum(wrong),
        facts={"acknowledged": account.acknowledged, "first": first},
    )


def is_refusal(line: str) -> bool:
    """Whether a child said that a call did not work."""
    return line.startswith("refused")


def run(n: int, seed: int, bug: str | None) -> Verdict:
    """`n` disks of other sizes that fill up."""
    chance = random.Random(seed)
    verdicts: list[Verdict] = []
    disks, progress = 0, Progress(n)
    while len(verdicts) < n and not (bug and verdicts and not verdicts[-1].passed):
        progress.at(len(verdicts))
        trial = Round.random(chance)
        with place(trial) as location:
            disks += file_of(location).parent.is_mount()
            work = partial(live, location, trial, bug=bool(bug))
            child = Child.fork(lambda report, work=work: asyncio.run(work(report)))
            child.ended(seconds=60)
            verdicts.append(judged(location, trial, child.said))
    return summed(verdicts, disks=disks)


def summed(verdicts: Sequence[Verdict], **facts: int | str) -> Verdict:
    """The verdict on all rounds. If nothing was acknowledged, they have shown nothing."""
    kept = sum(int(each.facts["acknowledged"]) for each in verdicts)
    return Verdict(
        lost=sum(each.lost for each in verdicts),
        doubled=sum(each.doubled for each in verdicts),
        failed=sum(each.failed for each in verdicts) + (not kept),
        facts={
            "rounds": len(verdicts),
            **facts,
            "acknowledged": kept,
            "first": next((each.facts["first"] for each in verdicts if each.failed), ""),
        },
    )


GATES = [
    Gate(
        name="T14",
        promise="a full disk loses nothing acknowledged, says so, and is got over, on SQLite",
        full=100,
        least=8,
        run=run,
        bugs=("swallow-error",),
    )
]
