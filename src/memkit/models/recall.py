"""What one recall returned, and how a model is shown it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from memkit.models.item import Kind, Origin
from memkit.render import render


@dataclass(slots=True, kw_only=True)  # frozen, making it would take three times as long
class Recalled:
    """One injected item, narrow and cheap.

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
    block: str = field(default="", repr=False, compare=False)
    """What `render` gives, where it was worked out already."""

    @property
    def has_untrusted(self) -> bool:
        """True when an item was said by a tool or imported, so a host may gate its tools."""
        return any(each.origin in {"tool", "imported"} for each in self.items)

    def render(self) -> str:
        """One delimited block to put before a model, or "" when nothing was recalled.

        One line per item, escaped; see `memkit.render`.
        """
        return self.block or render(self.items)
