"""The emulator's clock: virtual time that tests move by hand."""

from __future__ import annotations

import threading
import time
from datetime import UTC, datetime, timedelta

MILLISECOND = 1
SECOND = 1_000 * MILLISECOND
DAY = 86_400 * SECOND


class VirtualClock:
    """Milliseconds since the epoch; stands still unless `running`, moves only forward."""

    def __init__(self, start: datetime | None = None, *, running: bool = False) -> None:
        self._lock = threading.Lock()
        self._base = _milliseconds(time.time() if start is None else start.timestamp())
        self._started = time.monotonic()
        self._running = running

    def now(self) -> int:
        """Return the virtual time in whole milliseconds."""
        with self._lock:
            return self._base + self._elapsed()

    def now_datetime(self) -> datetime:
        """Return the virtual time as an aware datetime."""
        return datetime.fromtimestamp(self.now() / SECOND, UTC)

    def advance(self, step: float | timedelta) -> int:
        """Move forward by seconds or by a timedelta; return the new time in milliseconds."""
        seconds = step.total_seconds() if isinstance(step, timedelta) else float(step)
        if not 0 <= seconds <= timedelta(days=36_500).total_seconds():
            msg = f"the clock moves forward, by at most a century; got {seconds} s"
            raise ValueError(msg)
        with self._lock:
            self._base += _milliseconds(seconds)
        return self.now()

    def run(self) -> None:
        """Let virtual time pass with real time from now on."""
        with self._lock:
            if not self._running:
                self._started, self._running = time.monotonic(), True

    def freeze(self) -> None:
        """Stand still from now on."""
        with self._lock:
            self._base += self._elapsed()
            self._running = False

    def _elapsed(self) -> int:
        return _milliseconds(time.monotonic() - self._started) if self._running else 0


def _milliseconds(seconds: float) -> int:
    # Rounded: what was given in whole milliseconds is seldom whole in binary.
    return round(seconds * SECOND)
