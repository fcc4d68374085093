"""What a gate found out."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """`lost` and `doubled` count what was acknowledged and is not there exactly once; `failed`
    counts every other miss. `facts` are further figures worth printing.
    """

    lost: int = 0
    doubled: int = 0
    failed: int = 0
    facts: dict[str, int | float | str] = field(default_factory=dict)

    @property
    def passed(self) -> bool:
        """True when nothing was missed."""
        return not (self.lost or self.doubled or self.failed)

    def line(self, gate: str, *, n: int, seed: int, bug: str | None, seconds: float) -> str:
        """The one JSON object a gate prints."""
        return json.dumps(
            {
                "gate": gate,
                "n": n,
                "seed": seed,
                "bug": bug,
                "passed": self.passed,
                "lost": self.lost,
                "doubled": self.doubled,
                "failed": self.failed,
                "seconds": round(seconds, 2),
                **self.facts,
            }
        )


@dataclass(frozen=True, kw_only=True)
class Gate:
    """A promise and how to try it. `full` is the release figure for `n`; `bugs` turn it red.

    `least` is the smallest `n` that still means something in a share of `all`, `most` the
    largest that is worth its time there.
    """

    name: str
    promise: str
    full: int
    run: Callable[[int, int, str | None], Verdict]
    bugs: tuple[str, ...] = ()
    least: int = 1
    most: int | None = None

    def part(self, share: float) -> int:
        """How often to try it in this share of `all`."""
        n = max(self.least, round(self.full * share))
        return n if self.most is None or share >= 1 else min(n, self.most)
