"""Lives through moments in the zone that TZ names: `python -m tests.gates.zone`."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Literal
from zoneinfo import ZoneInfo

from memkit.app import open_memory
from memkit.config import Config
from memkit.decay import from_microseconds, microseconds
from memkit.hookspecs import Event
from memkit.memory import Memory
from memkit.models import Scope, utcnow
from memkit.testing.reading import all_items

Sort = Literal["utc", "zoned", "local-time"]
Step = Sequence[Any]
"""A moment in microseconds since the epoch, what is done then, and with what."""

SCOPE = Scope("ann")
TICK = timedelta(minutes=20)
HOURLY_AND_DAILY = Config.model_validate(
    {"scheduler": {"use": "manual", "consolidate_every": "1h", "decay_at_utc_hour": 2}}
)


class Clock:
    """Set to a moment, it tells it as one sort of clock does."""

    def __init__(self, sort: Sort) -> None:
        self._sort = sort
        self._zone = ZoneInfo(os.environ.get("MEMKIT_GATE_ZONE", "UTC"))
        self.stamp = 0

    def __call__(self) -> datetime:
        """The time now, aware."""
        match self._sort:
            case "utc":
                return from_microseconds(self.stamp)
            case "zoned":
                return from_microseconds(self.stamp).astimezone(self._zone)
            case "local-time":  # the bug: what the wall says, said to be UTC
                return datetime.fromtimestamp(self.stamp / 1e6).replace(tzinfo=UTC)  # noqa: DTZ006


class Life:
    """One memory, and the moments that it lives through, in whatever order."""

    def __init__(self, memory: Memory, clock: Clock) -> None:
        self._memory = memory
        self._clock = clock

    async def through(self, steps: Sequence[Step]) -> list[object]:
        """What each step came to."""
        answers = []
        for stamp, action, *arguments in steps:
            self._clock.stamp = stamp
            answers.append(await getattr(self, action)(*arguments))
        return answers

    async def remember(self, text: str, importance: float, days: float | None) -> object:
        """Tell something, at most for so many days."""
        ttl = None if days is None else timedelta(days=days)
        item = await self._memory.remember(SCOPE, text, importance=importance, ttl=ttl)
        return [microseconds(item.created_at), microseconds(item.expires_at)]

    async def say(self, text: str, before: float) -> object:
        """Record what was said so many hours before, and learn from it."""
        # Not by subtraction: in a zone, that goes by the wall.
        said_at = from_microseconds(self._clock.stamp - round(before * 3600e6))
        said_at = said_at.astimezone(self._clock().tzinfo)
        said = {"role": "user", "content": text, "time": said_at}
        await self._memory.record(SCOPE, [said], session_id="s")
        jobs = await self._memory.consolidate()
        return [each.status for each in jobs]

    async def recall(self) -> object:
        """Everything that is there, with its importance, and when it was observed."""
        found = await self._memory.inject(
            SCOPE, limit=1000, min_importance=0.0, token_budget=1_000_000
        )
        return [
            [each.content[-12:], round(each.importance, 9), microseconds(each.observed_at)]
            for each in found.items
        ]

    async def would_go(self) -> object:
        """What decay would delete."""
        gone = set((await self._memory.decay(dry_run=True)).item_ids)
        items = await all_items(self._memory.store)
        return sorted(each.content[-12:] for each in items if each.id in gone)


async def runs(windows: Sequence[tuple[int, int]], clock: Clock) -> list[list[object]]:
    """When recurring jobs run if time is looked at every few minutes."""
    seen: list[list[object]] = []

    def note(event: Event) -> None:
        seen.append([clock.stamp, event.stage])

    for start, end in windows:
        clock.stamp = start
        async with open_memory(
            HOURLY_AND_DAILY, store="memory://", clock=clock, observe=note
        ) as memory:
            run_pending: Callable[[], Any] = memory.scheduler.run_pending  # type: ignore[attr-defined]
            while clock.stamp < end:
                await run_pending()
                clock.stamp += TICK // timedelta(microseconds=1)
    return seen


async def lived(
    location: str, sort: Sort, steps: Sequence[Step], windows: Sequence[tuple[int, int]]
) -> dict[str, object]:
    """All that there is to tell."""
    clock = Clock(sort)
    config = Config.model_validate({"store": location})
    async with open_memory(config, clock=clock) as memory:
        answers = await Life(memory, clock).through(steps)
    now = utcnow()
    drift = abs(microseconds(now) / 1e6 - time.time())
    wall = now.utcoffset() == timedelta(0) and drift < 1
    return {"answers": answers, "runs": await runs(windows, clock), "wall": wall}


if __name__ == "__main__":
    given = json.load(sys.stdin)
    json.dump(asyncio.run(lived(**given)), sys.stdout)
