"""A clock whose sleepers wake when it is moved."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from memkit import Job
from memkit.testing.clock import ManualClock
from memkit.testing.values import NOW


class Time(ManualClock):
    """Time that stands still, and a `sleep` that goes by it."""

    def __init__(self) -> None:
        super().__init__(NOW)
        self._moved = asyncio.Condition()

    async def sleep(self, seconds: float) -> None:
        """Until the clock has been moved so far."""
        until = self() + timedelta(seconds=seconds)
        async with self._moved:
            await self._moved.wait_for(lambda: self() >= until)

    async def pass_(self, *, days: float = 0, hours: float = 0, minutes: float = 0) -> None:
        """Move the clock, and let everybody who woke get through."""
        self.advance(days=days, hours=hours, minutes=minutes)
        async with self._moved:
            self._moved.notify_all()
        await rest()


class Runner:
    """What carries out jobs: it notes them, fails or waits as a test says."""

    def __init__(self) -> None:
        self.jobs: list[Job] = []
        self.three = asyncio.Event()
        self.failures: list[Exception] = []
        self.gate: asyncio.Event | None = None
        self.cancelled = 0
        self.at_once = 0
        self.most_at_once = 0

    async def __call__(self, job: Job) -> None:
        """Carry out `job`."""
        self.jobs.append(job)
        if len(self.jobs) == 3:
            self.three.set()
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            if self.failures:
                raise self.failures.pop()
            if self.gate is not None:
                await self.gate.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.at_once -= 1


async def rest() -> None:
    """Let every task that is ready run, and those that become ready by it."""
    for _ in range(50):
        await asyncio.sleep(0)


@pytest.fixture
async def time() -> Time:
    """The time, in the test's hand."""
    return Time()


@pytest.fixture
async def run() -> Runner:
    """What is started with."""
    return Runner()
