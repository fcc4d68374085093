"""How far a run has come: a line on stderr every few seconds, so that long ones can be watched."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from typing import TypeVar

Step = TypeVar("Step")

PAUSE = 5.0
"""Seconds between two lines; what is over sooner says nothing."""


class Progress:
    """Of a run of `of` steps that begins now."""

    def __init__(self, of: int, *, pause: float = PAUSE) -> None:
        self._of = of
        self._pause = pause
        self._begun = time.monotonic()
        self._next = self._begun + pause

    def at(self, done: int) -> None:
        """So many steps are done."""
        now = time.monotonic()
        if now >= self._next:
            self._next = now + self._pause
            seconds = now - self._begun
            print(f"{done:,} of {self._of:,} after {seconds:.0f} s", file=sys.stderr, flush=True)  # noqa: T201  # the report


def watched(steps: Sequence[Step]) -> Iterator[Step]:
    """Each of these steps, and how far it has come with them."""
    progress = Progress(len(steps))
    for done, step in enumerate(steps):
        progress.at(done)
        yield step
