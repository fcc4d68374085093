"""The single writes that the service knows. Nothing larger than one of them is atomic."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from memkit.inmemory.claims import Terms
from memkit.inmemory.items import without_early
from memkit.models import (
    Changes,
    Claim,
    ConsolidationJob,
    Episode,
    MemoryItem,
    Scope,
    SettleOutcome,
    Target,
)


@dataclass(frozen=True, slots=True)
class Said:
    """One episode was recorded."""

    episode: Episode


@dataclass(frozen=True, slots=True)
class Record:
    """An item as it lies in the service: under an id that the service minted.

    `metadata["mk_id"]` is the id that the caller gave it. A write repeated before the first
    was seen leaves two records with the same one; whoever reads merges them.
    """

    item: MemoryItem
    metadata: dict[str, str]

    @classmethod
    def of(cls, item: MemoryItem, *, number: int) -> Record:
        """`item` under the id that the write of this number gets."""
        minted = item.model_copy(update={"id": f"mem-{number:036d}"})
        return cls(minted, {"mk_id": item.id})

    @property
    def named(self) -> MemoryItem:
        """The item under its caller's id again."""
        return self.item.model_copy(update={"id": self.metadata["mk_id"]})


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """One single change of one item, alone or as the `part` of a decision.

    `record` is what the service makes of an `add`.
    """

    scope: Scope
    change: Changes
    record: Record | None = None
    epoch: int | None = None
    decision: int | None = None
    part: int = 0


@dataclass(frozen=True, slots=True)
class Erased:
    """Something was forgotten, or replaced."""

    target: Target
    at: datetime
    replacement: str | None


@dataclass(frozen=True, slots=True)
class Expired:
    """An item or an episode was past its time."""

    item_id: str | None = None
    episode_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimed:
    """A worker asks for these episodes. The lowest of the claims that compete wins."""

    scope: Scope
    epoch: int
    episode_ids: tuple[str, ...]
    terms: Terms
    job_id: str


@dataclass(frozen=True, slots=True)
class Renewed:
    """A worker asks for more time."""

    claim: Claim
    lease: timedelta


@dataclass(frozen=True, slots=True)
class Decided:
    """All that a run decided, journaled before any of it is carried out.

    The lowest decision about an episode wins. What others decided about it is void; whoever
    works on it next carries out the one that won.
    """

    claim: Claim
    changes: Changes


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """A run ended so. A `decision` was carried out to its last part before this was written."""

    claim: Claim
    outcome: SettleOutcome
    job: ConsolidationJob
    now: datetime
    decision: int | None = None


@dataclass(frozen=True, slots=True)
class Requeued:
    """The episodes of these jobs are to be tried anew."""

    job_ids: tuple[str, ...]


Event = Said | Changed | Erased | Expired | Claimed | Renewed | Decided | Ended | Requeued


def one_by_one(changes: Changes) -> Iterator[Changes]:
    """`changes` as single ones, in the order in which they are to be applied."""
    timely, _ = without_early(changes)
    for name in ("remove", "supersede", "update", "add", "reinforce"):
        for change in getattr(timely, name):
            yield Changes().model_copy(update={name: (change,)})
