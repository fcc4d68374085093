"""`SchedulerConformance`: what every scheduler must do, as tests.

A whole test file:

    from memkit.testing import SchedulerConformance
    from memkit_backends.schedulers.background import BackgroundScheduler

    class TestMyScheduler(SchedulerConformance):
        async def open_scheduler(self, clock, sleep):
            return BackgroundScheduler(clock=clock, sleep=sleep)
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import ClassVar

import anyio
import pytest

from memkit.contracts import Every, Job, Scheduler
from memkit.errors import Closed
from memkit.testing.clock import ManualClock
from memkit.testing.suite import Suite, only_where
from memkit.testing.values import DAY, HERE, MINUTE, THERE

Sleep = Callable[[float], Awaitable[None]]

CONSOLIDATE, DECAY = Job(stage="consolidate"), Job(stage="decay")
HOUR = timedelta(hours=1)
PATIENCE = 30.0
"""Seconds that a scheduler may give a job that hangs."""
TICKS = 40
"""How often the loop turns before the kit takes it that nothing more happens."""


class Naps:
    """Sleep on a clock that a test moves: whoever sleeps wakes when the time has come."""

    def __init__(self, clock: ManualClock) -> None:
        self._clock = clock
        self._moved = asyncio.Event()

    async def sleep(self, seconds: float) -> None:
        """Return when the clock has gone that far."""
        until = self._clock() + timedelta(seconds=seconds)
        while self._clock() < until:
            await self._moved.wait()

    def wake(self) -> None:
        """Tell the sleepers that the clock was moved."""
        self._moved.set()
        self._moved = asyncio.Event()


class Diary:
    """A `run` that writes down which jobs it carried out, and may fail or wait."""

    def __init__(self) -> None:
        self.jobs: list[Job] = []
        self.failing: set[Job] = set()
        self.hanging: set[Job] = set()
        self.ended: list[Job] = []

    async def run(self, job: Job) -> None:
        """Carry `job` out."""
        self.jobs.append(job)
        try:
            if job in self.failing:
                raise RuntimeError("a job that fails, on purpose")
            if job in self.hanging:
                await asyncio.Event().wait()
        finally:
            self.ended.append(job)


@dataclass(frozen=True, slots=True)
class Trial:
    """A scheduler, the clock it goes by, and what it had carried out."""

    scheduler: Scheduler
    clock: ManualClock
    naps: Naps
    diary: Diary
    let_run: Callable[[Scheduler], Awaitable[None]]

    async def start(self, *recurring: Every) -> None:
        """Start it, with these jobs that recur."""
        await self.scheduler.start(self.diary.run, recurring=recurring)
        await self.let_run(self.scheduler)

    async def submit(self, *jobs: Job) -> None:
        """Ask for `jobs`, and let what is due take place."""
        for job in jobs:
            await self.scheduler.submit(job)
        await self.let_run(self.scheduler)

    async def pass_time(self, by: timedelta) -> list[Job]:
        """Let that much time go by, all at once; the jobs that were carried out by then."""
        before = len(self.diary.jobs)
        self.clock.advance(by)
        self.naps.wake()
        await self.let_run(self.scheduler)
        return self.diary.jobs[before:]


class SchedulerConformance(Suite):
    """The contract `Scheduler`, rule by rule."""

    subject = "trial"

    runs_by_itself: ClassVar[bool] = True
    """False for one that runs nothing unless it is told to, which `let_run` then does."""

    follows_clock: ClassVar[bool] = True
    """False for one that knows no other time than the real one."""

    async def open_scheduler(self, clock: ManualClock, sleep: Sleep) -> Scheduler:
        """A scheduler that reads the time from `clock` and waits by `sleep`."""
        raise NotImplementedError(f"{type(self).__name__} must define open_scheduler(clock, sleep)")

    async def let_run(self, scheduler: Scheduler) -> None:  # noqa: ARG002  # overrides need it
        """Let everything that is due take place; failures of jobs are none of the kit's."""
        for _ in range(TICKS):
            await asyncio.sleep(0)

    @asynccontextmanager
    async def opened(self, clock: ManualClock) -> AsyncIterator[Trial]:
        """A scheduler as tests use it, closed afterwards."""
        naps = Naps(clock)
        scheduler = await self.open_scheduler(clock, naps.sleep)
        try:
            yield Trial(scheduler, clock, naps, Diary(), self.let_run)
        finally:
            await scheduler.aclose()

    @pytest.fixture
    async def trial(self, clock: ManualClock) -> AsyncIterator[Trial]:
        """What every test is given."""
        async with self.opened(clock) as trial:
            yield trial

    async def test_a_job_that_is_asked_for_is_run(self, trial: Trial) -> None:
        """`run` gets the job as it was submitted, whatever its stage and scope."""
        await trial.start()
        assert trial.diary.jobs == []
        jobs = [CONSOLIDATE, DECAY, Job(stage="consolidate", scope=HERE)]
        await trial.submit(*jobs)
        assert sorted(trial.diary.jobs, key=repr) == sorted(jobs, key=repr)

    async def test_a_job_asked_for_twice_may_run_once(self, trial: Trial) -> None:
        """Before it runs, the same job is one job or two; of another scope it is another."""
        await trial.start()
        other = Job(stage="consolidate", scope=THERE)
        await trial.submit(CONSOLIDATE, CONSOLIDATE, other)
        assert trial.diary.jobs.count(CONSOLIDATE) in {1, 2}
        assert trial.diary.jobs.count(other) == 1

    async def test_a_job_asked_for_while_it_runs_is_run_again(self, trial: Trial) -> None:
        """What came in after a run had begun may need another: it is not lost."""
        asked = Diary()

        async def run(job: Job) -> None:
            await asked.run(job)
            if len(asked.jobs) == 1:
                await trial.scheduler.submit(job)

        await trial.scheduler.start(run)
        await trial.submit(CONSOLIDATE)
        assert asked.jobs == [CONSOLIDATE, CONSOLIDATE]

    async def test_a_failure_ends_nothing(self, trial: Trial) -> None:
        """After a job that failed the others run, and so does the same one the next time."""
        trial.diary.failing.add(CONSOLIDATE)
        await trial.start()
        await trial.submit(CONSOLIDATE, DECAY)
        assert set(trial.diary.jobs) == {CONSOLIDATE, DECAY}
        trial.diary.failing.clear()
        await trial.submit(CONSOLIDATE)
        assert trial.diary.jobs.count(CONSOLIDATE) == 2

    async def test_a_failure_does_not_end_what_recurs(self, trial: Trial) -> None:
        """A job that fails is run again when it is due again."""
        self._needs_the_clock()
        trial.diary.failing.add(CONSOLIDATE)
        await trial.start(Every(job=CONSOLIDATE, interval=HOUR))
        assert await trial.pass_time(HOUR) == await trial.pass_time(HOUR) == [CONSOLIDATE]

    async def test_an_interval_is_kept(self, trial: Trial) -> None:
        """A job recurs once for each interval since the start, and not before it is over."""
        self._needs_the_clock()
        await trial.start(Every(job=CONSOLIDATE, interval=HOUR))
        assert trial.diary.jobs == []
        for _ in range(3):
            assert await trial.pass_time(HOUR - MINUTE) == []
            assert await trial.pass_time(MINUTE) == [CONSOLIDATE]

    async def test_an_hour_of_utc_is_kept(self, trial: Trial) -> None:
        """A job recurs once a day, at that full hour."""
        self._needs_the_clock()
        hour = (trial.clock() + 17 * HOUR).hour
        await trial.start(Every(job=DECAY, utc_hour=hour))
        assert await trial.pass_time(17 * HOUR - MINUTE) == []
        assert await trial.pass_time(MINUTE) == [DECAY]
        assert await trial.pass_time(DAY - MINUTE) == []
        assert await trial.pass_time(MINUTE) == [DECAY]

    async def test_missed_times_are_one_run(self, trial: Trial) -> None:
        """However long a due time was missed, the job runs once, and then goes on as ever."""
        self._needs_the_clock()
        await trial.start(
            Every(job=CONSOLIDATE, interval=HOUR),
            Every(job=DECAY, utc_hour=(trial.clock() + 2 * HOUR).hour),
        )
        assert sorted(await trial.pass_time(9 * DAY + MINUTE), key=repr) == [CONSOLIDATE, DECAY]
        assert await trial.pass_time(MINUTE) == []
        assert await trial.pass_time(HOUR) == [CONSOLIDATE]

    async def test_what_recurs_may_be_asked_for_as_well(self, trial: Trial) -> None:
        """A job that was asked for runs at once; its own times stay what they were."""
        self._needs_the_clock()
        await trial.start(Every(job=CONSOLIDATE, interval=HOUR))
        await trial.pass_time(HOUR / 2)
        await trial.submit(CONSOLIDATE)
        assert trial.diary.jobs == [CONSOLIDATE]
        assert await trial.pass_time(HOUR / 2) == [CONSOLIDATE]

    async def test_nothing_runs_after_the_end(self, trial: Trial) -> None:
        """After `aclose` nothing that recurs is run, and nothing more is taken."""
        self._needs_the_clock()
        await trial.start(Every(job=CONSOLIDATE, interval=HOUR))
        assert await trial.pass_time(HOUR) == [CONSOLIDATE]
        await trial.scheduler.aclose()
        assert await trial.pass_time(5 * HOUR) == []
        with pytest.raises(Closed):
            await trial.scheduler.submit(DECAY)

    async def test_the_end_leaves_no_task_behind(self, trial: Trial) -> None:
        """What a scheduler began on the loop, it ends."""
        before = asyncio.all_tasks()
        await trial.start(Every(job=DECAY, interval=HOUR))
        await trial.submit(CONSOLIDATE)
        assert trial.diary.jobs == [CONSOLIDATE]
        await trial.scheduler.aclose()
        assert asyncio.all_tasks() <= before

    async def test_the_end_does_not_wait_for_ever(self, trial: Trial) -> None:
        """A job that hangs is cancelled in the end, and has ended when `aclose` returns."""
        only_where(self.runs_by_itself, "jobs of its own")
        trial.diary.hanging.add(CONSOLIDATE)
        await trial.start()
        await trial.submit(CONSOLIDATE)
        assert (trial.diary.jobs, trial.diary.ended) == ([CONSOLIDATE], [])
        with anyio.fail_after(PATIENCE):
            await trial.scheduler.aclose()
        assert trial.diary.ended == [CONSOLIDATE]

    async def test_closing_twice_is_fine(self, trial: Trial) -> None:
        """`aclose` may be called again, and before `start`."""
        await trial.scheduler.aclose()
        await trial.scheduler.aclose()

    def _needs_the_clock(self) -> None:
        only_where(self.follows_clock, "a clock that can be moved")
