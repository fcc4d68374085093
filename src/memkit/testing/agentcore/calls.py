"""A call: one validated request, with the parts of the emulator that serve it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from memkit.testing.agentcore.paging import Pager, pager

if TYPE_CHECKING:
    from memkit.testing.agentcore.extraction import Queue
    from memkit.testing.agentcore.memories import Memory, Shelf
    from memkit.testing.agentcore.mint import Mint
    from memkit.testing.agentcore.models import Operation
    from memkit.testing.agentcore.switches import Switches
    from memkit.testing.agentcore.values import Params

DEFAULT_PAGE = 20


@dataclass(kw_only=True)
class Call:
    """What an operation needs to know. `staleness` is a lag in ms that a fault adds to reads."""

    operation: Operation
    params: Params
    now: int
    region: str
    shelf: Shelf
    switches: Switches
    mint: Mint
    queue: Queue
    staleness: int = 0
    shows_deleted: bool = False

    def memory(self) -> Memory:
        """Return the memory that the request names, which must take requests."""
        return self.shelf.usable(self.params.text("memoryId"), self.now)

    def pager(self, default: int = DEFAULT_PAGE) -> Pager:
        """Return the pager for this request."""
        size = self.params.whole("maxResults", default)
        short = self.switches.page_short
        return pager(self.operation.name, self.params.members, size, short=short)

    def seen_until(self, lag_seconds: float) -> int:
        """Return the time up to which writes are visible to this call."""
        return self.now - int(lag_seconds * 1_000) - self.staleness
