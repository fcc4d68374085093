"""Consolidate: pending episodes become items, one claim at a time, each effect once."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

import anyio

from memkit.config import Config
from memkit.contracts import Clock, Ledger
from memkit.errors import (
    ExtractionError,
    Forgotten,
    InvalidInput,
    LeaseLost,
    MemkitError,
    OutcomeUnknown,
    StoreError,
)
from memkit.memory.learning import Learning
from memkit.models import Claim, ConsolidationJob, Released, Scope, SettleOutcome

logger = logging.getLogger(__name__)

Result = TypeVar("Result")

_PARTING = 5.0
"""Seconds for handing a claim back when everything ends."""
_SETTLE_TRIES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Consolidation:
    """Consolidation of one store, which is its own ledger."""

    ledger: Ledger
    learning: Learning
    config: Config
    clock: Clock

    async def run(self, scope: Scope | None, *, debounced: bool) -> list[ConsolidationJob]:
        """Settle everything that is due, in one scope or in all; the jobs it took.

        `debounced` leaves sessions alone in which somebody is still talking.
        """
        jobs: list[ConsolidationJob] = []
        workers = 1 if scope is not None else self.config.consolidate.concurrency
        async with _Unwrapped(), asyncio.TaskGroup() as group:
            for _ in range(workers):
                group.create_task(self._work(scope, jobs, debounced=debounced))
        return jobs

    async def _work(
        self, scope: Scope | None, jobs: list[ConsolidationJob], *, debounced: bool
    ) -> None:
        while (claim := await self._claim(scope, debounced=debounced)) is not None:
            jobs.append(await self._carried_out(claim))

    async def _claim(self, scope: Scope | None, *, debounced: bool) -> Claim | None:
        """What is due next. Granted to a caller who is gone, it is handed back."""
        rules = self.config.consolidate
        asked = asyncio.ensure_future(
            self.ledger.claim(
                scope,
                now=self.clock(),
                budget=rules.batch_tokens,
                lease=rules.lease,
                idle=rules.idle if debounced else None,
                max_wait=rules.max_wait if debounced else None,
                context=rules.context,
            )
        )
        try:
            return await asyncio.shield(asked)
        except asyncio.CancelledError:
            # Only its answer says whether there is anything to be handed back.
            with anyio.move_on_after(_PARTING, shield=True), suppress(MemkitError):
                claim = await asked
                if claim is not None:
                    await self._hand_back(claim)
            raise

    async def _carried_out(self, claim: Claim) -> ConsolidationJob:
        """The job that `claim` came to. Whatever ends it early, the claim is not kept."""
        try:
            outcome = await self._while_held(claim, self.learning.outcome(claim))
            try:
                job = await self._settled(claim, outcome)
            except InvalidInput:
                # The store cannot keep what was decided: no other scope's business.
                failure = self.learning.failed(claim, ExtractionError("invalid"))
                job = await self._settled(claim, failure)
        except (LeaseLost, Forgotten) as exc:
            reason = "lease_lost" if isinstance(exc, LeaseLost) else "forgotten"
            job = claim.lost(reason, at=self.clock(), attempts=claim.attempts)
        except BaseException:
            await self._hand_back(claim)
            raise
        logger.log(
            logging.WARNING if job.error else logging.INFO,
            "job %s %s%s: %d episodes; %d items added, %d updated, %d reinforced, %d removed",
            job.id,
            job.status,
            f" ({job.error})" if job.error else "",
            *(len(job.episode_ids), job.added, job.updated, job.reinforced, job.removed),
        )
        return job

    async def _while_held(self, claim: Claim, work: Awaitable[Result]) -> Result:
        """What `work` returns, the lease being renewed meanwhile; it ends if the claim is lost."""
        async with _Unwrapped(), asyncio.TaskGroup() as group:
            keeper = group.create_task(self._keep(claim))
            try:
                return await work
            finally:
                keeper.cancel()

    async def _keep(self, claim: Claim) -> None:
        lease = self.config.consolidate.lease
        while True:
            await asyncio.sleep(lease.total_seconds() / 3)
            try:
                await self.ledger.renew(claim, lease=lease)
            except (LeaseLost, Forgotten):
                raise
            except StoreError as exc:
                # Two more tries fit into the lease, and settling is guarded anyway.
                logger.warning("job %s not renewed: %s", claim.job_id, type(exc).__name__)

    async def _settled(self, claim: Claim, outcome: SettleOutcome) -> ConsolidationJob:
        """Settle, and again where the answer was lost: settling twice is fine."""
        for _ in range(_SETTLE_TRIES - 1):
            with suppress(OutcomeUnknown):
                return await self.ledger.settle(claim, outcome, now=self.clock())
        return await self.ledger.settle(claim, outcome, now=self.clock())

    async def _hand_back(self, claim: Claim) -> None:
        """Give the episodes back with their attempt; if that fails, the lease runs out."""
        with anyio.move_on_after(_PARTING, shield=True), suppress(MemkitError):
            await self.ledger.settle(claim, Released(), now=self.clock())


class _Unwrapped:
    """Raises what failed first in a task group by itself: callers catch `MemkitError`."""

    async def __aenter__(self) -> None:
        pass

    async def __aexit__(self, _: object, error: BaseException | None, __: object) -> None:
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
            if not isinstance(error, BaseExceptionGroup):
                raise error from error.__cause__  # and not from the group
