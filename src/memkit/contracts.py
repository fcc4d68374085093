"""What a plugin implements. Rules that hold for every method of every contract:

* Async, and safe to call from several tasks at once.
* Values in, values out: no connection, cursor or session crosses this line.
* Failures are `memkit.errors`; a driver's own exception is chained, never leaked. A failure
  is never an empty answer, and never a success.
* A call that is cancelled leaves all of its effect or none; the caller then treats the
  outcome as unknown and repeats it, which every write here allows.
* The caller's clock decides content time (`now`, `at`, every date in a value). Leases alone
  use the store's clock.
* Scopes are compared for equality of all three fields. A store never widens one.
* Text arrives clean (no U+0000, no lone surrogates) and numbers finite; core has seen to it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal, Protocol, overload, runtime_checkable

from memkit.models import (
    Appended,
    Applied,
    Background,
    Candidates,
    Capabilities,
    Changes,
    Claim,
    ConsolidationJob,
    Episode,
    Extraction,
    ExtractionRequest,
    Finding,
    MemoryItem,
    Migrated,
    Page,
    Purged,
    Query,
    Receipt,
    Scope,
    SettleOutcome,
    Stats,
    Tail,
    Target,
    Tombstone,
    Usage,
)

Clock = Callable[[], datetime]
"""Returns the time now, aware. Injectable, so that tests move time."""

What = Literal["items", "episodes", "jobs", "tombstones"]
"""The sorts of what a store keeps, each of which `Store.scan` lists."""


MOST_CLAIMED = 100
"""Episodes of one claim, however small they are: what is read at once stays within bounds."""


class Store(Protocol):
    """Where episodes and items live."""

    @property
    def capabilities(self) -> Capabilities:
        """What this store offers; constant for its life."""
        ...

    async def tail(self, scope: Scope, session_id: str, *, limit: int) -> Tail:
        """The newest `limit` messages of a session by digest and key, and its head.

        An unknown session has head 0. Purged and forgotten messages still count and are
        still listed: only their bodies are gone.
        """
        ...

    async def append(
        self,
        episodes: Sequence[Episode],
        *,
        expected_head: int | None = None,
        revise: bool = False,
    ) -> list[Appended]:
        """Add episodes to their sessions; one answer each, in order. Durable on return.

        Atomic per episode, idempotent by episode id and by message key: a key is unique per
        (scope, session), an id in the whole store. A message whose key is there, its newest
        content having the same digest, is skipped; with another digest it is a revision
        (`revise`), or `MessageConflict` is raised before any episode of the call is stored. A
        forgotten key is skipped too, and a forgotten content of a key that lives on. Messages
        without a key are always new. What remains is stored as one row at `position` = the
        head, which grows by its length; if nothing remains, nothing is stored. A key twice in
        one call counts once, the later content being a revision or a conflict.

        With `expected_head` (then exactly one episode is given), a session that no longer
        ends there answers `stale` and stores nothing, except that an episode id that is
        stored already answers as before.
        """
        ...

    async def find(self, query: Query) -> Candidates:
        """Candidates by channel, unranked.

        Only active items of exactly the given scopes with `expires_at` later than `now`; in
        `exact`, which nobody is shown, quarantined ones too. `strongest` covers every decay
        policy present in a scope, configured or not.
        """
        ...

    async def get(self, scope: Scope, ids: Sequence[str]) -> list[MemoryItem]:
        """The items of `scope` with these ids, whatever their status, in the order asked.

        Absent and foreign look the same: left out. An expired item is still returned until
        it is purged; callers that show items compare `expires_at`.
        """
        ...

    async def by_key(self, scope: Scope, key: str) -> MemoryItem | None:
        """The item of `scope` that carries the caller's `key`, or None."""
        ...

    @overload
    async def scan(
        self,
        what: Literal["items"],
        *,
        scope: Scope | None = None,
        session_id: str | None = None,
        after: str | None = None,
        limit: int = 100,
    ) -> Page[MemoryItem]: ...
    @overload
    async def scan(
        self,
        what: Literal["episodes"],
        *,
        scope: Scope | None = None,
        session_id: str | None = None,
        after: str | None = None,
        limit: int = 100,
    ) -> Page[Episode]: ...
    @overload
    async def scan(
        self,
        what: Literal["jobs"],
        *,
        scope: Scope | None = None,
        session_id: str | None = None,
        after: str | None = None,
        limit: int = 100,
    ) -> Page[ConsolidationJob]: ...
    @overload
    async def scan(
        self,
        what: Literal["tombstones"],
        *,
        scope: Scope | None = None,
        session_id: str | None = None,
        after: str | None = None,
        limit: int = 100,
    ) -> Page[Tombstone]: ...
    async def scan(
        self,
        what: What,
        *,
        scope: Scope | None = None,
        session_id: str | None = None,
        after: str | None = None,
        limit: int = 100,
    ) -> Page[MemoryItem] | Page[Episode] | Page[ConsolidationJob] | Page[Tombstone]:
        """Everything of one sort, page by page, in rising order of id.

        `scope` of None is the whole store (for export and operators). For episodes `scope`
        is their home. `session_id` narrows items (by any source) and episodes. Rows written
        or deleted meanwhile never make another row appear twice or be missed. Episodes
        without a body (purged, forgotten) are not listed.
        """
        ...

    async def apply(self, scope: Scope, changes: Changes, *, epoch: int | None = None) -> Applied:
        """Carry `changes` out in `scope`, whole or not at all. Idempotent.

        In the order remove, supersede, update, add, reinforce, so that nothing is merged into
        what the same changes end. An item of another scope is refused (`InvalidInput`).

        * `add`: an id that is there already is left as it is. An item with sources, all
          recorded at or before a tombstone of its hash, is `blocked`. An item whose `key`
          another item of the scope has replaces that one's content and values and keeps its
          id and `created_at` (`updated`). An item without key whose content hash another
          without key of the scope has, reinforces that one (`reinforced`) if both are active
          or both quarantined and that one has not expired by the new one's `reinforced_at`;
          of several the one of the lowest id.
        * `update` writes only the columns set; with `if_fades_at`, only where the item still
          fades then, and else it is `stale`. `supersede` acts on active items only, setting
          status, `superseded_by` and `valid_to`. `remove` deletes. `reinforce` takes the new
          dates only if they make the item fade later and it is pinned, or not, as they have
          it; keeps the later `observed_at`, and adds the sources. Nothing but `update` moves
          the item's own end (`ends_at`).
        * A change of an item that is not in `scope`, or is only added by these changes, is
          `missing`; the rest is still applied.

        `epoch` guards: if the scope was forgotten since, `Forgotten` is raised.
        """
        ...

    async def forget(
        self, target: Target, *, at: datetime, replacement: str | None = None
    ) -> Receipt:
        """Remove `target` and what came from it alone, finally. Repeating it is fine.

        In one step: bodies of episodes, items, index entries and jobs are deleted; items
        with other sources left keep those, and what was `told` stands without any; a job of
        other episodes too keeps those and loses its checksum; the epoch of the scope (the
        home of what is forgotten) rises and ends its live claim, so that nothing in flight
        lands; a tombstone is kept for each removed item's content hash. Keys and
        digests of forgotten messages stay (as hashes), so that a history handed in again is
        not recorded again.

        With `replacement` (for `Session`, `Messages` and `Episodes`) the text of the
        messages is replaced by it and the messages stay, their metadata emptied; items from
        them alone still go, and their keys count as forgotten.
        """
        ...

    async def purge(
        self, *, now: datetime, limit: int = 1000, dry_run: bool = False, force: bool = False
    ) -> Purged:
        """Delete up to `limit` items and episodes whose `expires_at` is at or before `now`.

        `InvalidInput` if `now` is more than a day ahead of the store's clock, unless
        `force`. Keys and digests of purged episodes stay, as in `forget`.
        """
        ...

    async def stats(self, scope: Scope | None = None) -> Stats:
        """Counts for one scope, or for the whole store."""
        ...

    async def aclose(self) -> None:
        """Let go of everything. Twice is fine; any other call afterwards raises `Closed`."""
        ...


@runtime_checkable
class Ledger(Protocol):
    """Stores that leave extraction to memkit: who may consolidate what, and how it ended."""

    async def claim(  # noqa: PLR0913  # each is the caller's to say
        self,
        scope: Scope | None = None,
        *,
        now: datetime,
        budget: int,
        lease: timedelta,
        idle: timedelta | None = None,
        max_wait: timedelta | None = None,
        context: int = 8,
    ) -> Claim | None:
        """Take a scope's pending episodes for `lease`, or None when nothing is due.

        Without `scope`: the scope whose oldest due episode is oldest. Due are pending
        episodes whose next try is not after `now`. With `idle`, a session whose newest
        episode is younger than `idle` is not due yet, unless its oldest pending one is older
        than `max_wait`. A scope with a live claim is not due.

        Takes due episodes oldest first while their `tokens` fit in `budget`, one at least and
        at most `MOST_CLAIMED`.
        An episode that was tried before is claimed alone, so that it harms no other, and the
        taking of others stops before it. Each claim counts one attempt on its episodes; a
        claim whose lease ran out was a crash: its job is failed with error `crashed`, and its
        attempt stays counted. `context` is how many settled messages to give along per
        session.
        """
        ...

    async def renew(self, claim: Claim, *, lease: timedelta) -> Claim:
        """Keep the claim for another `lease` from now. `LeaseLost` or `Forgotten` if gone."""
        ...

    async def settle(
        self, claim: Claim, outcome: SettleOutcome, *, now: datetime
    ) -> ConsolidationJob:
        """End the claim in one step: items, episodes and job together, or nothing.

        Guarded by fence and epoch: `LeaseLost` when another claim was made since,
        `Forgotten` when the scope was forgotten; either way nothing is written but that the
        job is failed. A lease that ran out without another claim may still settle.
        `Completed` applies its changes as `Store.apply` does. Settling twice with the same
        kind of outcome answers with the job as it stands.
        """
        ...

    async def background(self, claim: Claim, query: Query, *, checksum: str) -> Background:
        """What is known of what `claim` is about. Writes nothing, and guards nothing.

        `settled` says that a job of the claim's scope with this checksum has completed; then
        the rest may be left out. `found` is what `Store.find` answers to `query`. `items` are
        whole items of the scope, each once, by rising id: those behind `found.exact`, and
        those that may be superseded because a source of theirs was revised. These are active
        or quarantined, have not expired, and came from an earlier episode's message whose
        session and key a message of the claim has.
        """
        ...

    async def requeue(self, job_ids: Sequence[str]) -> int:
        """Make the episodes of these dead or failed jobs pending anew, attempts at zero.

        Returns how many episodes.
        """
        ...


@runtime_checkable
class Maintains(Protocol):
    """Stores with a schema and files of their own."""

    async def migrate(self, *, dry_run: bool = False) -> Migrated:
        """Bring the schema up to date under a lock; `SchemaTooNew` before anything is touched."""
        ...

    async def check(self) -> list[Finding]:
        """What an operator should know: integrity, versions, settings."""
        ...

    async def erase(self) -> None:
        """Rewrite what is free, so that deleted text is in no file any more. Slow."""
        ...


class Extractor(Protocol):
    """Turns messages into proposals. Decides nothing and stores nothing."""

    @property
    def fingerprint(self) -> str:
        """Name, model and prompt version: part of the checksum that spares repeated calls."""
        ...

    async def extract(self, request: ExtractionRequest) -> Extraction:
        """Proposals for `request.turns`, or `ExtractionError` with its reason.

        An empty extraction means that there was nothing worth keeping, never a failure.
        """
        ...


class ChatModel(Protocol):
    """A language model, as small as extraction needs it."""

    @property
    def name(self) -> str:
        """provider:model, for fingerprints and provenance."""
        ...

    async def complete(self, system: str, user: str) -> Reply:
        """One completion. Failures are `ExtractionError`."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a model answered.

    `finish` is "length" when it was cut short, "refusal" when the provider says so.
    """

    text: str
    finish: Literal["stop", "length", "refusal"] = "stop"
    usage: Usage = Usage(calls=1)  # noqa: RUF009  # frozen value


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """Work for a scheduler, as data. `scope` of None is every scope."""

    stage: Literal["consolidate", "decay"]
    scope: Scope | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Every:
    """A job that recurs: at an interval, or daily at a full hour of UTC. One of the two."""

    job: Job
    interval: timedelta | None = None
    utc_hour: int | None = None


class Scheduler(Protocol):
    """Decides when jobs run. Each due time runs a job once, however long it was missed."""

    async def start(
        self, run: Callable[[Job], Awaitable[None]], *, recurring: Sequence[Every] = ()
    ) -> None:
        """Begin. `run` is what carries a job out; its failures are logged, never fatal.

        An interval counts from now.
        """
        ...

    async def submit(self, job: Job) -> None:
        """Ask for `job` soon. The same job asked for twice before it runs may run once.

        Asked for while it runs, it runs again. After `aclose`: `Closed`.
        """
        ...

    async def aclose(self) -> None:
        """Take no more, let what runs end or cancel it, and return. Twice is fine."""
        ...


class Embedder(Protocol):
    """Turns text into vectors of one model."""

    @property
    def model(self) -> str:
        """The model's name; vectors of different models are never compared."""
        ...

    @property
    def dimensions(self) -> int:
        """The length of every vector."""
        ...

    async def embed(
        self, texts: Sequence[str], *, purpose: Literal["store", "query"]
    ) -> list[tuple[float, ...]]:
        """One unit vector per text, in order."""
        ...
