"""Records: long-term items, kept in versions so that readers can lag behind writers."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from memkit.testing.agentcore.clock import DAY
from memkit.testing.agentcore.metadata import system_metadata
from memkit.testing.agentcore.retrieval import Features, features
from memkit.testing.agentcore.values import Members, to_seconds

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, kw_only=True)
class Version:
    """A record as one write left it. `indexed` are the keys that were indexed at that time.

    `by_client` tells that a client has made or edited it.
    """

    record_id: str
    created_at: int
    record_type: str
    written_at: int
    text: str
    namespaces: tuple[str, ...]
    timestamp: int
    strategy_id: str | None = None
    metadata: Members = field(default_factory=dict)
    indexed: frozenset[str] = frozenset()
    expiry_days: int | None = None
    deleted: bool = False
    by_client: bool = False

    @cached_property
    def features(self) -> Features:
        """What a search compares, worked out once for each version."""
        return features(self.text)

    @property
    def expires_at(self) -> int | None:
        """When the record is gone; every write starts its life again."""
        return None if self.expiry_days is None else self.written_at + self.expiry_days * DAY

    def is_over(self, now: int) -> bool:
        """Tell whether the record's time has ended."""
        return self.expires_at is not None and now >= self.expires_at

    def all_metadata(self) -> Members:
        """Return the metadata with the keys of the system."""
        system = system_metadata(self.created_at, self.written_at, self.record_type)
        return {**self.metadata, **system}

    def filterable(self) -> Members:
        """Return the metadata that filters see: a key indexed later is not backfilled."""
        system = system_metadata(self.created_at, self.written_at, self.record_type)
        return {
            **{key: self.metadata[key] for key in self.indexed & self.metadata.keys()},
            **system,
        }

    def summary(self, no_strategy_id: str) -> Members:
        """Return the record as lists show it."""
        return {
            "memoryRecordId": self.record_id,
            "content": {"text": self.text},
            "memoryStrategyId": self.strategy_id or no_strategy_id,
            "namespaces": [*self.namespaces],
            "createdAt": to_seconds(self.created_at),
            "timestamp": to_seconds(self.timestamp),
            "metadata": self.all_metadata(),
        }

    def shown_as(self, no_strategy_id: str) -> Members:
        """Return the record as GetMemoryRecord shows it: with the end of its life."""
        ends = self.expires_at
        return {
            **self.summary(no_strategy_id),
            **({} if ends is None else {"expiresAt": to_seconds(ends)}),
        }


@dataclass
class Record:
    """All versions of one record, oldest first."""

    versions: list[Version]

    @property
    def newest(self) -> Version:
        """The version that the last write left, which may be a deletion."""
        return self.versions[-1]

    def write(self, version: Version) -> None:
        """Add a version; those that no lag can reach any more are lost."""
        horizon = version.written_at - DAY
        before = [old for old in self.versions if old.written_at <= horizon]
        since = [old for old in self.versions if old.written_at > horizon]
        # The last one before is what is seen at the horizon.
        self.versions = [*before[-1:], *since, version]

    def seen(self, until: int, now: int, *, shows_deleted: bool = False) -> Version | None:
        """Return the version that a reader sees who knows of writes up to a moment."""
        for version in reversed(self.versions):
            if version.written_at > until or (shows_deleted and version.deleted):
                continue
            return None if version.deleted or version.is_over(now) else version
        return None


def seen_records(
    records: dict[str, Record], until: int, now: int, *, shows_deleted: bool = False
) -> Iterator[Version]:
    """Yield what a reader sees of all records."""
    for record in records.values():
        version = record.seen(until, now, shows_deleted=shows_deleted)
        if version is not None:
            yield version
