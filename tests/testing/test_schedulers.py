"""The schedulers that memkit comes with keep every rule of the kit."""

from __future__ import annotations

from memkit.contracts import Scheduler
from memkit.errors import Closed
from memkit.testing.clock import ManualClock
from memkit.testing.schedulers import SchedulerConformance, Sleep
from memkit_backends.schedulers.background import BackgroundScheduler
from memkit_backends.schedulers.manual import ManualScheduler


class TestBackgroundScheduler(SchedulerConformance):
    """In the process, on a clock that the kit moves."""

    async def open_scheduler(self, clock: ManualClock, sleep: Sleep) -> Scheduler:
        """One that gives a hanging job no time."""
        return BackgroundScheduler(clock=clock, sleep=sleep, drain=0.01)


class TestManualScheduler(SchedulerConformance):
    """Told to run by whoever has it."""

    runs_by_itself = False

    async def open_scheduler(self, clock: ManualClock, sleep: Sleep) -> Scheduler:  # noqa: ARG002  # it does not sleep
        """One that waits to be told."""
        return ManualScheduler(clock=clock)

    async def let_run(self, scheduler: Scheduler) -> None:
        """Tell it, as often as one of its jobs fails."""
        assert isinstance(scheduler, ManualScheduler)
        while True:
            try:
                if not await scheduler.run_pending():
                    return
            except RuntimeError:
                continue
            except Closed:
                return
