"""The four stages of memory, and what they share: parts, clock, loop."""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal, TypeVar, assert_never

from memkit.config import Config
from memkit.contracts import Clock, Extractor, Job, Ledger, Scheduler, Store
from memkit.errors import CapabilityError, Closed, Forked, WrongLoop
from memkit.hookspecs import Event
from memkit.memory import arguments
from memkit.memory.consolidation import Consolidation
from memkit.memory.editing import Editing
from memkit.memory.learning import Learning
from memkit.memory.recall import MOST, Request, recall
from memkit.memory.recording import Recorded, Recording, Said
from memkit.memory.retention import Retention
from memkit.models import ConsolidationJob, Kind, Purged, Scope, WorkingMemory, utcnow
from memkit.ranking import fit
from memkit.reconcile import Rules
from memkit.text import estimate_tokens

if TYPE_CHECKING:
    from memkit.redact import Redactor

Value = TypeVar("Value")

_SPARE = 5
"""Near-duplicates are dropped after the store has answered, so it is asked for some more."""


class Lifecycle:
    """Inject, record, consolidate, decay, over a store, an extractor, a scheduler and a clock."""

    def __init__(  # noqa: PLR0913  # the parts, and what tests replace
        self,
        store: Store,
        extractor: Extractor,
        scheduler: Scheduler,
        *,
        config: Config | None = None,
        clock: Clock | None = None,
        redactor: Redactor | None = None,
        observe: Callable[[Event], None] | None = None,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self.store = store
        self.extractor = extractor
        self.scheduler = scheduler
        self.config = config or Config()
        self.clock = utcnow if clock is None else arguments.clock(clock)
        self._redactor = redactor
        self._observe = observe
        self._jitter = jitter
        self._recording = Recording(store, self.config, redactor)
        self._editing = Editing(store=store, config=self.config, redactor=redactor)
        # A clock that was handed in may run ahead: tests move time.
        self._retention = Retention(
            store=store, config=self.config, clock=self.clock, trusted=clock is not None
        )
        self._loop: asyncio.AbstractEventLoop | None = None
        self._process = os.getpid()
        self._closed = False

    async def inject(  # noqa: PLR0913  # each bound may be said per call
        self,
        scope: Scope,
        *,
        query: str | None = None,
        limit: int | None = None,
        min_importance: float | None = None,
        min_score: float | None = None,
        token_budget: int | None = None,
        count_tokens: Callable[[str], int] | None = None,
        kinds: Sequence[Kind] | None = None,
        deadline: float | None = None,
    ) -> WorkingMemory:
        """What the model should be reminded of before it answers.

        Without a query the most important items; with one, what answers it and, after that,
        the most important. What is left out is configured under `[inject]`. After `deadline`
        seconds, channels that have not answered are left out and the answer is `degraded`;
        a store that fails raises. Writes nothing.
        """
        rules = self.config.inject
        limit = arguments.count("limit", _given(limit, rules.limit), least=0, most=MOST)
        budget = arguments.count("token_budget", _given(token_budget, rules.token_budget), least=0)
        if deadline is None and rules.deadline is not None:
            deadline = rules.deadline.total_seconds()
        with self._stage("inject", scope) as counts:
            request = Request(
                config=self.config,
                scopes=self.config.scope.homes(scope),
                query=query,
                limit=limit,
                strongest=limit + min(limit, _SPARE),
                min_importance=_given(min_importance, rules.min_importance),
                min_score=_given(min_score, rules.min_score),
                kinds=kinds,
                deadline=deadline,
            )
            found, late = await recall(self.store, request, now=self.clock())
            shown = fit(found, budget=budget, count_tokens=count_tokens or estimate_tokens)
            counts |= {"items": len(shown), "degraded": late}
        return WorkingMemory.of(shown, degraded=late)

    async def record(
        self,
        scope: Scope,
        messages: Iterable[Said],
        *,
        session_id: str,
        history: bool = False,
        revise: bool = False,
    ) -> Recorded:
        """Keep what was said in a session. Durable on return; calls no model.

        A message with a key is stored once; the same key with other content is refused with
        `MessageConflict`, or a revision with `revise`. `history` says that `messages` are the
        whole conversation so far: whatever has no stable key is then compared with what the
        session ends with, and only the rest is stored. Without `history`, messages without
        keys are always new.
        """
        with self._stage("record", scope) as counts:
            recorded = await self._recording.record(
                scope,
                messages,
                session_id=session_id,
                history=history,
                revise=revise,
                now=self.clock(),
            )
            counts |= {"new": recorded.new, "skipped": recorded.skipped}
        return recorded

    async def consolidate(self, scope: Scope | None = None) -> list[ConsolidationJob]:
        """Turn pending episodes into items now, in one scope or wherever there are any.

        Returns the jobs it took, failed ones among them. `CapabilityError` if the store
        extracts by itself.
        """
        home = None if scope is None else self.config.scope.home(scope)
        return await self._consolidate(home, debounced=False)

    async def decay(self, *, dry_run: bool = False) -> Purged:
        """Delete what is past its time; with `dry_run`, say what would go.

        Recall never shows an expired item, deleted or not: this only frees its place.
        """
        with self._stage("decay") as counts:
            purged = await self._retention.decay(dry_run=dry_run)
            counts |= {"items": len(purged.item_ids), "episodes": len(purged.episode_ids)}
        return purged

    async def run(self, job: Job) -> None:
        """Carry out what a scheduler asks for. Sessions still going on are left alone."""
        match job.stage:
            case "consolidate":
                await self._consolidate(job.scope, debounced=True)
            case "decay":
                await self.decay()
            case _:
                assert_never(job.stage)

    def close(self) -> None:
        """Refuse every further call. The parts are closed by whoever opened them."""
        self._closed = True

    async def _consolidate(self, home: Scope | None, *, debounced: bool) -> list[ConsolidationJob]:
        with self._stage("consolidate", home) as counts:
            ledger, config, clock = self._ledger, self.config, self.clock
            learning = Learning(
                store=self.store,
                ledger=ledger,
                extractor=self.extractor,
                config=config,
                rules=self._rules,
                clock=clock,
                random=self._jitter,
            )
            consolidation = Consolidation(
                ledger=ledger, learning=learning, config=config, clock=clock
            )
            jobs = await consolidation.run(home, debounced=debounced)
            counts |= {"jobs": len(jobs), "failed": sum(job.error is not None for job in jobs)}
        return jobs

    @property
    def _ledger(self) -> Ledger:
        if not isinstance(self.store, Ledger):
            raise CapabilityError("consolidation by memkit", store=self.store.capabilities.name)
        return self.store

    @property
    def _rules(self) -> Rules:
        rules = self.config.consolidate
        kinds = {each.strategy.kind for each in self.config.strategies}
        lasting = {kind: self.config.ttl(kind) for kind in kinds}
        return Rules(
            policy=self.config.decay.policy,
            ttl={kind: ttl for kind, ttl in lasting.items() if ttl is not None},
            language=self.config.language,
            importance=rules.importance,
            redactor=self._redactor,
            quarantined=frozenset(rules.quarantine),
        )

    def _enter(self) -> None:
        """Refuse a call that would not work, saying why."""
        if self._closed:
            raise Closed("memory")
        if self._process != os.getpid():
            raise Forked("memory")
        loop = asyncio.get_running_loop()
        if self._loop is None:
            self._loop = loop
        elif self._loop is not loop:
            raise WrongLoop

    @contextmanager
    def _stage(
        self,
        stage: Literal["inject", "record", "consolidate", "decay", "forget"],
        scope: Scope | None = None,
    ) -> Iterator[dict[str, int]]:
        """One stage, told to whoever observes, with the counts that are put in the mapping."""
        self._enter()
        counts: dict[str, int] = {}
        error: str | None = None
        started = time.perf_counter()
        try:
            yield counts
        except BaseException as exc:
            error = type(exc).__name__
            raise
        finally:
            if self._observe is not None:
                seconds = time.perf_counter() - started
                self._observe(
                    Event(stage=stage, scope=scope, seconds=seconds, counts=counts, error=error)
                )


def _given(value: Value | None, default: Value) -> Value:
    return default if value is None else value
