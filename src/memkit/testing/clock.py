"""A clock that stands still until a test moves it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_START = datetime(2026, 1, 1, 9, tzinfo=UTC)


class ManualClock:
    """Answers with the same time until it is moved; hand it in wherever a clock is asked for."""

    def __init__(self, start: datetime = _START) -> None:
        self._now = _aware(start)

    def __call__(self) -> datetime:
        """The time now, aware."""
        return self._now

    def advance(
        self,
        by: timedelta = timedelta(0),
        *,
        days: float = 0,
        hours: float = 0,
        minutes: float = 0,
        seconds: float = 0,
    ) -> datetime:
        """Move forward by all of it together (back, if negative); returns the new time."""
        self._now += by + timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)
        return self._now

    def set(self, now: datetime) -> None:
        """Make it `now`, which may lie before the time it showed."""
        self._now = _aware(now)


def _aware(moment: datetime) -> datetime:
    if moment.tzinfo is None:
        raise ValueError("a clock needs an aware datetime; give it a time zone")
    return moment
