"""When a recurring job is due. Pure: times in, times out, in UTC."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from memkit.contracts import Every, Job
from memkit.errors import ConfigError

_DAY = timedelta(days=1)


@dataclass(slots=True)
class Recurrence:
    """A recurring job and when it is due next."""

    every: Every
    due: datetime

    @classmethod
    def of(cls, every: Every, now: datetime) -> Recurrence:
        """First due one period from `now`, or at the next such hour."""
        return cls(every, _next(every, now))

    @property
    def job(self) -> Job:
        """The job itself."""
        return self.every.job

    def falls_due(self, now: datetime) -> bool:
        """Whether the job is to run at `now`; the next time is then set.

        However many times were missed, that is one run. A clock that was turned back does not
        put the next run off for longer than a period.
        """
        if self.due - now > (self.every.interval or _DAY):
            self.due = _next(self.every, now)
        if now < self.due:
            return False
        if self.every.interval is None:
            self.due = _next(self.every, now)
        else:
            self.due += self.every.interval * ((now - self.due) // self.every.interval + 1)
        return True


def _next(every: Every, now: datetime) -> datetime:
    match every.interval, every.utc_hour:
        case timedelta() as interval, None if interval > timedelta(0):
            return now.astimezone(UTC) + interval
        case None, int() as hour if 0 <= hour <= 23:  # noqa: PLR2004  # hours of a day
            today = now.astimezone(UTC).replace(hour=hour, minute=0, second=0, microsecond=0)
            return today if today > now else today + _DAY
        case _:
            raise ConfigError(
                f"{every.job.stage}: a recurring job needs an interval or an hour of UTC, not both"
            )
