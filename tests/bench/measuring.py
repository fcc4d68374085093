"""Timing: several subjects in turn, so that whatever else the machine does hits them all."""

from __future__ import annotations

import asyncio
import gc
import statistics
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

Call = Callable[[int], Awaitable[object]]
"""One call of a subject; the number says which of the prepared cases it is."""


@dataclass(frozen=True, slots=True)
class Timings:
    """Seconds per call, one figure for each round, by subject."""

    rounds: Mapping[str, list[float]]

    def seconds(self, subject: str) -> float:
        """The median over the rounds."""
        return statistics.median(self.rounds[subject])

    def times(self, subject: str, other: str) -> float:
        """How many times as long `subject` takes: the median of what each round says."""
        pairs = zip(self.rounds[subject], self.rounds[other], strict=True)
        return statistics.median(mine / theirs for mine, theirs in pairs)


async def interleaved(
    subjects: Mapping[str, Call],
    *,
    rounds: int,
    calls: int,
    callers: int = 1,
    slow: Mapping[str, int] | None = None,
) -> Timings:
    """Have every subject make its calls in each round, in turning order: `slow` ones fewer."""
    taken: dict[str, list[float]] = {name: [] for name in subjects}
    counts = dict.fromkeys(subjects, calls) | dict(slow or {})
    for name, call in subjects.items():
        await _several(call, 0, max(counts[name] // 4, callers), callers)
    names = list(subjects)
    for number in range(rounds):
        for name in names:
            gc.collect()
            start = (number + 1) * counts[name]
            taken[name].append(await _several(subjects[name], start, counts[name], callers))
        names.append(names.pop(0))
    return Timings(taken)


async def _several(call: Call, start: int, calls: int, callers: int) -> float:
    """Seconds per call: the median of one caller's, or what a call costs where many overlap."""
    if callers == 1:
        return await _alone(call, start, calls)
    shares = [range(start + first, start + calls, callers) for first in range(callers)]
    begun = time.perf_counter()
    await asyncio.gather(*(_each(call, share) for share in shares))
    return (time.perf_counter() - begun) / calls


async def _alone(call: Call, start: int, calls: int) -> float:
    taken: list[float] = []
    for number in range(start, start + calls):
        begun = time.perf_counter()
        await call(number)
        taken.append(time.perf_counter() - begun)
    return statistics.median(taken)


async def _each(call: Call, numbers: range) -> None:
    for number in numbers:
        await call(number)
