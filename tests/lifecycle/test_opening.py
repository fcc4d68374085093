"""Opening and closing: what is joined, who closes what, and what starts by itself."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from memkit import (
    Closed,
    Config,
    ConfigError,
    Every,
    InvalidInput,
    Job,
    MemkitError,
    Memory,
    Message,
    PatternRedactor,
    Scope,
    StoreReadOnly,
    open_memory,
    open_memory_sync,
)
from memkit.app import upgrade
from memkit.decay import EPOCH
from memkit.inmemory import InMemoryStore
from memkit.models import Finding, Migrated
from memkit.testing.clock import ManualClock
from memkit.testing.values import a_message
from memkit_backends.schedulers.background import BackgroundScheduler
from memkit_backends.schedulers.manual import ManualScheduler
from tests.lifecycle.extractors import Held, Scripted, found

pytestmark = pytest.mark.anyio

SCOPE = Scope("ann")


class Counting(InMemoryStore):
    """Counts how often it is closed."""

    closed = 0

    async def aclose(self) -> None:
        """Once more."""
        self.closed += 1
        await super().aclose()


@dataclass(slots=True)
class Unwritable:
    """Where nothing can be made or changed."""

    found: int

    async def migrate(self, *, dry_run: bool = False) -> Migrated:
        """What would be done is known; it cannot be."""
        if not dry_run:
            raise StoreReadOnly("not to be written")
        return Migrated(found=self.found, now=2, applied=("0002_more",))

    async def check(self) -> list[Finding]:
        """Nothing to be said."""
        return []

    async def erase(self) -> None:
        """Nothing to be erased."""


async def test_what_may_only_be_read_is_opened_if_it_is_there() -> None:
    """Where a store can be neither read nor made, the reason is told at once."""
    await upgrade(Unwritable(found=1), Config())
    with pytest.raises(StoreReadOnly):
        await upgrade(Unwritable(found=0), Config())


async def test_what_is_remembered_is_there_again(tmp_path: Path) -> None:
    """A file is opened, used, closed, and opened anew."""
    url = f"sqlite:///{tmp_path / 'memory.db'}"
    async with open_memory(url) as memory:
        await memory.remember(SCOPE, "likes tea")
    async with open_memory(url) as memory:
        assert [each.content for each in (await memory.inject(SCOPE)).items] == ["likes tea"]


async def test_a_configuration_may_be_a_file_a_url_a_value_or_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever way it is given, arguments go before it."""
    path = tmp_path / "memkit.toml"
    path.write_text('store = "memory://"\n[inject]\nlimit = 3')
    monkeypatch.chdir(tmp_path)
    sources = (path, str(path), "memory://", Config.model_validate({"store": "memory"}), None)
    limits = []
    for source in sources:
        async with open_memory(source, inject={"min_score": 0.5}) as memory:
            assert memory.config.inject.min_score == 0.5
            limits.append(memory.config.inject.limit)
    assert limits == [3, 3, 20, 20, 3]


async def test_a_part_that_is_handed_in_stays_open() -> None:
    """Whoever opened it closes it; what the memory opened is closed by the memory."""
    store, scheduler = Counting(), ManualScheduler()
    async with open_memory(store=store, scheduler=scheduler, extractor=Scripted()) as memory:
        await memory.remember(SCOPE, "likes tea")
    assert store.closed == 0
    assert (await store.stats()).items == 1
    await scheduler.submit(Job(stage="decay"))
    with pytest.raises(Closed):
        await scheduler.run_pending()
    async with open_memory("memory://") as memory:
        opened = memory.store
    with pytest.raises(Closed):
        await opened.stats()


async def test_what_was_opened_is_closed_when_opening_fails(tmp_path: Path) -> None:
    """A part that cannot be opened takes down those before it, and only those."""
    url = f"sqlite:///{tmp_path / 'memory.db'}"
    for _ in range(3):
        with pytest.raises(MemkitError):
            async with open_memory(url, extractor="no-such-extractor"):
                pass
    async with open_memory(url) as memory:
        assert (await memory.stats()).items == 0


async def test_an_error_within_the_block_is_the_callers(tmp_path: Path) -> None:
    """It arrives as it is, and everything is closed."""
    opened: list[Memory] = []

    async def fail() -> None:
        async with open_memory(f"sqlite:///{tmp_path / 'memory.db'}") as memory:
            opened.append(memory)
            await memory.remember(SCOPE, "likes tea")
            _ = 1 / 0

    with pytest.raises(ZeroDivisionError):
        await fail()
    with pytest.raises(Closed):
        await opened[0].stats()
    with pytest.raises(ZeroDivisionError), open_memory_sync("memory://"):
        _ = 1 / 0


async def test_a_language_that_is_none_is_refused_at_once() -> None:
    """A mistake in the configuration is found when it is opened, not in the middle of a turn."""
    with pytest.raises(ConfigError, match="klingon"):
        async with open_memory("memory://", language="klingon"):
            pass


def test_what_cannot_be_opened_says_so_to_blocking_callers() -> None:
    """An error while opening arrives in the thread that asked for it."""
    with pytest.raises(ConfigError), open_memory_sync("memory://", inject={"limitt": 1}):
        pass


@pytest.mark.parametrize("redactor", ["none", {"use": "none"}])
async def test_redaction_can_be_switched_off(redactor: object) -> None:
    """By configuration, not by accident."""
    async with open_memory("memory://", redactor=redactor) as memory:  # type: ignore[arg-type]  # either form
        told = await memory.remember(SCOPE, "Card 4111 1111 1111 1111")
        assert "4111" in told.content


async def test_a_redactor_of_ones_own_is_asked() -> None:
    """In episodes and in items."""

    class Shy:
        def redact(self, text: str, *, where: str) -> tuple[str, int]:
            return text.replace("Ann", f"[{where}]"), text.count("Ann")

    async with open_memory("memory://", redactor=Shy()) as memory:
        recorded = await memory.record(SCOPE, [a_message("I am Ann.")], session_id="s")
        [episode] = (await memory.scan("episodes")).rows
        assert recorded.flags == ("redacted",)
        assert episode.messages[0].text == "I am [episode]."
        assert (await memory.remember(SCOPE, "Ann likes tea")).content == "[item] likes tea"
    assert PatternRedactor().redact("Ann", where="item") == ("Ann", 0)


class Noting:
    """A scheduler that notes what it is told."""

    def __init__(self) -> None:
        self.recurring: Sequence[Every] = ()
        self.jobs: list[Job] = []

    async def start(
        self, run: Callable[[Job], Awaitable[None]], *, recurring: Sequence[Every] = ()
    ) -> None:
        """Note the rhythm."""
        del run
        self.recurring = recurring

    async def submit(self, job: Job) -> None:
        """Note the job."""
        self.jobs.append(job)

    async def aclose(self) -> None:
        """Nothing to do."""


class Refusing(Noting):
    """A scheduler whose broker is down."""

    async def submit(self, job: Job) -> None:
        """Takes nothing."""
        raise ConnectionError(f"a-canary: no broker for {job.stage}")


async def test_a_scheduler_that_takes_nothing_stops_no_agent(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Memory opens and works, the log says that the first job was not taken."""
    async with open_memory("memory://", scheduler=Refusing()) as memory:
        await memory.remember(SCOPE, "likes tea")
        assert len((await memory.inject(SCOPE)).items) == 1
    assert "did not take the first consolidate job: ConnectionError" in caplog.text
    assert "a-canary" not in caplog.text


@pytest.mark.parametrize(
    ("settings", "rhythms"),
    [
        ({}, [("consolidate", 3600.0, None), ("decay", None, 2)]),
        (
            {"consolidate_every": "5m", "decay_at_utc_hour": 23},
            [("consolidate", 300.0, None), ("decay", None, 23)],
        ),
        ({"consolidate_every": "never"}, [("decay", None, 2)]),
        ({"decay_at_utc_hour": "never"}, [("consolidate", 3600.0, None)]),
    ],
)
async def test_jobs_recur_as_configured(
    settings: dict[str, object], rhythms: list[tuple[str, float | None, int | None]]
) -> None:
    """Consolidation at an interval, and once at the start; decay at an hour."""
    noting = Noting()
    config = Config.model_validate({"store": "memory", "scheduler": settings})
    async with open_memory(config, scheduler=noting):
        assert [
            (each.job.stage, each.interval and each.interval.total_seconds(), each.utc_hour)
            for each in noting.recurring
        ] == rhythms
        consolidates = any(stage == "consolidate" for stage, _, _ in rhythms)
        assert noting.jobs == [Job(stage="consolidate")] * consolidates


async def test_what_was_left_undone_is_done(clock: ManualClock) -> None:
    """In the background, what an earlier process recorded is consolidated at the start."""
    store = InMemoryStore()
    async with open_memory(store=store, clock=clock) as memory:
        await memory.record(SCOPE, [a_message("I live in Oslo now.")], session_id="s")
    clock.advance(hours=1)
    seen = asyncio.Event()
    async with open_memory(
        store=store, clock=clock, scheduler="background", observe=lambda _: seen.set()
    ) as memory:
        await asyncio.wait_for(seen.wait(), 5)
        assert len((await memory.inject(SCOPE)).items) == 1


async def test_the_end_waits_for_what_runs(clock: ManualClock) -> None:
    """A consolidation under way is given time to end, and lands."""
    held = Held("Ann lives in Oslo.")
    store = InMemoryStore()
    scheduler = {"use": "background", "consolidate_every": "never"}
    async with open_memory(store=store, clock=clock, extractor=held, scheduler=scheduler) as memory:
        await memory.record(SCOPE, [a_message("I live in Oslo now.")], session_id="s")
        clock.advance(hours=1)
        await memory.scheduler.submit(Job(stage="consolidate"))
        await held.reached.wait()
        asyncio.get_running_loop().call_later(0.05, held.released.set)
    assert (await store.stats()).items == 1


async def test_the_end_hands_back_what_takes_too_long(clock: ManualClock) -> None:
    """After the drain it is cancelled, and its episodes are pending as they were."""
    held = Held("Ann lives in Oslo.")
    store = InMemoryStore()
    scheduler = BackgroundScheduler(clock=clock, drain=0.05)
    async with open_memory(store=store, clock=clock, extractor=held, scheduler=scheduler) as memory:
        await memory.record(SCOPE, [a_message("I live in Oslo now.")], session_id="s")
        clock.advance(hours=1)
        await scheduler.submit(Job(stage="consolidate"))
        await held.reached.wait()
        await scheduler.aclose()
    assert (await store.stats()).pending == 1
    async with open_memory(store=store, clock=clock, extractor=Scripted(found("x"))) as memory:
        assert [job.attempts for job in await memory.consolidate()] == [1]


async def test_a_clock_before_1970_is_refused() -> None:
    """When it is opened, and when it is turned back: dates of what fades begin there."""
    with pytest.raises(InvalidInput, match="before 1970"):
        async with open_memory("memory://", clock=ManualClock(EPOCH - timedelta(seconds=1))):
            pass
    clock = ManualClock(EPOCH)
    async with open_memory("memory://", clock=clock) as memory:
        await memory.remember(SCOPE, "likes tea")
        clock.advance(timedelta(days=-1))
        with pytest.raises(InvalidInput, match="before 1970"):
            await memory.inject(SCOPE)


async def test_what_was_said_before_1970_is_kept(store_url: str, clock: ManualClock) -> None:
    """A message's own time may be any, on every store: it is shown, ranked, scanned, forgotten."""
    times = ("0001-01-02T00:00:00Z", "1969-12-31T23:59:59.999999Z", "1970-01-01T00:00:00Z")
    said = [
        Message(role="user", content=f"I crossed river {number}.", time=time)  # type: ignore[arg-type]  # read from text
        for number, time in enumerate(times)
    ]
    async with open_memory(store_url, clock=clock) as memory:
        await memory.record(SCOPE, said, session_id="s")
        assert [job.added for job in await memory.consolidate()] == [3]
        found = {item.observed_at for item in (await memory.inject(SCOPE)).items}
        assert found == {datetime.fromisoformat(time) for time in times}
        assert {hit.observed_at for hit in await memory.search(SCOPE, "river")} == found
        [episode] = (await memory.scan("episodes")).rows
        assert [message.time for message in episode.messages] == [each.time for each in said]
        assert (await memory.decay()).item_ids == ()
        assert (await memory.forget(SCOPE)).items == 3


async def test_check_says_that_nothing_consolidates(clock: ManualClock) -> None:
    """What has waited for longer than the rhythm allows is a finding, whoever should have run."""
    async with open_memory("memory://", clock=clock) as memory:
        await memory.record(SCOPE, [a_message("I live in Oslo now.")], session_id="s")
        clock.advance(hours=2)
        assert [each.code for each in await memory.check()] == []
        clock.advance(minutes=1)
        [finding] = await memory.check()
        assert (finding.level, finding.code) == ("warning", "consolidation-behind")
        assert "1 episodes are pending, the oldest since 20" in finding.message
        await memory.consolidate()
        assert await memory.check() == []


async def test_by_hand_a_memory_needs_three_parts() -> None:
    """The face can be put together without the root: for tests, and for hosts that insist."""
    memory = Memory(InMemoryStore(), Scripted(), ManualScheduler())
    await memory.remember(SCOPE, "likes tea")
    assert len((await memory.inject(SCOPE)).items) == 1
    memory.close()
    with pytest.raises(Closed):
        await memory.inject(SCOPE)


IMPORTS = """
import sys, time
import pydantic
from pydantic import BaseModel
began = time.perf_counter()
import memkit
seconds = time.perf_counter() - began
heavy = {"aiosqlite", "sqlite3", "asyncpg", "langgraph", "langchain_core", "pydantic_settings",
    "snowballstemmer", "hypothesis", "pytest", "typer", "rich", "boto3", "strands", "memkit.app"}
print(seconds, sorted(heavy & set(sys.modules)))
import memkit.sync
from memkit import *
print(sorted((heavy - {"memkit.app"}) & set(sys.modules)))
"""


def test_importing_costs_next_to_nothing() -> None:
    """No driver, framework or settings machinery, and at most a tenth of a second."""
    ran = subprocess.run(  # the interpreter itself, with a text of ours
        [sys.executable, "-c", IMPORTS], capture_output=True, text=True, check=True
    )
    first, second = ran.stdout.splitlines()
    seconds, _, heavy = first.partition(" ")
    assert (heavy, second) == ("[]", "[]")
    assert float(seconds) < 0.1


def test_every_public_name_is_there() -> None:
    """What `__all__` promises can be had, and nothing else can."""
    import memkit

    assert [name for name in memkit.__all__ if getattr(memkit, name, None) is None] == []
    assert memkit.__all__ == sorted(memkit.__all__)
    assert dir(memkit) == sorted(memkit.__all__)
    with pytest.raises(AttributeError):
        _ = memkit.no_such_name  # type: ignore[attr-defined]  # that it is not there is the point


@pytest.mark.parametrize("part", ["store", "extractor", "scheduler"])
@pytest.mark.parametrize("given", [5, print, object()])
async def test_what_is_no_part_is_refused_on_opening(part: str, given: object) -> None:
    """A part of the wrong sort is a mistake in the configuration, named before it is used."""
    with pytest.raises(ConfigError, match=f"is no {part}: it has no"):
        async with open_memory("memory://", **{part: given}):
            pass
