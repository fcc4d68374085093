"""What is promised of a figure, and what was measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A bound that holds, and the better one that is aimed at."""

    sort: Literal["most", "least"] = "most"
    bound: float
    goal: float | None = None

    def holds(self, value: float) -> bool:
        """Whether `value` is on the right side."""
        return value <= self.bound if self.sort == "most" else value >= self.bound

    def __str__(self) -> str:
        """As people write it."""
        return f"{'<=' if self.sort == 'most' else '>='} {self.bound:g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """One line of the table. Without a bar it is there to be looked at."""

    store: str
    what: str
    value: float
    unit: str = "x"
    bar: Bar | None = None
    memkit: float | None = None
    """Seconds of one call."""
    beside: float | None = None
    """Seconds of the same by the raw driver, or of what else it is held against."""
    raw: float | None = None
    """Seconds of the same by the raw driver, where `beside` is a peer's."""
    note: str = ""

    @property
    def missed(self) -> bool:
        """True where a bar is not held."""
        return self.bar is not None and not self.bar.holds(self.value)
