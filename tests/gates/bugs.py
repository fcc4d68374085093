"""Stores with a bug that more than one gate puts in: a step of two where there must be one."""

from __future__ import annotations

from datetime import datetime

from memkit.models import Changes, Claim, Completed, ConsolidationJob, SettleOutcome
from memkit.testing.around import LedgerStoreAround


class TwoCommits(LedgerStoreAround):
    """Items are committed, and then in a second step that their episodes are done."""

    async def settle(
        self, claim: Claim, outcome: SettleOutcome, *, now: datetime
    ) -> ConsolidationJob:
        """See `Ledger.settle`."""
        if isinstance(outcome, Completed):
            await self.inner.apply(claim.scope, outcome.changes, epoch=claim.epoch)
            outcome = outcome.model_copy(update={"changes": Changes()})
        return await self.inner.settle(claim, outcome, now=now)


class MarkFirst(LedgerStoreAround):
    """Episodes are marked as done, and then in a second step their items are written."""

    async def settle(
        self, claim: Claim, outcome: SettleOutcome, *, now: datetime
    ) -> ConsolidationJob:
        """See `Ledger.settle`."""
        if not isinstance(outcome, Completed):
            return await self.inner.settle(claim, outcome, now=now)
        empty = outcome.model_copy(update={"changes": Changes()})
        job = await self.inner.settle(claim, empty, now=now)
        await self.inner.apply(claim.scope, outcome.changes, epoch=claim.epoch)
        return job
