"""The store itself: each call is one uninterrupted piece of work on the state."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Literal, assert_never, overload

from memkit.contracts import Clock, What
from memkit.errors import Closed
from memkit.inmemory import items, ledger, pages
from memkit.inmemory.candidates import find
from memkit.inmemory.claims import Terms, claim
from memkit.inmemory.episodes import append, tail
from memkit.inmemory.forgetting import forget
from memkit.inmemory.purging import purge
from memkit.inmemory.state import State
from memkit.models import (
    Appended,
    Applied,
    Background,
    Candidates,
    Capabilities,
    Changes,
    Claim,
    ConsolidationJob,
    Episode,
    MemoryItem,
    Page,
    Purged,
    Query,
    Receipt,
    Scope,
    SettleOutcome,
    Stats,
    Tail,
    Target,
    Tombstone,
    new_id,
    utcnow,
)


class InMemoryStore:
    """`memory://`: a `Store` and `Ledger` in plain dicts, gone with the process.

    No method awaits anything, so each is one step to every other task.
    """

    capabilities = Capabilities(
        name="memory",
        durable=False,
        transactions=True,
        consistency="immediate",
        leases="exclusive",
    )

    def __init__(self, *, lease_clock: Clock = utcnow, make_id: Callable[[], str] = new_id) -> None:
        self._open_state: State | None = State(clock=lease_clock)
        self._make_id = make_id

    @property
    def _state(self) -> State:
        if self._open_state is None:
            raise Closed("in-memory store")
        return self._open_state

    async def tail(self, scope: Scope, session_id: str, *, limit: int) -> Tail:
        """See `Store.tail`."""
        return tail(self._state, scope, session_id, limit=limit)

    async def append(
        self,
        episodes: Sequence[Episode],
        *,
        expected_head: int | None = None,
        revise: bool = False,
    ) -> list[Appended]:
        """See `Store.append`."""
        return append(self._state, episodes, expected_head=expected_head, revise=revise)

    async def find(self, query: Query) -> Candidates:
        """See `Store.find`."""
        return find(self._state, query)

    async def get(self, scope: Scope, ids: Sequence[str]) -> list[MemoryItem]:
        """See `Store.get`."""
        return items.get(self._state, scope, ids)

    async def by_key(self, scope: Scope, key: str) -> MemoryItem | None:
        """See `Store.by_key`."""
        return items.by_key(self._state, scope, key)

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
        state, span = self._state, pages.Span(scope, session_id, after, limit)
        match what:
            case "items":
                return pages.items(state, span)
            case "episodes":
                return pages.episodes(state, span)
            case "jobs":
                return pages.jobs(state, span)
            case "tombstones":
                return pages.tombstones(state, span)
            case _:
                assert_never(what)

    async def apply(self, scope: Scope, changes: Changes, *, epoch: int | None = None) -> Applied:
        """See `Store.apply`."""
        return items.apply(self._state, scope, changes, epoch=epoch)

    async def forget(
        self, target: Target, *, at: datetime, replacement: str | None = None
    ) -> Receipt:
        """See `Store.forget`."""
        return forget(self._state, target, at=at, replacement=replacement)

    async def purge(
        self, *, now: datetime, limit: int = 1000, dry_run: bool = False, force: bool = False
    ) -> Purged:
        """See `Store.purge`."""
        return purge(self._state, now=now, limit=limit, dry_run=dry_run, force=force)

    async def stats(self, scope: Scope | None = None) -> Stats:
        """See `Store.stats`."""
        return pages.stats(self._state, scope)

    async def claim(  # noqa: PLR0913  # the contract's signature
        self,
        scope: Scope | None = None,
        *,
        now: datetime,
        budget: int,
        lease: timedelta,
        idle: timedelta | None = None,
        max_wait: timedelta | None = None,
        context: int = 8,
    ) -> Claim | None:
        """See `Ledger.claim`."""
        terms = Terms(
            now=now, budget=budget, lease=lease, idle=idle, max_wait=max_wait, context=context
        )
        return claim(self._state, scope, terms, job_id=self._make_id())

    async def renew(self, claim: Claim, *, lease: timedelta) -> Claim:
        """See `Ledger.renew`."""
        return ledger.renew(self._state, claim, lease=lease)

    async def settle(
        self, claim: Claim, outcome: SettleOutcome, *, now: datetime
    ) -> ConsolidationJob:
        """See `Ledger.settle`."""
        return ledger.settle(self._state, claim, outcome, now=now)

    async def background(self, claim: Claim, query: Query, *, checksum: str) -> Background:
        """See `Ledger.background`."""
        return ledger.background(self._state, claim, query, checksum)

    async def requeue(self, job_ids: Sequence[str]) -> int:
        """See `Ledger.requeue`."""
        return ledger.requeue(self._state, job_ids)

    async def aclose(self) -> None:
        """See `Store.aclose`. What was remembered is gone."""
        self._open_state = None
