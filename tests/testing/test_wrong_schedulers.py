"""Schedulers that are wrong in one thing each fail the rule that they break."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from memkit.contracts import Every, Job, Scheduler
from memkit.errors import Closed
from memkit.testing.clock import ManualClock
from memkit.testing.schedulers import SchedulerConformance, Sleep
from memkit.testing.suite import standard_tests
from memkit.testing.verdicts import judge
from memkit_backends.schedulers.background import BackgroundScheduler, Run
from memkit_backends.schedulers.due import Recurrence


class Right(BackgroundScheduler):
    """A scheduler, and the rule that it breaks."""

    breaks = ""


class DropsStages(Right):
    """Consolidates whatever it is asked."""

    breaks = "test_a_job_that_is_asked_for_is_run"

    async def submit(self, job: Job) -> None:
        """Of a scope of its own it makes all."""
        mine = job.scope is not None and job.scope.user_id == "ann"
        await super().submit(Job(stage=job.stage) if mine else job)


class RunsThrice(Right):
    """Runs a job more often than it was asked for."""

    breaks = "test_a_job_asked_for_twice_may_run_once"

    async def start(self, run: Run, *, recurring: Sequence[Every] = ()) -> None:
        """Another user's job, once more."""

        async def again(job: Job) -> None:
            await run(job)
            if job.scope is not None and job.scope.user_id == "bob":
                await run(job)

        await super().start(again, recurring=recurring)


class LosesWhatComesInBetween(Right):
    """Takes a job that runs for a job that was done."""

    breaks = "test_a_job_asked_for_while_it_runs_is_run_again"

    async def submit(self, job: Job) -> None:
        """Nothing to do, it thinks."""
        if job not in self._running:
            await super().submit(job)


class GivesUpOnFailures(Right):
    """Never runs a job again that failed when it was asked for."""

    breaks = "test_a_failure_ends_nothing"

    async def start(self, run: Run, *, recurring: Sequence[Every] = ()) -> None:
        """Keeps a list."""
        failed: set[Job] = set()

        async def unless_failed(job: Job) -> None:
            if job in failed:
                return
            try:
                await run(job)
            except RuntimeError:
                failed.update({job} if not recurring else ())

        await super().start(unless_failed, recurring=recurring)


class EndsWhatRecurs(Right):
    """Takes a recurring job that failed off its list."""

    breaks = "test_a_failure_does_not_end_what_recurs"

    async def start(self, run: Run, *, recurring: Sequence[Every] = ()) -> None:
        """As old timers do."""

        async def once(job: Job) -> None:
            try:
                await run(job)
            except RuntimeError:
                self._recurring = [each for each in self._recurring if each.job != job]

        await super().start(once, recurring=recurring)


class RecursTwice(Right):
    """Runs what recurs two times."""

    breaks = "test_an_interval_is_kept"

    async def start(self, run: Run, *, recurring: Sequence[Every] = ()) -> None:
        """And then no more."""
        done: list[Job] = []

        async def twice(job: Job) -> None:
            if len(done) < 2 or not recurring:
                done.append(job)
                await run(job)

        await super().start(twice if len(recurring) == 1 else run, recurring=recurring)


class KeepsAnotherHour(Right):
    """Takes the hour for one of some other zone."""

    breaks = "test_an_hour_of_utc_is_kept"

    async def start(self, run: Run, *, recurring: Sequence[Every] = ()) -> None:
        """One to the east."""
        moved = [
            each if each.utc_hour is None else replace(each, utc_hour=(each.utc_hour + 1) % 24)
            for each in recurring
        ]
        await super().start(run, recurring=moved)


class Missed(Recurrence):
    """Falls due once for each time that was missed."""

    def falls_due(self, now: datetime) -> bool:
        """The next time is one interval after the last."""
        if now < self.due:
            return False
        self.due += self.every.interval or timedelta(days=1)
        return True


class CatchesUp(Right):
    """Runs what was missed as often as it was missed."""

    breaks = "test_missed_times_are_one_run"

    async def start(self, run: Run, *, recurring: Sequence[Every] = ()) -> None:
        """A storm after the night."""
        await super().start(run, recurring=recurring)
        self._recurring = [Missed(each.every, each.due) for each in self._recurring]


class StartsAnew(Right):
    """Counts an interval from when the job was last asked for."""

    breaks = "test_what_recurs_may_be_asked_for_as_well"

    async def submit(self, job: Job) -> None:
        """Puts off what recurs."""
        await super().submit(job)
        for each in self._recurring:
            each.due = self._clock() + (each.every.interval or timedelta(days=1))


class RunsAfterTheEnd(Right):
    """Runs what it is asked for after it was closed."""

    breaks = "test_nothing_runs_after_the_end"

    async def submit(self, job: Job) -> None:
        """Takes it, and does nothing."""
        with suppress(Closed):
            await super().submit(job)


class LeavesATask(Right):
    """Starts something beside itself, and forgets it."""

    breaks = "test_the_end_leaves_no_task_behind"

    async def submit(self, job: Job) -> None:
        """Fire and forget."""
        await super().submit(job)
        if self._recurring:
            self._stray = asyncio.create_task(asyncio.sleep(60))


class LeavesAHangingJob(Right):
    """Returns while a job still runs."""

    breaks = "test_the_end_does_not_wait_for_ever"

    async def start(self, run: Run, *, recurring: Sequence[Every] = ()) -> None:
        """Shields it."""

        async def shielded(job: Job) -> None:
            self._inner = asyncio.ensure_future(run(job))
            await asyncio.shield(self._inner)

        await super().start(run if recurring else shielded, recurring=recurring)


class ClosesOnce(Right):
    """Fails when it is closed before it was started."""

    breaks = "test_closing_twice_is_fine"

    async def aclose(self) -> None:
        """Once, at the first time."""
        if self._main is None and not getattr(self, "_warned", False):
            self._warned = True
            raise Closed("scheduler")
        await super().aclose()


WRONG = Right.__subclasses__()


class OfAWrongScheduler(SchedulerConformance):
    """The contract, asked of `wrong`."""

    wrong: type[Right] = Right

    async def open_scheduler(self, clock: ManualClock, sleep: Sleep) -> Scheduler:
        """The wrong scheduler."""
        return self.wrong(clock=clock, sleep=sleep, drain=0.01)


@pytest.mark.anyio
@pytest.mark.parametrize("wrong", [Right, *WRONG], ids=lambda wrong: wrong.__name__)
async def test_a_wrong_scheduler_fails_the_rule_it_breaks(wrong: type[Right]) -> None:
    """And no other; one that is right fails none."""
    suite = type(wrong.__name__, (OfAWrongScheduler,), {"wrong": wrong})
    verdicts = await judge(suite)
    broken = {each.rule: each.why for each in verdicts if each.outcome == "broken"}
    assert broken.keys() == ({wrong.breaks} - {""}), broken


def test_every_rule_has_a_scheduler_that_breaks_it() -> None:
    """No rule is there that nothing was seen to fail."""
    rules = {name for name, _ in standard_tests(OfAWrongScheduler)}
    assert rules == {each.breaks for each in WRONG}
