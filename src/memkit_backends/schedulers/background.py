"""The scheduler within the process: one task that owns every job it runs."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from typing import Any

from memkit.contracts import Clock, Every, Job
from memkit.errors import Closed, ConfigError
from memkit.models import utcnow
from memkit_backends.schedulers.due import Recurrence

logger = logging.getLogger(__name__)

Run = Callable[[Job], Awaitable[None]]
Sleep = Callable[[float], Awaitable[None]]

_LONGEST_SLEEP = timedelta(minutes=1)
"""A suspended machine or a clock that was set is noticed within this time."""


class BackgroundScheduler:
    """Runs jobs beside everything else on its loop, `concurrency` of them at once.

    `drain` is how many seconds running jobs are given when it is closed.
    """

    def __init__(
        self,
        *,
        clock: Clock = utcnow,
        sleep: Sleep = asyncio.sleep,
        concurrency: int = 2,
        drain: float = 10.0,
    ) -> None:
        if concurrency < 1:
            raise ConfigError(f"background: concurrency must be at least 1, not {concurrency}")
        if not 0 <= drain < math.inf:
            raise ConfigError(f"background: drain must be at least 0 seconds, not {drain}")
        self._clock = clock
        self._sleep = sleep
        self._concurrency = concurrency
        self._drain = drain
        self._waiting: dict[Job, None] = {}
        self._running: dict[Job, asyncio.Task[None]] = {}
        self._recurring: list[Recurrence] = []
        self._woken = asyncio.Event()
        self._main: asyncio.Task[None] | None = None
        self._is_open = False
        self._misses = 0

    async def start(self, run: Run, *, recurring: Sequence[Every] = ()) -> None:
        """See `Scheduler.start`."""
        self._recurring = [Recurrence.of(each, self._clock()) for each in recurring]
        self._is_open = True
        self._main = asyncio.create_task(self._work(run), name="memkit scheduler")

    async def submit(self, job: Job) -> None:
        """See `Scheduler.submit`. While the same job runs, it waits for that to end."""
        if not self._is_open:
            raise Closed("scheduler")
        self._waiting[job] = None
        self._woken.set()

    async def aclose(self) -> None:
        """See `Scheduler.aclose`. What waits is let go: the ledger knows what is pending."""
        self._is_open = False
        self._waiting.clear()
        self._woken.set()
        if self._main is None:
            return
        try:
            if self._running:
                await asyncio.wait(self._running.values(), timeout=self._drain)
        finally:
            for task in self._running.values():
                task.cancel()
        await self._main

    async def _work(self, run: Run) -> None:
        async with asyncio.TaskGroup() as group:
            while self._is_open:
                self._woken.clear()
                seconds = self._look()
                self._launch(group, run)
                await self._pause(seconds)

    def _look(self) -> float:
        """Take in what has fallen due; how many seconds until something may be again."""
        try:
            now = self._clock()
            self._waiting |= {each.job: None for each in self._recurring if each.falls_due(now)}
            until = min((each.due - now for each in self._recurring), default=_LONGEST_SLEEP)
        except Exception as exc:  # noqa: BLE001  # a clock is anybody's; what is asked for still runs
            self._misses += 1
            logger.warning(
                "the clock failed, %d times by now: %s; %d recurring jobs wait",
                *(self._misses, type(exc).__name__, len(self._recurring)),
            )
            return _LONGEST_SLEEP.total_seconds()
        return min(until, _LONGEST_SLEEP).total_seconds()

    def _launch(self, group: asyncio.TaskGroup, run: Run) -> None:
        free = [job for job in self._waiting if job not in self._running]
        for job in free[: self._concurrency - len(self._running)]:
            del self._waiting[job]
            self._running[job] = group.create_task(self._carry_out(run, job))

    async def _carry_out(self, run: Run, job: Job) -> None:
        try:
            await run(job)
        except Exception as exc:  # noqa: BLE001  # one failure must not end what comes after it
            logger.warning("the %s job failed: %s", job.stage, type(exc).__name__)
        finally:
            del self._running[job]
            self._woken.set()

    async def _pause(self, seconds: float) -> None:
        """Sleep until something is due, was asked for, or has ended."""
        waits: list[asyncio.Future[Any]] = [asyncio.ensure_future(self._woken.wait())]
        if self._recurring:
            waits.append(asyncio.ensure_future(self._sleep(seconds)))
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in waits:
                each.cancel()
