"""Scanning: everything of one sort, page by page, in rising order of id."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, LiteralString, TypeVar, assert_never, overload

from memkit.contracts import What
from memkit.decay import from_microseconds
from memkit.errors import InvalidInput
from memkit.models import ConsolidationJob, Episode, MemoryItem, Page, Scope, Tombstone
from memkit_backends.relational.damage import reads_a_row
from memkit_backends.relational.driver import Row, Transaction, Value
from memkit_backends.relational.episode_rows import EPISODE, EPISODES, stored_episodes
from memkit_backends.relational.item_rows import ITEM
from memkit_backends.relational.items import whole_items
from memkit_backends.relational.jobs import JOB, job_of
from memkit_backends.relational.noun import Noun

Listed = TypeVar("Listed")


@dataclass(frozen=True, slots=True)
class Span:
    """Which rows a scan asks for, as `Store.scan` says it."""

    scope: Scope | None
    session_id: str | None
    after: str | None
    limit: int

    def where(self, **conditions: LiteralString) -> LiteralString:
        """The conditions of what is given: `scope`, `session`, `after`."""
        given = {"scope": self.scope, "session": self.session_id, "after": self.after}
        asked = [sql for name, sql in conditions.items() if given[name] is not None]
        return " AND ".join(asked) or "1 = 1"

    @property
    def parameters(self) -> dict[str, Value]:
        """What the conditions and the limit of a page take."""
        given: dict[str, Value] = {
            "scope": None if self.scope is None else self.scope.key,
            "session": self.session_id,
            "after": self.after,
            # One more than asked tells whether this is the end.
            "most": self.limit + 1,
        }
        return {name: each for name, each in given.items() if each is not None}


class Pages(Noun):
    """`Store.scan`."""

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
        """See `Store.scan`."""
        if limit < 1:
            raise InvalidInput(f"a page has at least one row, not {limit}")
        span = Span(scope, session_id, after, limit)
        match what:
            case "items":
                return await self._driver.read(partial(self._item_page, span))
            case "episodes":
                return await self._driver.read(partial(_episode_page, span))
            case "jobs":
                return await self._driver.read(partial(_job_page, span))
            case "tombstones":
                return await self._driver.read(partial(_tombstone_page, span))
            case _:
                assert_never(what)

    async def _item_page(self, span: Span, tx: Transaction) -> Page[MemoryItem]:
        # Indexes: item (id); with a scope item_scope (scope_pk, id).
        where = span.where(
            scope="item.scope_pk = (SELECT pk FROM scope WHERE key = :scope)",
            session="""EXISTS (SELECT 1 FROM item_source
                                WHERE item_pk = item.pk AND session_id = :session)""",
            after="item.id > :after",
        )
        rows = await tx.fetch_all(
            f"""
            SELECT {ITEM}
              FROM item
              JOIN scope ON scope.pk = item.scope_pk
             WHERE {where}
             ORDER BY item.id
             LIMIT :most
            """,
            **span.parameters,
        )
        items = await whole_items(tx, self._dialect, rows[: span.limit])
        return _page(items, len(rows) > span.limit, lambda item: item.id)


async def _episode_page(span: Span, tx: Transaction) -> Page[Episode]:
    # Indexes: episode (id); with a scope episode_home (home_pk, id).
    where = span.where(
        scope="episode.home_pk = (SELECT pk FROM scope WHERE key = :scope)",
        session="session.name = :session",
        after="episode.id > :after",
    )
    rows = await tx.fetch_all(
        f"""
        SELECT {EPISODE}
          FROM {EPISODES}
         WHERE episode.messages IS NOT NULL
           AND {where}
         ORDER BY episode.id
         LIMIT :most
        """,
        **span.parameters,
    )
    episodes = [each.episode for each in stored_episodes(rows[: span.limit])]
    return _page(episodes, len(rows) > span.limit, lambda episode: episode.id)


async def _job_page(span: Span, tx: Transaction) -> Page[ConsolidationJob]:
    # Indexes: job (id); with a scope job_scope (scope_pk, id).
    where = span.where(
        scope="job.scope_pk = (SELECT pk FROM scope WHERE key = :scope)",
        after="job.id > :after",
    )
    rows = await tx.fetch_all(
        f"""
        SELECT {JOB}
          FROM job
          JOIN scope ON scope.pk = job.scope_pk
         WHERE {where}
         ORDER BY job.id
         LIMIT :most
        """,
        **span.parameters,
    )
    jobs = [job_of(row) for row in rows[: span.limit]]
    return _page(jobs, len(rows) > span.limit, lambda job: job.id)


async def _tombstone_page(span: Span, tx: Transaction) -> Page[Tombstone]:
    # Indexes: tombstone (id); with a scope tombstone_scope (scope_pk, id).
    where = span.where(
        scope="tombstone.scope_pk = (SELECT pk FROM scope WHERE key = :scope)",
        after="tombstone.id > :after",
    )
    rows = await tx.fetch_all(
        f"""
        SELECT tombstone.id, scope.key, tombstone.content_hash, tombstone.at
          FROM tombstone
          JOIN scope ON scope.pk = tombstone.scope_pk
         WHERE {where}
         ORDER BY tombstone.id
         LIMIT :most
        """,
        **span.parameters,
    )
    stones = [_tombstone(row) for row in rows[: span.limit]]
    return _page(stones, len(rows) > span.limit, lambda stone: stone.id)


@reads_a_row
def _tombstone(row: Row) -> Tombstone:
    stone_id, scope, content_hash, at = row
    return Tombstone(
        id=stone_id,
        scope=Scope.from_key(scope),
        content_hash=content_hash,
        at=from_microseconds(at),
    )


def _page(rows: Sequence[Listed], has_more: bool, id_of: Callable[[Listed], str]) -> Page[Listed]:
    return Page(tuple(rows), id_of(rows[-1]) if has_more else None)
