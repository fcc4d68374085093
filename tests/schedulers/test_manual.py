"""The scheduler that does nothing by itself."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from memkit import Closed, Every, Job, Scope
from memkit.testing.clock import ManualClock
from memkit_backends.schedulers.manual import ManualScheduler
from tests.schedulers.conftest import Runner, Time, rest

pytestmark = pytest.mark.anyio

SWEEP = Job(stage="consolidate")
ANN = Job(stage="consolidate", scope=Scope("ann"))


async def test_nothing_runs_by_itself(time: Time, run: Runner) -> None:
    """Jobs wait until they are run, in order, each once."""
    scheduler = ManualScheduler(clock=time)
    await scheduler.start(run, recurring=[Every(job=SWEEP, interval=timedelta(hours=1))])
    for job in (ANN, SWEEP, ANN):
        await scheduler.submit(job)
    await time.pass_(days=3)
    assert run.jobs == []
    assert await scheduler.run_pending() == 2
    assert run.jobs == [ANN, SWEEP]
    assert await scheduler.run_pending() == 0


async def test_what_has_fallen_due_is_run_as_well(time: Time, run: Runner) -> None:
    """Whoever calls often enough has the configured rhythm."""
    scheduler = ManualScheduler(clock=time)
    await scheduler.start(run, recurring=[Every(job=SWEEP, interval=timedelta(hours=1))])
    counts = []
    for minutes in (30, 30, 30, 500, 9):
        await time.pass_(minutes=minutes)
        counts.append(await scheduler.run_pending())
    assert counts == [0, 1, 0, 1, 0]


async def test_an_hour_is_an_hour_while_clocks_are_changed(run: Runner) -> None:
    """Intervals go by elapsed time, whatever the wall says meanwhile."""
    zone = ZoneInfo("Europe/Berlin")
    before = datetime(2027, 3, 28, 0, 30, tzinfo=UTC)
    clock = ManualClock(before.astimezone(zone))
    scheduler = ManualScheduler(clock=clock)
    await scheduler.start(run, recurring=[Every(job=SWEEP, interval=timedelta(hours=1))])
    counts = []
    for minutes in (59, 60, 119, 120):
        clock.set((before + timedelta(minutes=minutes)).astimezone(zone))
        counts.append(await scheduler.run_pending())
    assert counts == [0, 1, 0, 1]


async def test_a_failure_is_raised(time: Time, run: Runner) -> None:
    """Whoever runs the jobs is told; those behind it keep waiting."""
    scheduler = ManualScheduler(clock=time)
    await scheduler.start(run)
    await scheduler.submit(ANN)
    await scheduler.submit(SWEEP)
    run.failures.append(ValueError("x"))
    with pytest.raises(ValueError, match="x"):
        await scheduler.run_pending()
    assert await scheduler.run_pending() == 1
    assert run.jobs == [ANN, SWEEP]


async def test_closed_is_closed(time: Time, run: Runner) -> None:
    """After closing, which may happen twice, and before starting, nothing is taken or run."""
    scheduler = ManualScheduler(clock=time)
    with pytest.raises(Closed):
        await scheduler.submit(SWEEP)
    await scheduler.start(run)
    await scheduler.submit(SWEEP)
    await scheduler.aclose()
    await scheduler.aclose()
    for call in (scheduler.submit(SWEEP), scheduler.run_pending()):
        with pytest.raises(Closed):
            await call
    await rest()
    assert run.jobs == []
