"""The scheduler that does nothing by itself."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from memkit.contracts import Clock, Every, Job
from memkit.errors import Closed
from memkit.models import utcnow
from memkit_backends.schedulers.due import Recurrence


class ManualScheduler:
    """Jobs wait until `run_pending` is called: by a test, a request, or a cron of the host's."""

    def __init__(self, *, clock: Clock = utcnow) -> None:
        self._clock = clock
        self._waiting: dict[Job, None] = {}
        self._recurring: list[Recurrence] = []
        self._run: Callable[[Job], Awaitable[None]] | None = None

    async def start(
        self, run: Callable[[Job], Awaitable[None]], *, recurring: Sequence[Every] = ()
    ) -> None:
        """See `Scheduler.start`."""
        self._recurring = [Recurrence.of(each, self._clock()) for each in recurring]
        self._run = run

    async def submit(self, job: Job) -> None:
        """See `Scheduler.submit`. It runs when `run_pending` is called."""
        self._started()
        self._waiting[job] = None

    async def run_pending(self) -> int:
        """Run what was asked for and what has fallen due, one after the other; how many.

        What fails is raised; the jobs behind it keep waiting.
        """
        run, now = self._started(), self._clock()
        self._waiting |= {each.job: None for each in self._recurring if each.falls_due(now)}
        count = 0
        while self._waiting:
            job = next(iter(self._waiting))
            del self._waiting[job]
            await run(job)
            count += 1
        return count

    async def aclose(self) -> None:
        """See `Scheduler.aclose`. What waits is let go: the ledger knows what is pending."""
        self._run = None
        self._waiting.clear()

    def _started(self) -> Callable[[Job], Awaitable[None]]:
        if self._run is None:
            raise Closed("scheduler")
        return self._run
