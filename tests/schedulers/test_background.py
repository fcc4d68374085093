"""The scheduler within the process."""

from __future__ import annotations

import asyncio
import gc
import logging
import time as clocks
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta

import pytest

from memkit import Closed, ConfigError, Every, Job, Scope
from memkit_backends.schedulers.background import BackgroundScheduler
from tests.schedulers.conftest import Runner, Time, rest

pytestmark = pytest.mark.anyio

SWEEP = Job(stage="consolidate")
DECAY = Job(stage="decay")
HOURLY = Every(job=SWEEP, interval=timedelta(hours=1))
NIGHTLY = Every(job=DECAY, utc_hour=2)


@asynccontextmanager
async def started(
    time: Time, run: Runner, *recurring: Every, drain: float = 10.0, concurrency: int = 2
) -> AsyncIterator[BackgroundScheduler]:
    """A scheduler at work."""
    scheduler = BackgroundScheduler(
        clock=time, sleep=time.sleep, drain=drain, concurrency=concurrency
    )
    await scheduler.start(run, recurring=recurring)
    await rest()
    try:
        yield scheduler
    finally:
        await scheduler.aclose()


async def test_an_interval_is_kept(time: Time, run: Runner) -> None:
    """Once each hour, first when an hour has passed."""
    async with started(time, run, HOURLY):
        assert run.jobs == []
        for count in range(1, 4):
            await time.pass_(minutes=59)
            assert len(run.jobs) == count - 1
            await time.pass_(minutes=1)
            assert run.jobs == [SWEEP] * count


async def test_an_hour_of_the_day_is_kept(time: Time, run: Runner) -> None:
    """Once a day at the full hour of UTC: it is nine in the morning when a test begins."""
    async with started(time, run, NIGHTLY):
        await time.pass_(hours=16, minutes=59)
        assert run.jobs == []
        await time.pass_(minutes=1)
        assert run.jobs == [DECAY]
        await time.pass_(hours=23, minutes=59)
        assert run.jobs == [DECAY]
        await time.pass_(minutes=1)
        assert run.jobs == [DECAY] * 2


async def test_what_was_missed_runs_once(time: Time, run: Runner) -> None:
    """After a month asleep there is one run of each, and the old rhythm after it."""
    async with started(time, run, HOURLY, NIGHTLY):
        await time.pass_(days=30, minutes=20)
        assert sorted(job.stage for job in run.jobs) == ["consolidate", "decay"]
        await time.pass_(minutes=39)
        assert len(run.jobs) == 2
        await time.pass_(minutes=1)
        assert run.jobs[-1] == SWEEP


async def test_a_clock_that_is_turned_back_does_not_stop_it(time: Time, run: Runner) -> None:
    """The next run is never further away than a period."""
    async with started(time, run, HOURLY, NIGHTLY) as scheduler:
        time.advance(days=-400)
        await scheduler.submit(DECAY)
        await rest()
        run.jobs.clear()
        await time.pass_(hours=1)
        assert run.jobs == [SWEEP]
        await time.pass_(days=1)
        assert DECAY in run.jobs


async def test_a_job_may_be_asked_for(time: Time, run: Runner) -> None:
    """Soon, and once however often it was asked for before it ran."""
    async with started(time, run) as scheduler:
        for _ in range(5):
            await scheduler.submit(SWEEP)
        await scheduler.submit(Job(stage="consolidate", scope=Scope("ann")))
        await rest()
        assert run.jobs == [SWEEP, Job(stage="consolidate", scope=Scope("ann"))]


async def test_a_job_does_not_run_beside_itself(time: Time, run: Runner) -> None:
    """Asked for while it runs, it waits for its end and then runs once more."""
    run.gate = asyncio.Event()
    async with started(time, run) as scheduler:
        for _ in range(3):
            await scheduler.submit(SWEEP)
            await rest()
        assert run.jobs == [SWEEP]
        run.gate.set()
        await rest()
        assert run.jobs == [SWEEP, SWEEP]
        assert run.most_at_once == 1


async def test_only_so_many_run_at_once(time: Time, run: Runner) -> None:
    """A hundred scopes do not start a hundred models."""
    run.gate = asyncio.Event()
    async with started(time, run, concurrency=3) as scheduler:
        for number in range(100):
            await scheduler.submit(Job(stage="consolidate", scope=Scope(f"user-{number}")))
        await rest()
        assert run.at_once == 3
        run.gate.set()
        while len(run.jobs) < 100:
            await rest()
        assert run.most_at_once == 3


async def test_a_failure_ends_nothing(
    time: Time, run: Runner, caplog: pytest.LogCaptureFixture
) -> None:
    """It is logged by name, without what it says, and the next time comes."""
    run.failures.append(ValueError("a-canary"))
    async with started(time, run, HOURLY):
        with caplog.at_level(logging.DEBUG):
            await time.pass_(hours=1)
            await time.pass_(hours=1)
    assert len(run.jobs) == 2
    assert "ValueError" in caplog.text
    assert "a-canary" not in caplog.text


async def test_a_clock_that_fails_ends_nothing(
    time: Time, run: Runner, caplog: pytest.LogCaptureFixture
) -> None:
    """What is asked for still runs, it is logged by name and count, and the rhythm comes back."""
    broken: list[Exception] = []

    def clock() -> datetime:
        if broken:
            raise broken[0]
        return time()

    scheduler = BackgroundScheduler(clock=clock, sleep=time.sleep)
    await scheduler.start(run, recurring=[HOURLY])
    await rest()
    broken.append(RuntimeError("a-canary"))
    with caplog.at_level(logging.DEBUG):
        await time.pass_(hours=1)
        await scheduler.submit(DECAY)
        await rest()
        assert run.jobs == [DECAY]
    assert "RuntimeError; 1 recurring jobs wait" in caplog.text
    assert "a-canary" not in caplog.text
    broken.clear()
    await time.pass_(minutes=1)
    assert run.jobs == [DECAY, SWEEP]
    await scheduler.aclose()


async def test_nothing_is_lost_to_the_garbage_collector(time: Time, run: Runner) -> None:
    """Somebody holds on to every task."""
    run.gate = asyncio.Event()
    async with started(time, run, HOURLY) as scheduler:
        await scheduler.submit(DECAY)
        for _ in range(3):
            gc.collect()
            await time.pass_(hours=1)
        run.gate.set()
        await rest()
        assert set(run.jobs) == {SWEEP, DECAY}


async def test_closing_lets_a_job_end(time: Time, run: Runner) -> None:
    """What runs is given time, what waits is let go, nothing new is taken."""
    run.gate = asyncio.Event()
    async with started(time, run, HOURLY, concurrency=1) as scheduler:
        await scheduler.submit(SWEEP)
        await scheduler.submit(DECAY)
        await rest()
        closing = asyncio.create_task(scheduler.aclose())
        await rest()
        with pytest.raises(Closed):
            await scheduler.submit(DECAY)
        run.gate.set()
        await closing
        assert (run.jobs, run.cancelled) == ([SWEEP], 0)


async def test_closing_does_not_wait_for_ever(time: Time, run: Runner) -> None:
    """After the drain, what still runs is cancelled; closing again is fine."""
    run.gate = asyncio.Event()
    async with started(time, run, drain=0.05) as scheduler:
        await scheduler.submit(SWEEP)
        await rest()
        began = clocks.monotonic()
        await scheduler.aclose()
        assert clocks.monotonic() - began < 2
        assert run.cancelled == 1
        await scheduler.aclose()


async def test_closing_twice_at_once_is_fine(time: Time, run: Runner) -> None:
    """Also while the first is still draining."""
    run.gate = asyncio.Event()
    async with started(time, run, drain=0.05) as scheduler:
        await scheduler.submit(SWEEP)
        await rest()
        await asyncio.gather(scheduler.aclose(), scheduler.aclose())
        assert run.cancelled == 1


async def test_an_impatient_end_is_an_end(time: Time, run: Runner) -> None:
    """Closing that is itself cancelled leaves no job running."""
    run.gate = asyncio.Event()
    async with started(time, run) as scheduler:
        await scheduler.submit(SWEEP)
        await rest()
        closing = asyncio.create_task(scheduler.aclose())
        await rest()
        closing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await closing
        await rest()
        assert run.cancelled == 1


async def test_no_task_is_left(time: Time, run: Runner) -> None:
    """After closing, the loop has nothing of it."""
    before = asyncio.all_tasks()
    async with started(time, run, HOURLY, NIGHTLY) as scheduler:
        await scheduler.submit(SWEEP)
        await time.pass_(hours=3)
    await rest()
    assert asyncio.all_tasks() == before


async def test_before_it_is_started_it_takes_nothing(time: Time) -> None:
    """There would be nobody to carry it out; closing it is fine."""
    scheduler = BackgroundScheduler(clock=time)
    with pytest.raises(Closed):
        await scheduler.submit(SWEEP)
    await scheduler.aclose()


@pytest.mark.parametrize(
    "wrong",
    [
        Every(job=SWEEP),
        Every(job=SWEEP, interval=timedelta(0)),
        Every(job=SWEEP, interval=timedelta(hours=1), utc_hour=2),
        Every(job=SWEEP, utc_hour=24),
    ],
    ids=["neither", "no time", "both", "no hour"],
)
async def test_a_recurring_job_has_one_rhythm(time: Time, run: Runner, wrong: Every) -> None:
    """An interval or an hour, one of the two, and one that exists."""
    with pytest.raises(ConfigError):
        await BackgroundScheduler(clock=time).start(run, recurring=[wrong])


async def test_by_the_real_clock(run: Runner) -> None:
    """Without anything handed in it goes by the system's time."""
    scheduler = BackgroundScheduler()
    often = Every(job=SWEEP, interval=timedelta(milliseconds=5))
    await scheduler.start(run, recurring=[often])
    await asyncio.wait_for(run.three.wait(), 5)
    await scheduler.aclose()
