"""Server-side extraction: jobs that run some virtual time after their event."""

from __future__ import annotations

import bisect
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from memkit.testing.agentcore.extractors import Extraction, Extractor, Source, built_in_extractors
from memkit.testing.agentcore.metadata import MOST_KEYS, SYSTEM_TYPES
from memkit.testing.agentcore.namespaces import expand, kept_form
from memkit.testing.agentcore.records import Record, Version
from memkit.testing.agentcore.values import Json, Members

if TYPE_CHECKING:
    from collections.abc import Callable

    from memkit.testing.agentcore.events import Event
    from memkit.testing.agentcore.memories import Memory
    from memkit.testing.agentcore.mint import Mint
    from memkit.testing.agentcore.strategies import Strategy
    from memkit.testing.agentcore.switches import Switches

LONGEST_TEXT = 16_000


class _FailedError(Exception):
    """A job comes to nothing; the others go on."""


@dataclass(kw_only=True, eq=False)
class Job:
    """The extraction of one event by one strategy; kept afterwards only if it failed."""

    job_id: str
    memory: Memory
    strategy: Strategy
    event: Event
    variables: dict[str, str]
    due: float
    needs_event: bool
    failure: str | None = None
    times: int = 1
    mishaps: list[Callable[[Job, Memory], None]] = field(default_factory=list)

    def shown_as(self) -> Members:
        """Return the failed job as a member of an answer."""
        event_id = self.event.event_id
        messages: list[Json] = [
            {"eventId": event_id, "messageIndex": index} for index in range(len(self.event.payload))
        ]
        return {
            "jobID": self.job_id,
            "messages": {"messagesList": messages},
            "status": "FAILED",
            "failureReason": self.failure or "",
            "strategyId": self.strategy.strategy_id,
            "sessionId": self.event.session_id,
            "actorId": self.event.actor_id,
        }


class Queue:
    """Jobs that wait for their time, and the functions that do the work."""

    def __init__(self, mint: Mint, switches: Switches, tamper: Callable[[Job], None]) -> None:
        self._mint = mint
        self._switches = switches
        self._tamper = tamper
        self._waiting: list[Job] = []
        self.extractors: dict[str, Extractor] = built_in_extractors()

    def enqueue(
        self, memory: Memory, event: Event, variables: dict[str, str], now: int, *, kept: bool
    ) -> None:
        """Have every strategy of the memory look at an event later."""
        for strategy in memory.strategies:
            if strategy.extracts in self.extractors:
                job = Job(
                    job_id=self._mint.uuid(),
                    memory=memory,
                    strategy=strategy,
                    event=event,
                    variables=variables,
                    due=now + self._switches.extract_delay * 1_000,
                    needs_event=kept,
                )
                self._submit(job)

    def restart(self, job: Job, now: int) -> None:
        """Run a failed job once more."""
        del job.memory.jobs[job.job_id]
        delay = self._switches.extract_delay * 1_000
        self._submit(replace(job, due=now + delay, failure=None, times=1, mishaps=[]))

    def run_due(self, now: int) -> None:
        """Run the jobs whose time has come, in order, each as of its own time."""
        while self._waiting and self._waiting[0].due <= now:
            job = self._waiting.pop(0)
            for _ in range(job.times):
                self._run(job)

    def _submit(self, job: Job) -> None:
        self._tamper(job)
        bisect.insort(self._waiting, job, key=lambda one: one.due)

    def _run(self, job: Job) -> None:
        now = int(job.due)
        if job.memory.is_gone(now) or not _still_wanted(job, now):
            return
        if job.failure is None:
            try:
                self._extract(job, now)
            except _FailedError as exc:
                job.failure = str(exc)
        if job.failure is not None:
            job.memory.jobs[job.job_id] = job
        for mishap in job.mishaps:
            mishap(job, job.memory)

    def _extract(self, job: Job, now: int) -> None:
        strict = _strict_values(job)
        for template in job.strategy.templates:
            namespace = self._namespace(template, job)
            places = (job.strategy.strategy_id, namespace, *strict.values())
            before = _rolling(job, places, now)
            source = Source(job.event, job.strategy.strategy_id, before.text if before else None)
            for extraction in self._extractions(job, source, strict):
                self._write(job, extraction, strict, places, now)

    def _namespace(self, template: str, job: Job) -> str:
        try:
            return kept_form(_expand(template, job), self._switches.namespace_mode)
        except (LookupError, ValueError) as exc:
            msg = f"the namespace cannot be made: {exc}"
            raise _FailedError(msg) from exc

    def _extractions(self, job: Job, source: Source, strict: dict[str, str]) -> list[Extraction]:
        """What the extractor makes of an event, if every record of it can be shown."""
        try:
            found = list(self.extractors[job.strategy.extracts](source))
        except Exception as exc:
            msg = f"the extractor raised {type(exc).__name__}"
            raise _FailedError(msg) from exc
        for extraction in found:
            if not extraction.text:
                msg = "the extractor returned an empty text"
                raise _FailedError(msg)
            if len(_metadata(job, extraction, strict)) > MOST_KEYS - len(SYSTEM_TYPES):
                msg = f"the extractor returned more than {MOST_KEYS - len(SYSTEM_TYPES)} keys"
                raise _FailedError(msg)
        return found

    def _write(
        self,
        job: Job,
        extraction: Extraction,
        strict: dict[str, str],
        place: tuple[str, ...],
        now: int,
    ) -> None:
        memory, text = job.memory, extraction.text[:LONGEST_TEXT]
        key = place if extraction.replaces else (*place, text)
        old = _rolling(job, key, now) if job.times == 1 else None
        record_id = old.record_id if old else self._mint.record_id()
        version = Version(
            record_id=record_id,
            created_at=old.created_at if old else now,
            record_type="EXTRACTED",
            written_at=now,
            text=text,
            namespaces=(place[1],),
            timestamp=job.event.at,
            strategy_id=job.strategy.strategy_id,
            metadata=_metadata(job, extraction, strict),
            indexed=frozenset(memory.index_types()),
            expiry_days=job.strategy.expiry_days,
        )
        if old:
            memory.records[record_id].write(version)
        else:
            memory.records[record_id] = Record([version])
        memory.rolling[key] = record_id


def _still_wanted(job: Job, now: int) -> bool:
    if job.memory.strategy(job.strategy.strategy_id) is None:
        return False
    if not job.needs_event:
        return True
    session = job.memory.sessions.get((job.event.actor_id, job.event.session_id))
    is_there = session is not None and session.find(job.event.event_id) is not None
    return is_there and job.event.expires_at > now


def _expand(template: str, job: Job) -> str:
    built_in = {
        "memoryStrategyId": job.strategy.strategy_id,
        "actorId": job.event.actor_id,
        "sessionId": job.event.session_id,
    }
    return expand(template, {**job.variables, **built_in})


def _strict_values(job: Job) -> dict[str, str]:
    metadata = job.event.metadata
    values = {key: metadata.get(key) for key in job.strategy.strict_keys()}
    return {
        key: str(value["stringValue"]) for key, value in values.items() if isinstance(value, dict)
    }


def _rolling(job: Job, key: tuple[str, ...], now: int) -> Version | None:
    record = job.memory.records.get(job.memory.rolling.get(key, ""))
    return record.seen(now, now) if record else None


def _metadata(job: Job, extraction: Extraction, strict: dict[str, str]) -> Members:
    """What the schema knows of what was extracted, and the values that the event decides."""
    known = job.strategy.schema_keys()
    within = {key: value for key, value in extraction.metadata.items() if key in known}
    return {**within, **{name: {"stringValue": value} for name, value in strict.items()}}
