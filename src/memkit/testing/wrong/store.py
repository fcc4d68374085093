"""What every wrong store is: the reference, but for one rule."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import ClassVar, Literal, Required, Self, TypedDict, TypeVar, assert_never, overload

from memkit.contracts import Clock, What
from memkit.inmemory import InMemoryStore, pages
from memkit.inmemory.pages import Span
from memkit.models import (
    ConsolidationJob,
    Episode,
    MemoryItem,
    Model,
    Page,
    Scope,
    Tombstone,
)

Row = TypeVar("Row", bound=Model)


class How(TypedDict, total=False):
    """What `Store.append` takes by name."""

    expected_head: int | None
    revise: bool


class Manner(TypedDict, total=False):
    """What `Store.forget` takes by name."""

    at: Required[datetime]
    replacement: str | None


class Sweep(TypedDict, total=False):
    """What `Store.purge` takes."""

    now: Required[datetime]
    limit: int
    dry_run: bool
    force: bool


class Terms(TypedDict, total=False):
    """What `Ledger.claim` takes by name."""

    now: Required[datetime]
    budget: Required[int]
    lease: Required[timedelta]
    idle: timedelta | None
    max_wait: timedelta | None
    context: int


class Wrong(InMemoryStore):
    """A store with one fault: `breaks` names the test, and the only one, that it fails."""

    breaks: ClassVar[str]

    def __init__(self, clock: Clock) -> None:
        super().__init__(lease_clock=clock)

    def reopened(self) -> Self:
        """This store as it would be found after a restart."""
        return self

    def rewrite(self, item_id: str, **values: object) -> None:
        """Give an item other values, behind the contract's back."""
        self._state.put(self._state.items[item_id].model_copy(update=values))

    def asked(self, _what: What, span: Span) -> Span:
        """What a scan looks through; a wrong store may look elsewhere."""
        return span

    def answered(self, _what: What, _span: Span, page: Page[Row]) -> Page[Row]:
        """What a scan answers; a wrong store may answer otherwise."""
        return page

    @overload
    async def scan(
        self,
        what: Literal["items"],
        *,
        scope: Scope | None = None,
        session_id: str | None = None,
        after: str | None = None,
        limit: int = 100,
    ) -> Page[MemoryItem]: ...
    @overload
    async def scan(
        self,
        what: Literal["episodes"],
        *,
        scope: Scope | None = None,
        session_id: str | None = None,
        after: str | None = None,
        limit: int = 100,
    ) -> Page[Episode]: ...
    @overload
    async def scan(
        self,
        what: Literal["jobs"],
        *,
        scope: Scope | None = None,
        session_id: str | None = None,
        after: str | None = None,
        limit: int = 100,
    ) -> Page[ConsolidationJob]: ...
    @overload
    async def scan(
        self,
        what: Literal["tombstones"],
        *,
        scope: Scope | None = None,
        session_id: str | None = None,
        after: str | None = None,
        limit: int = 100,
    ) -> Page[Tombstone]: ...
    async def scan(
        self,
        what: What,
        *,
        scope: Scope | None = None,
        session_id: str | None = None,
        after: str | None = None,
        limit: int = 100,
    ) -> Page[MemoryItem] | Page[Episode] | Page[ConsolidationJob] | Page[Tombstone]:
        """See `Store.scan`."""
        state, span = self._state, Span(scope, session_id, after, limit)
        asked = self.asked(what, span)
        match what:
            case "items":
                return self.answered(what, span, pages.items(state, asked))
            case "episodes":
                return self.answered(what, span, pages.episodes(state, asked))
            case "jobs":
                return self.answered(what, span, pages.jobs(state, asked))
            case "tombstones":
                return self.answered(what, span, pages.tombstones(state, asked))
            case _:
                assert_never(what)
