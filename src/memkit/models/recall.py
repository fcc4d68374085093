"""What one recall returned, and how a model is shown it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Self

from memkit.models.item import Kind, Origin
from memkit.render import block, render


@dataclass(slots=True)  # frozen or of keywords only, making it would take three times as long
class Recalled:
    """One injected item, narrow and cheap. A copy: to change it changes no memory, and no block
    that was rendered.

    `importance` is as of now. `score` is absolute, 0..1: how much of the query it answers,
    or its importance where there was no query. `source` names the first message it came from
    as `session_id#position`. `why` says which channels chose it, in plain words.
    """

    id: str
    content: str
    kind: Kind
    origin: Origin
    importance: float
    score: float
    observed_at: datetime
    source: str | None = None
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkingMemory:
    """What one `inject` returned.

    `degraded` means that a channel missed the deadline and the answer may lack something.
    """

    items: tuple[Recalled, ...] = ()
    degraded: bool = False
    _block: str = field(default="", init=False, repr=False, compare=False)

    @classmethod
    def of(cls, shown: Sequence[tuple[Recalled, str]], *, degraded: bool) -> Self:
        """Of items and their lines, which are then not worked out once more."""
        memory = cls(items=tuple([item for item, _ in shown]), degraded=degraded)
        # Not a parameter: a copy with other items has to render those.
        object.__setattr__(memory, "_block", block(shown))
        return memory

    @property
    def has_untrusted(self) -> bool:
        """True when an item was said by a tool or imported, so a host may gate its tools."""
        return any(each.origin in {"tool", "imported"} for each in self.items)

    def render(self) -> str:
        """One delimited block to put before a model, or "" when nothing was recalled.

        One line per item, escaped; see `memkit.render`.
        """
        return self._block or render(self.items)
