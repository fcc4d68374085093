"""The face of memkit: the four stages, single items, and what operators need."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from types import EllipsisType
from typing import Literal, overload

from pydantic import JsonValue

from memkit.contracts import Maintains, What
from memkit.errors import CapabilityError, InvalidInput
from memkit.memory.arguments import LARGEST_PAGE, count, optional_text, optional_texts, texts
from memkit.memory.lifecycle import Lifecycle
from memkit.memory.recall import Request, recall
from memkit.memory.targets import target
from memkit.models import (
    ConsolidationJob,
    Episode,
    Finding,
    Kind,
    MemoryItem,
    Migrated,
    Page,
    Recalled,
    Receipt,
    Scope,
    Stats,
    Status,
    Tombstone,
)
from memkit.text import clean


class Memory(Lifecycle):
    """An agent's memory.

    Bound to the event loop it is first used on: `WrongLoop` on any other, `Closed` once it is
    closed, `Forked` in a child process. Made by `open_memory`; by hand in tests.
    """

    async def remember(  # noqa: PLR0913  # the fields of an item
        self,
        scope: Scope,
        content: str,
        *,
        kind: Kind = "semantic",
        importance: float = 0.5,
        key: str | None = None,
        value: JsonValue = None,
        metadata: Mapping[str, JsonValue] | None = None,
        pinned: bool = False,
        ttl: timedelta | None = None,
    ) -> MemoryItem:
        """Keep an item that the host tells, at once and without a model.

        The item of the scope with the same `key` is replaced; without a key, one with the
        same content is reinforced. `ttl` ends it however important it is; without, that of
        its kind does. Returns the item as it is kept. `InvalidInput` for a kind that nobody
        declared, and for content that is blank or over 10,000 characters long.
        """
        self._enter()
        return await self._editing.remember(
            self.config.scope.home(scope),
            content,
            kind=kind,
            importance=importance,
            key=key,
            value=value,
            metadata=metadata,
            pinned=pinned,
            ttl=ttl,
            now=self.clock(),
        )

    async def search(
        self,
        scope: Scope,
        query: str,
        *,
        limit: int = 10,
        kinds: Sequence[Kind] | None = None,
        min_score: float | None = None,
    ) -> list[Recalled]:
        """The items that answer `query`, best first; however unimportant they are by now.

        `min_score`, from 0 to 1, leaves out what answers less of it.
        """
        self._enter()
        request = Request(
            config=self.config,
            scopes=self.config.scope.homes(scope),
            query=query,
            limit=limit,
            strongest=0,
            min_importance=0.0,
            min_score=0.0 if min_score is None else min_score,
            kinds=kinds,
        )
        found, _ = await recall(self.store, request, now=self.clock())
        return found

    async def get(self, scope: Scope, ids: Sequence[str]) -> list[MemoryItem]:
        """The items with these ids, whatever their status; absent, foreign, expired: left out."""
        self._enter()
        found = await self.store.get(self.config.scope.home(scope), texts("ids", ids))
        now = self.clock()
        return [item for item in found if item.expires_at > now]

    async def update(  # noqa: PLR0913  # the fields of an item
        self,
        scope: Scope,
        item_id: str,
        *,
        content: str | None = None,
        kind: Kind | None = None,
        importance: float | None = None,
        metadata: Mapping[str, JsonValue] | None = None,
        value: JsonValue | EllipsisType = ...,
        status: Status | None = None,
    ) -> MemoryItem:
        """Change what is given of one item; `InvalidInput` if there is none with this id."""
        self._enter()
        return await self._editing.update(
            self.config.scope.home(scope),
            item_id,
            content=content,
            kind=kind,
            importance=importance,
            metadata=metadata,
            value=value,
            status=status,
            now=self.clock(),
        )

    async def pin(self, scope: Scope, item_id: str, *, pinned: bool = True) -> MemoryItem:
        """Let an item never fade, or fade again from now on."""
        self._enter()
        home = self.config.scope.home(scope)
        return await self._editing.pin(home, item_id, pinned=pinned, now=self.clock())

    async def reinforce(
        self, scope: Scope, item_id: str, *, importance: float | None = None
    ) -> MemoryItem:
        """Let an item be as important as it was when it was new (or as given), from now on."""
        self._enter()
        home = self.config.scope.home(scope)
        return await self._editing.reinforce(home, item_id, importance=importance, now=self.clock())

    async def forget(  # noqa: PLR0913  # the ways to name what shall go
        self,
        scope: Scope,
        *,
        items: Sequence[str] | None = None,
        session_id: str | None = None,
        message_keys: Sequence[str] | None = None,
        episodes: Sequence[str] | None = None,
        replacement: str | None = None,
    ) -> Receipt:
        """Forget for good: the whole scope, or what is named, with what came from it alone.

        With `replacement`, the messages stay and this text stands in for theirs.
        """
        with self._stage("forget", scope) as counts:
            receipt = await self.store.forget(
                target(
                    scope,
                    self.config.scope.home(scope),
                    items=optional_texts("items", items),
                    session_id=optional_text("session_id", session_id),
                    message_keys=optional_texts("message_keys", message_keys),
                    episodes=optional_texts("episodes", episodes),
                ),
                at=self.clock(),
                replacement=_replacement(replacement),
            )
            counts |= {"items": receipt.items, "messages": receipt.messages}
        return receipt

    async def rebuild(self) -> int:
        """Let every item fade by the policy that is configured today; how many changed."""
        self._enter()
        return await self._retention.rebuild()

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
        """Everything of one sort, page by page: of one scope, or (for operators) of all."""
        self._enter()
        if what not in ("items", "episodes", "jobs", "tombstones"):
            raise InvalidInput("there are items, episodes, jobs and tombstones to be scanned")
        return await self.store.scan(
            what,
            scope=None if scope is None else self.config.scope.home(scope),
            session_id=optional_text("session_id", session_id),
            after=optional_text("after", after),
            limit=count("limit", limit, least=1, most=LARGEST_PAGE),
        )

    async def stats(self, scope: Scope | None = None) -> Stats:
        """Counts, of one scope or of the whole store."""
        self._enter()
        return await self.store.stats(None if scope is None else self.config.scope.home(scope))

    async def jobs(
        self, scope: Scope | None = None, *, after: str | None = None, limit: int = 100
    ) -> Page[ConsolidationJob]:
        """Consolidation jobs of one scope or of all, oldest first, page by page."""
        return await self.scan("jobs", scope=scope, after=after, limit=limit)

    async def retry(self, job_ids: Sequence[str]) -> int:
        """Make the episodes of dead or failed jobs pending anew; how many."""
        self._enter()
        return await self._ledger.requeue(texts("job_ids", job_ids))

    async def check(self) -> list[Finding]:
        """What an operator should know of the store and the configuration."""
        self._enter()
        own: list[Finding] = []
        if isinstance(self.store, Maintains):
            if missing := _unmade(await self.store.migrate(dry_run=True)):
                return [missing]  # there is nothing yet that could be looked at
            own = await self.store.check()
        return [*own, *self._retention.findings(await self.store.stats())]

    async def erase(self) -> None:
        """Rewrite what is free in the store, so that no file holds deleted text. Slow.

        `CapabilityError` where the store has no files of its own.
        """
        self._enter()
        if not isinstance(self.store, Maintains):
            raise CapabilityError("erase", store=self.store.capabilities.name)
        await self.store.erase()


def _unmade(planned: Migrated) -> Finding | None:
    if not planned.applied:
        return None
    if planned.found:
        there, verb = f"the store has schema {planned.found} of {planned.now}", "mends that"
    else:
        there, verb = "there is no store yet", "makes it"
    advice = f"`memkit migrate` {verb}, as opening a memory does unless migrate = false"
    return Finding(level="warning", code="schema-behind", message=f"{there}; {advice}")


def _replacement(given: str | None) -> str | None:
    if given is None:
        return None
    if not isinstance(given, str):
        raise InvalidInput(f"replacement must be text, not {type(given).__name__}")
    return clean(given)[0]
