"""All that the in-memory store holds, in plain dicts."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import datetime
from itertools import count
from typing import Literal

from memkit.contracts import Clock
from memkit.models import (
    Appended,
    ConsolidationJob,
    Episode,
    MemoryItem,
    Message,
    Scope,
    Tombstone,
    key_hash,
)

SessionId = tuple[Scope, str]
Stage = Literal["pending", "settled", "dead", "gone"]
"""How far an episode has come; gone are those whose body was purged or forgotten."""


@dataclass(slots=True)
class Entry:
    """One message of a session as `tail` lists it: it outlives the message's body."""

    digest: str
    key: str | None
    key_hash: str | None
    episode_id: str
    forgotten: bool = False


@dataclass(slots=True)
class SessionLog:
    """A session: its entries by position, and where the newest content of each key stands."""

    entries: list[Entry] = field(default_factory=list)
    newest: dict[str, int] = field(default_factory=dict)
    """By `key_hash`, which is all that stays of a key whose message is gone."""
    episode_ids: list[str] = field(default_factory=list)
    forgotten: set[tuple[str, str]] = field(default_factory=set)
    """Contents that were forgotten, by key hash and digest: their key may live on."""

    def under(self, key: str | None) -> Entry | None:
        """The newest message with this key."""
        position = None if key is None else self.newest.get(key_hash(key))
        return None if position is None else self.entries[position]

    def holder(self, message: Message) -> Entry | None:
        """The entry for whose sake `message` is skipped: it is there, or was forgotten."""
        entry = self.under(message.key)
        if entry is None or entry.key_hash is None:
            return None
        was_forgotten = entry.forgotten or (entry.key_hash, message.digest) in self.forgotten
        return entry if was_forgotten or entry.digest == message.digest else None

    def forget(self, position: int) -> None:
        """Let the message at `position` never come back under its key."""
        entry = self.entries[position]
        entry.forgotten = True
        if entry.key_hash is not None:
            self.forgotten.add((entry.key_hash, entry.digest))

    def is_revised(self, position: int) -> bool:
        """Whether a later message has the key of the one at `position`."""
        hashed = self.entries[position].key_hash
        return hashed is not None and self.newest[hashed] != position

    def add(self, entry: Entry) -> None:
        """Put `entry` at the end."""
        if entry.key_hash is not None:
            self.newest[entry.key_hash] = len(self.entries)
        self.entries.append(entry)


@dataclass(slots=True)
class EpisodeRow:
    """An episode and how far it has come. `bodies` holds what is left of it, by position."""

    skeleton: Episode
    bodies: dict[int, Message]
    sequence: int
    answer: Appended
    stage: Stage = "pending"
    attempts: int = 0
    retry_at: datetime | None = None

    @property
    def session(self) -> SessionId:
        """The session that it belongs to."""
        return self.skeleton.scope, self.skeleton.session_id

    @property
    def age(self) -> tuple[datetime, int]:
        """Sorts oldest first; the store's own count decides between equal dates."""
        return self.skeleton.recorded_at, self.sequence

    @property
    def positions(self) -> range:
        """The places of its messages in the session, bodies left or not."""
        start = self.skeleton.position
        return range(start, start + self.answer.stored)

    @property
    def episode(self) -> Episode:
        """The episode with the bodies that are left."""
        return self.excerpt(sorted(self.bodies))

    def excerpt(self, positions: Sequence[int]) -> Episode:
        """The episode with its messages at `positions` alone, shared with nobody."""
        messages = tuple(self.bodies[each].model_copy(deep=True) for each in positions)
        return self.skeleton.model_copy(update={"messages": messages})


@dataclass(slots=True)
class Lease:
    """Who works on a scope, and until when."""

    job_id: str
    fence: int
    until: datetime


@dataclass(slots=True)
class Ward:
    """What is counted for a scope that episodes have as their home."""

    epoch: int = 0
    fence: int = 0
    lease: Lease | None = None


@dataclass(slots=True)
class JobRow:
    """A job, and the kind of outcome that ended it (none: it was ended by something else)."""

    job: ConsolidationJob
    outcome: str | None = None


@dataclass(slots=True)
class Shelf:
    """The items of one scope, and the ways to find them."""

    ids: set[str] = field(default_factory=set)
    by_key: dict[str, str] = field(default_factory=dict)
    by_hash: dict[str, set[str]] = field(default_factory=dict)
    by_token: dict[str, set[str]] = field(default_factory=dict)


@dataclass(slots=True)
class State:
    """Everything, and the few ways to change it that keep its parts in step."""

    clock: Clock
    """The store's own time: for leases, and to doubt a purge that comes from the future."""
    sequence: Iterator[int] = field(default_factory=count)
    sessions: dict[SessionId, SessionLog] = field(default_factory=dict)
    episodes: dict[str, EpisodeRow] = field(default_factory=dict)
    pending: dict[Scope, set[str]] = field(default_factory=dict)
    """Ids of the pending episodes of each home that has any."""
    items: dict[str, MemoryItem] = field(default_factory=dict)
    shelves: dict[Scope, Shelf] = field(default_factory=dict)
    wards: dict[Scope, Ward] = field(default_factory=dict)
    jobs: dict[str, JobRow] = field(default_factory=dict)
    tombstones: dict[str, Tombstone] = field(default_factory=dict)

    def log(self, session: SessionId) -> SessionLog:
        """The session's log, to be read: an empty one if it is unknown."""
        return self.sessions.get(session, SessionLog())

    def shelf(self, scope: Scope) -> Shelf:
        """The items of `scope`, to be read: an empty shelf if it has none."""
        return self.shelves.get(scope, Shelf())

    def ward(self, scope: Scope) -> Ward:
        """The counters of `scope`."""
        return self.wards.setdefault(scope, Ward())

    def epoch(self, scope: Scope) -> int:
        """How often something of `scope` was forgotten."""
        return self.wards.get(scope, Ward()).epoch

    def is_worked_on(self, scope: Scope) -> bool:
        """Whether a claim of `scope` is live."""
        lease = self.wards.get(scope, Ward()).lease
        return lease is not None and lease.until > self.clock()

    def put(self, item: MemoryItem) -> None:
        """Keep `item`, in place of the one that has its id."""
        self.drop(item.id)
        self.items[item.id] = item
        shelf = self.shelves.setdefault(item.scope, Shelf())
        shelf.ids.add(item.id)
        if item.key is not None:
            shelf.by_key[item.key] = item.id
        for index, words in _indexed(shelf, item):
            for word in words:
                index.setdefault(word, set()).add(item.id)

    def drop(self, item_id: str) -> None:
        """Lose the item with this id, if there is one."""
        item = self.items.pop(item_id, None)
        if item is None:
            return
        shelf = self.shelves[item.scope]
        shelf.ids.discard(item_id)
        if item.key is not None:
            del shelf.by_key[item.key]
        for index, words in _indexed(shelf, item):
            for word in words:
                index[word].discard(item_id)
                if not index[word]:
                    del index[word]
        if not shelf.ids:
            del self.shelves[item.scope]

    def fail(self, job_id: str, error: str, now: datetime) -> None:
        """End a running job that nobody settled."""
        row = self.jobs.get(job_id)
        if row is not None and row.job.status == "running":
            failed = {"status": "failed", "error": error, "finished_at": now}
            row.job = row.job.model_copy(update=failed)

    def mark(self, row: EpisodeRow, stage: Stage) -> None:
        """Move an episode to `stage`, and the list of its home's pending ones along."""
        row.stage = stage
        waiting = self.pending.setdefault(row.skeleton.home, set())
        if stage == "pending":
            waiting.add(row.skeleton.id)
        else:
            waiting.discard(row.skeleton.id)
        if not waiting:
            del self.pending[row.skeleton.home]


def _indexed(shelf: Shelf, item: MemoryItem) -> Iterable[tuple[dict[str, set[str]], Iterable[str]]]:
    yield shelf.by_hash, (item.content_hash,)
    yield shelf.by_token, set(item.tokens.split())


def tombstone_id(scope: Scope, content_hash: str) -> str:
    """One tombstone for each content of a scope, so that forgetting twice leaves one."""
    return hashlib.sha256(f"{scope.key}{content_hash}".encode()).hexdigest()[:32]


def detached(item: MemoryItem) -> MemoryItem:
    """`item`, sharing nothing that can be changed with what it came from."""
    return item.model_copy(
        update={"metadata": deepcopy(item.metadata), "value": deepcopy(item.value)}
    )
