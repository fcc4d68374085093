"""One run of consolidation: the claim it works under, how it ends, and what is kept of it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from pydantic import AwareDatetime, Field

from memkit.models.base import Model
from memkit.models.changes import Changes
from memkit.models.item import MemoryItem
from memkit.models.message import Episode
from memkit.models.query import Candidates
from memkit.models.scope import Scope

JobStatus = Literal["running", "completed", "skipped", "failed", "dead"]


class Usage(Model):
    """What a run cost: model calls, and tokens as the provider counted them."""

    calls: int = Field(default=0, ge=0)
    input_tokens: int = Field(default=0, ge=0)
    output_tokens: int = Field(default=0, ge=0)

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            calls=self.calls + other.calls,
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
        )


class ConsolidationJob(Model):
    """One run for one scope.

    `removed` counts superseded items too. `error` is a reason code, never content. A job
    that is `running` past its lease was crashed; the next claim of its scope fails it.
    """

    id: str
    scope: Scope
    status: JobStatus
    episode_ids: tuple[str, ...] = ()
    added: int = 0
    updated: int = 0
    removed: int = 0
    reinforced: int = 0
    checksum: str | None = None
    usage: Usage = Usage()
    attempts: int = 0
    error: str | None = None
    retry_at: AwareDatetime | None = None
    started_at: AwareDatetime
    finished_at: AwareDatetime | None = None


class Claim(Model):
    """The right to consolidate one scope until the lease ends.

    `fence` grows with every claim of the scope, `epoch` with every forget. `attempts` is how
    often these episodes have been claimed, this time included. `episodes` are the pending
    ones, oldest first, in which a message revised later is left out; one with a gap comes as
    several values of the same id, so that `position` plus offset is always a message's place.
    `context` is the end of the same sessions that is settled already, before these episodes:
    to be understood, not to be extracted.
    `decision` is what a crashed run had already decided, where the store journals that.
    """

    job_id: str
    scope: Scope
    fence: int
    epoch: int
    attempts: int
    episodes: tuple[Episode, ...]
    context: tuple[Episode, ...] = ()
    decision: Changes | None = None

    @property
    def episode_ids(self) -> tuple[str, ...]:
        """The ids of its episodes, each once."""
        return tuple(dict.fromkeys(each.id for each in self.episodes))

    def lost(self, error: str, *, at: datetime, attempts: int = 0) -> ConsolidationJob:
        """What is said of a run of which nothing was settled."""
        return ConsolidationJob(
            id=self.job_id,
            scope=self.scope,
            status="failed",
            error=error,
            episode_ids=self.episode_ids,
            attempts=attempts,
            started_at=at,
            finished_at=at,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Background:
    """What a store knows already of what a claim is about, see `Ledger.background`."""

    settled: bool = False
    found: Candidates = Candidates()  # noqa: RUF009  # frozen value
    items: tuple[MemoryItem, ...] = ()


class Completed(Model):
    """The run decided; the store applies `changes` and marks the episodes in one step."""

    type: Literal["completed"] = "completed"
    changes: Changes
    checksum: str
    usage: Usage = Usage()


class Skipped(Model):
    """The same input was settled before; the episodes are marked without a model call."""

    type: Literal["skipped"] = "skipped"
    checksum: str


class Failed(Model):
    """The run failed; the episodes stay pending until `retry_at`.

    `counts` is False where the fault is not the episodes' (a rate limit): the attempt that
    the claim had counted is given back.
    """

    type: Literal["failed"] = "failed"
    error: str
    retry_at: AwareDatetime
    counts: bool = True
    usage: Usage = Usage()


class Dead(Model):
    """The episodes have used up their attempts and wait for `requeue`."""

    type: Literal["dead"] = "dead"
    error: str
    usage: Usage = Usage()


class Released(Model):
    """The claim is handed back unused, its attempt with it; no job is kept."""

    type: Literal["released"] = "released"


SettleOutcome = Completed | Skipped | Failed | Dead | Released
