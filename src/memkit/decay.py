"""Forgetting by date: when an item fades is known when it is written.

importance(t) = importance * factor ** days, days since it was reinforced. An item is
forgotten when that falls below the threshold, so

    fades_at = reinforced_at + ln(threshold / max(importance, 1e-6)) / ln(factor) days
    importance(t) = threshold * factor ** -(days until fades_at)

and while items share a policy their order by `fades_at` is their order by importance at any
moment. Items that never fade stand beyond `FOREVER`, in order of importance.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from memkit.errors import ConfigError

DAY = timedelta(days=1)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
FOREVER = datetime(9000, 1, 1, tzinfo=UTC)
"""Dates from here on mean "never". Finite, so that arithmetic on them works everywhere."""

_DAY = DAY // timedelta(microseconds=1)
_FOREVER = (FOREVER - EPOCH) // timedelta(microseconds=1)

SMALLEST_IMPORTANCE = 1e-6
NEVER_FADES = "never"


@dataclass(frozen=True, slots=True)
class Policy:
    """How fast importance is lost: `factor` per day, forgotten below `threshold`.

    Defaults: 0.95 and 0.05. Factor 1 never fades. `ConfigError` outside 0 < factor <= 1 and
    0 < threshold < 1.
    """

    factor: float = 0.95
    threshold: float = 0.05

    def __post_init__(self) -> None:
        if not 0 < self.factor <= 1:
            raise ConfigError(f"decay factor must be above 0 and at most 1, not {self.factor}")
        if not 0 < self.threshold < 1:
            raise ConfigError(f"decay threshold must lie between 0 and 1, not {self.threshold}")

    @property
    def name(self) -> str:
        """How items carry it: `factor/threshold`, or "never"."""
        return NEVER_FADES if self.factor == 1 else f"{self.factor!r}/{self.threshold!r}"

    @classmethod
    def from_name(cls, name: str) -> Policy:
        """The policy whose `name` this is."""
        if name == NEVER_FADES:
            return cls(factor=1)
        factor, threshold = name.split("/")
        return cls(float(factor), float(threshold))

    def fades_at(self, importance: float, reinforced_at: datetime) -> datetime:
        """When an item that had `importance` at `reinforced_at` falls below the threshold.

        Already below it: a date before `reinforced_at`. Never: `FOREVER` and later.
        """
        if self.factor == 1:
            return FOREVER + importance * DAY
        ratio = self.threshold / max(importance, SMALLEST_IMPORTANCE)
        days = math.log(ratio) / math.log(self.factor)
        return _shifted(reinforced_at, days)

    def importance(self, fades_at: datetime, now: datetime) -> float:
        """Importance at `now` of an item that fades at `fades_at`; between 0 and 1."""
        return self.importance_at(microseconds(now))(microseconds(fades_at))

    def importance_at(self, now: int) -> Callable[[int], float]:
        """`importance` by `fades_at`, both dates in `microseconds`, as rows have them."""
        if self.factor == 1:
            return lambda fades_at: min(1.0, max(0.0, (fades_at - _FOREVER) / _DAY))
        rate, threshold, exp = -math.log(self.factor) / _DAY, self.threshold, math.exp
        # A hair before 1, so that no error of rounding goes beyond it.
        full = now - (math.log(threshold) + 1e-12) / rate
        return lambda at: threshold * exp((at - now) * rate) if at < full else 1.0


NEVER = Policy(factor=1)
"""The policy of pinned items."""


def end(created_at: datetime, ttl: timedelta | None) -> datetime | None:
    """When the time of what was made at `created_at` is up; None without a time to live."""
    return None if ttl is None else _shifted(created_at, ttl / DAY)


def _shifted(start: datetime, days: float) -> datetime:
    """`start` plus `days`, held between the epoch and just before FOREVER."""
    start = start.astimezone(UTC)  # elsewhere, days are as long as the clocks say
    latest = (FOREVER - start) / DAY - 1
    earliest = (EPOCH - start) / DAY
    return start + timedelta(days=min(max(days, earliest), latest))


def microseconds(moment: datetime) -> int:
    """Whole microseconds since the epoch, UTC: how rows keep a date."""
    return (moment - EPOCH) // timedelta(microseconds=1)


def from_microseconds(stamp: int) -> datetime:
    """The aware date in UTC whose `microseconds` this is."""
    return EPOCH + timedelta(0, 0, stamp)
