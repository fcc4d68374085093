"""A store around a store: what faults, patience and watching are made of."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime, timedelta
from typing import Literal, Protocol, TypeVar, overload

from memkit.contracts import Ledger, Store, What
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
)

Answer = TypeVar("Answer")

WRITES = frozenset({"append", "apply", "forget", "purge", "claim", "renew", "settle", "requeue"})
"""The calls that leave something behind."""


class LedgerStore(Store, Ledger, Protocol):
    """A store that leaves extraction to memkit: both contracts in one object."""


class StoreAround:
    """Is the store it is given. A subclass says in `through` what else every call does."""

    def __init__(self, inner: Store) -> None:
        self.inner = inner

    async def through(self, _name: str, call: Callable[[], Awaitable[Answer]], /) -> Answer:
        """Make the `call` of the method of that name."""
        return await call()

    @property
    def capabilities(self) -> Capabilities:
        """Those of the store inside."""
        return self.inner.capabilities

    async def tail(self, scope: Scope, session_id: str, *, limit: int) -> Tail:
        """See `Store.tail`."""
        return await self.through("tail", lambda: self.inner.tail(scope, session_id, limit=limit))

    async def append(
        self,
        episodes: Sequence[Episode],
        *,
        expected_head: int | None = None,
        revise: bool = False,
    ) -> list[Appended]:
        """See `Store.append`."""
        return await self.through(
            "append",
            lambda: self.inner.append(episodes, expected_head=expected_head, revise=revise),
        )

    async def find(self, query: Query) -> Candidates:
        """See `Store.find`."""
        return await self.through("find", lambda: self.inner.find(query))

    async def get(self, scope: Scope, ids: Sequence[str]) -> list[MemoryItem]:
        """See `Store.get`."""
        return await self.through("get", lambda: self.inner.get(scope, ids))

    async def by_key(self, scope: Scope, key: str) -> MemoryItem | None:
        """See `Store.by_key`."""
        return await self.through("by_key", lambda: self.inner.by_key(scope, key))

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
        return await self.through(
            "scan",
            lambda: self.inner.scan(
                what, scope=scope, session_id=session_id, after=after, limit=limit
            ),
        )

    async def apply(self, scope: Scope, changes: Changes, *, epoch: int | None = None) -> Applied:
        """See `Store.apply`."""
        return await self.through("apply", lambda: self.inner.apply(scope, changes, epoch=epoch))

    async def forget(
        self, target: Target, *, at: datetime, replacement: str | None = None
    ) -> Receipt:
        """See `Store.forget`."""
        return await self.through(
            "forget", lambda: self.inner.forget(target, at=at, replacement=replacement)
        )

    async def purge(
        self, *, now: datetime, limit: int = 1000, dry_run: bool = False, force: bool = False
    ) -> Purged:
        """See `Store.purge`."""
        return await self.through(
            "purge",
            lambda: self.inner.purge(now=now, limit=limit, dry_run=dry_run, force=force),
        )

    async def stats(self, scope: Scope | None = None) -> Stats:
        """See `Store.stats`."""
        return await self.through("stats", lambda: self.inner.stats(scope))

    async def aclose(self) -> None:
        """See `Store.aclose`; goes straight through, so that a test always ends."""
        await self.inner.aclose()


class LedgerStoreAround(StoreAround):
    """The same around a store that is a ledger too."""

    inner: LedgerStore

    def __init__(self, inner: LedgerStore) -> None:
        super().__init__(inner)

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
        return await self.through(
            "claim",
            lambda: self.inner.claim(
                scope,
                now=now,
                budget=budget,
                lease=lease,
                idle=idle,
                max_wait=max_wait,
                context=context,
            ),
        )

    async def renew(self, claim: Claim, *, lease: timedelta) -> Claim:
        """See `Ledger.renew`."""
        return await self.through("renew", lambda: self.inner.renew(claim, lease=lease))

    async def settle(
        self, claim: Claim, outcome: SettleOutcome, *, now: datetime
    ) -> ConsolidationJob:
        """See `Ledger.settle`."""
        return await self.through("settle", lambda: self.inner.settle(claim, outcome, now=now))

    async def background(self, claim: Claim, query: Query, *, checksum: str) -> Background:
        """See `Ledger.background`."""
        return await self.through(
            "background", lambda: self.inner.background(claim, query, checksum=checksum)
        )

    async def requeue(self, job_ids: Sequence[str]) -> int:
        """See `Ledger.requeue`."""
        return await self.through("requeue", lambda: self.inner.requeue(job_ids))
