"""What a claim comes to: what is known already, what is read, and what is decided of it."""

from __future__ import annotations

import asyncio
import logging
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from memkit.config import Config
from memkit.contracts import Clock, Extractor, Ledger, Store
from memkit.errors import (
    CapabilityError,
    Closed,
    ConfigError,
    ExtractionError,
    Forked,
    InvalidInput,
    PluginError,
    WrongLoop,
)
from memkit.extraction import LONGEST_CONTENT, validate
from memkit.memory.attempts import checksum, failed
from memkit.models import (
    Background,
    Changes,
    Claim,
    Completed,
    Dead,
    Extraction,
    ExtractionRequest,
    Failed,
    Known,
    MemoryItem,
    Query,
    SettleOutcome,
    Skipped,
    content_hash,
)
from memkit.ranking import rank
from memkit.reconcile import Rules, exact_hashes, reconcile
from memkit.text import query_tokens

logger = logging.getLogger(__name__)

_HOST_ERRORS = (Closed, ConfigError, CapabilityError, Forked, PluginError, WrongLoop)
"""What an extractor raises that no other episode and no later try would mend."""
_RELATED_CANDIDATES = 200
_AT_ONCE = 100  # proposals, about 20 ms


@dataclass(frozen=True, slots=True, kw_only=True)
class Learning:
    """Learning from claims of one store. It writes nothing: an outcome is for settling."""

    store: Store
    ledger: Ledger
    extractor: Extractor
    config: Config
    rules: Rules
    clock: Clock
    random: Callable[[], float]

    async def outcome(self, claim: Claim) -> SettleOutcome:
        """What the claim's episodes come to, without reading them where that is known."""
        request = self._request(claim)
        proof = checksum(claim, self.extractor.fingerprint, request.strategies)
        if claim.decision is not None:
            return Completed(changes=claim.decision, checksum=proof)
        if claim.attempts > self.config.consolidate.max_attempts:
            # Every attempt was counted when it began: the last of them never came back.
            return Dead(error="crashed")
        try:
            return await self._learnt(claim, request, proof)
        except ExtractionError as exc:
            return self.failed(claim, exc)
        except InvalidInput:
            return self.failed(claim, ExtractionError("invalid"))

    def failed(self, claim: Claim, error: ExtractionError) -> Failed | Dead:
        """How `error` ends the claim."""
        return failed(claim, error, self.config.consolidate, now=self.clock(), random=self.random)

    async def _learnt(
        self, claim: Claim, request: ExtractionRequest, proof: str
    ) -> Completed | Skipped:
        """What comes of reading the turns, by one call of the extractor."""
        query = self._query(request)
        background = await self.ledger.background(claim, query, checksum=proof)
        if background.settled:
            return Skipped(checksum=proof)
        if not request.turns:
            return Completed(changes=Changes(), checksum=proof)
        known = await self._known(claim, query, background)
        request = request.model_copy(update={"known": _numbered(known)})
        extraction = await self._extracted(request)
        if extraction.dropped:
            logger.warning("job %s left out %d proposals", claim.job_id, extraction.dropped)
        if not _is_empty(query, background):
            known += await self._twins(claim, request, extraction, known)
        decide = partial(reconcile, claim, request, extraction, known, self.rules, now=request.now)
        # Many proposals take a while, and this loop has others to serve.
        is_long = len(extraction.proposals) > _AT_ONCE
        changes = await asyncio.to_thread(decide) if is_long else decide()
        return Completed(changes=changes, checksum=proof, usage=extraction.usage)

    def _request(self, claim: Claim) -> ExtractionRequest:
        return ExtractionRequest.from_episodes(
            claim.episodes,
            context=claim.context,
            strategies=tuple(each.strategy for each in self.config.strategies),
            now=self.clock(),
        )

    def _query(self, request: ExtractionRequest) -> Query:
        """Asks for items that the turns may repeat, update or end."""
        texts = [turn.message.text for turn in request.turns]
        return Query(
            scopes=(request.scope,),
            now=request.now,
            tokens=query_tokens("\n".join(texts), self.config.language),
            text=_RELATED_CANDIDATES if self.config.consolidate.related else 0,
            exact=tuple(dict.fromkeys(map(content_hash, texts))),
        )

    async def _known(self, claim: Claim, query: Query, background: Background) -> list[MemoryItem]:
        """Whole items: those that the turns may repeat or revise, then the most related."""
        known = list(background.items)
        if not background.found.text:
            return known
        best = rank(
            background.found,
            query_tokens=query.tokens,
            now=query.now,
            limit=self.config.consolidate.related,
            min_importance=0,
            min_score=0,
        )
        had = {item.id for item in known}
        ids = [each.id for each in best if each.id not in had]
        return known + (await self.store.get(claim.scope, ids) if ids else [])

    async def _extracted(self, request: ExtractionRequest) -> Extraction:
        """What the extractor proposes and core lets through, within the deadline."""
        deadline = self.config.consolidate.deadline.total_seconds()
        try:
            async with asyncio.timeout(deadline):
                extraction = await self.extractor.extract(request)
            limit = self.store.capabilities.limits.content_characters
            longest = LONGEST_CONTENT if limit is None else min(limit, LONGEST_CONTENT)
            return validate(extraction, request, longest=longest)
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

    async def _twins(
        self,
        claim: Claim,
        request: ExtractionRequest,
        extraction: Extraction,
        known: list[MemoryItem],
    ) -> list[MemoryItem]:
        """What says the same as a proposal, and nothing in the turns pointed to."""
        seen = {item.content_hash for item in known}
        missing = tuple(each for each in exact_hashes(extraction, self.rules) if each not in seen)
        if not missing:
            return []
        query = Query(scopes=(claim.scope,), now=request.now, text=0, exact=missing)
        ids = [each.id for each in (await self.store.find(query)).exact]
        return await self.store.get(claim.scope, ids) if ids else []


def _is_empty(query: Query, background: Background) -> bool:
    """Whether nothing was remembered yet in the scope; then nothing can be met again."""
    has_counted = query.text > 0 and bool(query.tokens)
    return has_counted and background.found.population == 0


def _numbered(items: list[MemoryItem]) -> tuple[Known, ...]:
    # What is quarantined is known, so that it does not pile up, and shown to no model.
    shown = [item for item in items if item.status == "active"]
    return tuple(
        Known(number=number, item_id=item.id, content=item.content, kind=item.kind)
        for number, item in enumerate(shown, start=1)
    )
