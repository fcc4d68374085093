"""Retention: what is past its time goes, and dates follow a changed policy."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby

from memkit.config import Config
from memkit.contracts import Clock, Store
from memkit.decay import Policy
from memkit.models import Changes, Finding, MemoryItem, Patch, Purged, Scope, Stats

logger = logging.getLogger(__name__)

_BATCH = 1000
_SHOWN = 100_000
"""The most that a dry run lists."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """Retention in one store. `trusted` is a clock that was handed in, which may run ahead."""

    store: Store
    config: Config
    clock: Clock
    trusted: bool

    async def decay(self, *, dry_run: bool) -> Purged:
        """See `Memory.decay`."""
        now = self.clock()
        total = await self._purge(now, dry_run=dry_run)
        while total.more and not dry_run:
            total += await self._purge(now, dry_run=False)
        if total.unread and not dry_run:
            logger.warning(
                "%d episodes expired before they were consolidated; "
                "consolidate more often, or raise decay.episode_ttl",
                total.unread,
            )
        return total

    async def _purge(self, now: datetime, *, dry_run: bool) -> Purged:
        limit = _SHOWN if dry_run else _BATCH
        return await self.store.purge(now=now, limit=limit, dry_run=dry_run, force=self.trusted)

    async def rebuild(self) -> int:
        """See `Memory.rebuild`."""
        count = 0
        async for items in self._pages():
            strays = sorted(filter(self._is_stray, items), key=_scope_key)
            for scope, same in groupby(strays, key=lambda item: item.scope):
                count += await self._redated(scope, list(same))
        return count

    async def _redated(self, scope: Scope, strays: list[MemoryItem]) -> int:
        """Write their dates anew; of what others change meanwhile, those that it has then."""
        count = 0
        while strays:
            patches = tuple(self._dated(item) for item in strays)
            applied = await self.store.apply(scope, Changes(update=patches))
            count += len(applied.updated)
            again = await self.store.get(scope, applied.stale) if applied.stale else []
            strays = [item for item in again if self._is_stray(item)]
        return count

    async def _pages(self) -> AsyncIterator[tuple[MemoryItem, ...]]:
        after: str | None = None
        while True:
            page = await self.store.scan("items", after=after, limit=_BATCH)
            yield page.rows
            after = page.after
            if after is None:
                return

    def _policy(self, item: MemoryItem) -> Policy:
        return self.config.decay.policy(item.kind, pinned=item.pinned)

    def _is_stray(self, item: MemoryItem) -> bool:
        return item.policy != self._policy(item).name

    def _dated(self, item: MemoryItem) -> Patch:
        """The dates of `item` under today's policy, its importance being what it was."""
        policy = self._policy(item)
        fades_at = policy.fades_at(item.importance, item.reinforced_at)
        return Patch(id=item.id, policy=policy.name, fades_at=fades_at, if_fades_at=item.fades_at)

    def findings(self, stats: Stats) -> Iterator[Finding]:
        """What the configuration and the store's counts do not agree on."""
        kinds = {*self.config.kinds, *stats.kinds}
        expected = {self.config.decay.policy(kind).name for kind in kinds}
        expected.add(self.config.decay.policy("semantic", pinned=True).name)
        strays = sum(count for name, count in stats.policies.items() if name not in expected)
        if strays:
            yield Finding(
                level="warning",
                code="policy-changed",
                message=f"{strays} items still fade by an older policy; "
                "run `memkit decay --rebuild`",
            )
        if stats.dead:
            yield Finding(
                level="warning",
                code="dead-episodes",
                message=f"{stats.dead} episodes have used up their attempts; "
                "see `memkit jobs`, then `memkit retry`",
            )
        yield from self._backlog(stats)
        rules = self.config.scope
        if rules.read is not None and rules.write not in rules.read:
            yield Finding(
                level="warning",
                code="written-never-read",
                message=f"items are kept under scope.write = {rules.write!r}, which is not in "
                "scope.read: what is learnt is not recalled",
            )

    def _backlog(self, stats: Stats) -> Iterator[Finding]:
        """That a scheduler is not at work, or falls behind, wherever it runs."""
        rhythm, oldest = self.config.scheduler.consolidate_every, stats.oldest_pending_at
        if rhythm is None or oldest is None:
            return
        if self.clock() - oldest > rhythm + self.config.consolidate.max_wait:
            yield Finding(
                level="warning",
                code="consolidation-behind",
                message=f"{stats.pending} episodes are pending, the oldest since "
                f"{oldest.astimezone(UTC):%Y-%m-%d %H:%M} UTC: no scheduler is at work, or it "
                "fails; see `memkit jobs` and its log, or run `memkit consolidate`",
            )


def _scope_key(item: MemoryItem) -> str:
    return item.scope.key
