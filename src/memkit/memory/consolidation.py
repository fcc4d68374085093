"""Consolidate: pending episodes become items, one claim at a time, each effect once."""

from __future__ import annotations

import asyncio
import logging
import traceback
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import anyio

from memkit.config import Config
from memkit.contracts import Clock, Extractor, Ledger, Store
from memkit.errors import (
    CapabilityError,
    Closed,
    ConfigError,
    ExtractionError,
    Forgotten,
    Forked,
    InvalidInput,
    LeaseLost,
    MemkitError,
    OutcomeUnknown,
    PluginError,
    StoreError,
    WrongLoop,
)
from memkit.extraction import validate
from memkit.memory.attempts import checksum, failed
from memkit.models import (
    Changes,
    Claim,
    Completed,
    ConsolidationJob,
    Dead,
    Extraction,
    ExtractionRequest,
    Failed,
    Known,
    MemoryItem,
    Query,
    Released,
    Scope,
    SettleOutcome,
    Skipped,
    content_hash,
)
from memkit.ranking import rank
from memkit.reconcile import Rules, exact_hashes, reconcile
from memkit.text import query_tokens

logger = logging.getLogger(__name__)

Result = TypeVar("Result")

_HOST_ERRORS = (Closed, ConfigError, CapabilityError, Forked, PluginError, WrongLoop)
"""What an extractor raises that no other episode and no later try would mend."""
_PARTING = 5.0
"""Seconds for handing a claim back when everything ends."""
_SETTLE_TRIES = 3
_RELATED_CANDIDATES = 200
_AT_ONCE = 100  # proposals, about 20 ms


@dataclass(frozen=True, slots=True, kw_only=True)
class Consolidation:
    """Consolidation of one store, which is its own ledger."""

    store: Store
    ledger: Ledger
    extractor: Extractor
    config: Config
    rules: Rules
    clock: Clock
    random: Callable[[], float]

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
        rules = self.config.consolidate
        return await self.ledger.claim(
            scope,
            now=self.clock(),
            budget=rules.batch_tokens,
            lease=rules.lease,
            idle=rules.idle if debounced else None,
            max_wait=rules.max_wait if debounced else None,
            context=rules.context,
        )

    async def _carried_out(self, claim: Claim) -> ConsolidationJob:
        """The job that `claim` came to. Whatever ends it early, the claim is not kept."""
        try:
            outcome = await self._while_held(claim, self._outcome(claim))
            try:
                job = await self._settled(claim, outcome)
            except InvalidInput:
                # The store cannot keep what was decided: no other scope's business.
                failure = self._failed(claim, ExtractionError("invalid"))
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

    async def _outcome(self, claim: Claim) -> SettleOutcome:
        """What the claim's episodes come to, without reading them where that is known."""
        request = self._request(claim)
        proof = checksum(claim, self.extractor.fingerprint, request.strategies)
        if claim.decision is not None:
            return Completed(changes=claim.decision, checksum=proof)
        if claim.attempts > self.config.consolidate.max_attempts:
            # Every attempt was counted when it began: the last of them never came back.
            return Dead(error="crashed")
        if await self.ledger.settled(claim.scope, proof):
            return Skipped(checksum=proof)
        return await self._reading(claim, request, proof)

    async def _reading(
        self, claim: Claim, request: ExtractionRequest, proof: str
    ) -> Completed | Failed | Dead:
        """What comes of reading the turns, by one call of the extractor."""
        if not request.turns:
            return Completed(changes=Changes(), checksum=proof)
        known = await self._related(claim.scope, request)
        request = request.model_copy(update={"known": _numbered(known)})
        try:
            extraction = await self._extracted(request)
            changes = await self._changes(claim, request, extraction, known)
        except ExtractionError as exc:
            return self._failed(claim, exc)
        except InvalidInput:
            return self._failed(claim, ExtractionError("invalid"))
        return Completed(changes=changes, checksum=proof, usage=extraction.usage)

    def _failed(self, claim: Claim, error: ExtractionError) -> Failed | Dead:
        return failed(claim, error, self.config.consolidate, now=self.clock(), random=self.random)

    def _request(self, claim: Claim) -> ExtractionRequest:
        return ExtractionRequest.from_episodes(
            claim.episodes,
            context=claim.context,
            strategies=tuple(each.strategy for each in self.config.strategies),
            now=self.clock(),
        )

    async def _extracted(self, request: ExtractionRequest) -> Extraction:
        """What the extractor proposes and core lets through, within the deadline."""
        deadline = self.config.consolidate.deadline.total_seconds()
        try:
            async with asyncio.timeout(deadline):
                extraction = await self.extractor.extract(request)
            return validate(extraction, request)
        except TimeoutError:
            raise ExtractionError("timeout", f"no answer within {deadline:g} s") from None
        except (ExtractionError, *_HOST_ERRORS):
            raise
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            # Nobody cancelled this: the extractor gave up by itself.
            raise ExtractionError("unavailable", "the extractor was cancelled within") from None
        except Exception as exc:
            # Its message may quote what was said: only its name and place go further.
            name, place = type(exc).__name__, traceback.extract_tb(exc.__traceback__)[-1]
            logger.error("the extractor raised %s at %s:%s", name, place.filename, place.lineno)  # noqa: TRY400  # see above
            raise ExtractionError("invalid", f"the extractor raised {name}") from exc

    async def _related(self, scope: Scope, request: ExtractionRequest) -> list[MemoryItem]:
        """Items that the turns may repeat, update or end."""
        texts = [turn.message.text for turn in request.turns]
        tokens = query_tokens("\n".join(texts), self.config.language)
        found = await self.store.find(
            Query(
                scopes=(scope,),
                now=request.now,
                tokens=tokens,
                text=_RELATED_CANDIDATES if self.config.consolidate.related else 0,
                exact=tuple(dict.fromkeys(map(content_hash, texts))),
            )
        )
        if not (found.text or found.exact):
            return []
        best = rank(
            found,
            query_tokens=tokens,
            now=request.now,
            limit=self.config.consolidate.related,
            min_importance=0,
            min_score=0,
        )
        ids = dict.fromkeys((*(each.id for each in found.exact), *(each.id for each in best)))
        return await self.store.get(scope, list(ids)) if ids else []

    async def _changes(
        self,
        claim: Claim,
        request: ExtractionRequest,
        extraction: Extraction,
        known: list[MemoryItem],
    ) -> Changes:
        """The decision, duplicates of what nothing in the turns pointed to being looked up."""
        seen = {item.content_hash for item in known}
        missing = tuple(each for each in exact_hashes(extraction, self.rules) if each not in seen)
        if missing:
            query = Query(scopes=(claim.scope,), now=request.now, text=0, exact=missing)
            ids = [each.id for each in (await self.store.find(query)).exact]
            known = known + (await self.store.get(claim.scope, ids) if ids else [])
        decide = partial(reconcile, claim, request, extraction, known, self.rules, now=request.now)
        # Many proposals take a while, and this loop has others to serve.
        is_long = len(extraction.proposals) > _AT_ONCE
        return await asyncio.to_thread(decide) if is_long else decide()

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


def _numbered(items: list[MemoryItem]) -> tuple[Known, ...]:
    # What is quarantined is known, so that it does not pile up, and shown to no model.
    shown = [item for item in items if item.status == "active"]
    return tuple(
        Known(number=number, item_id=item.id, content=item.content, kind=item.kind)
        for number, item in enumerate(shown, start=1)
    )


class _Unwrapped:
    """Raises what failed first in a task group by itself: callers catch `MemkitError`."""

    async def __aenter__(self) -> None:
        pass

    async def __aexit__(self, _: object, error: BaseException | None, __: object) -> None:
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
            if not isinstance(error, BaseExceptionGroup):
                raise error from error.__cause__  # and not from the group
