"""Counts, for one scope or for the whole store."""

from __future__ import annotations

from functools import partial
from typing import LiteralString

from memkit.decay import from_microseconds
from memkit.models import Scope, Stats
from memkit_backends.relational.damage import reads_a_row
from memkit_backends.relational.driver import Transaction, Value
from memkit_backends.relational.noun import Noun


class Statistics(Noun):
    """`Store.stats`."""

    async def stats(self, scope: Scope | None = None) -> Stats:
        """See `Store.stats`."""
        return await self._driver.read(partial(_stats, scope))


_counted = reads_a_row(Stats)


async def _stats(scope: Scope | None, tx: Transaction) -> Stats:
    where: LiteralString = "1 = 1"
    given: dict[str, Value] = {}
    if scope is not None:
        where = "owner_pk = (SELECT pk FROM scope WHERE key = :scope)"
        given = {"scope": scope.key}
    episodes, messages, pending, dead, oldest = await _episodes(tx, where, given)
    return _counted(
        **await _items(tx, where, given),
        kinds=await _by(tx, "kind", where, given),
        policies=await _by(tx, "policy", where, given),
        episodes=episodes,
        messages=messages,
        pending=pending,
        dead=dead,
        scopes=await _scopes(tx, where, given),
        oldest_pending_at=None if oldest is None else from_microseconds(oldest),
    )


async def _items(tx: Transaction, where: LiteralString, given: dict[str, Value]) -> dict[str, int]:
    # Index: item_scope (scope_pk, id), with a scope.
    row = await tx.fetch_one(
        f"""
        SELECT count(*),
               count(*) FILTER (WHERE status = 'superseded'),
               count(*) FILTER (WHERE status = 'quarantined'),
               count(*) FILTER (WHERE pinned)
          FROM (SELECT scope_pk AS owner_pk, status, pinned FROM item) AS item
         WHERE {where}
        """,
        **given,
    )
    names = ("items", "superseded", "quarantined", "pinned")
    return dict(zip(names, row or (0,) * len(names), strict=True))


async def _by(
    tx: Transaction, column: LiteralString, where: LiteralString, given: dict[str, Value]
) -> dict[str, int]:
    rows = await tx.fetch_all(
        f"""
        SELECT {column}, count(*)
          FROM (SELECT scope_pk AS owner_pk, {column} FROM item) AS item
         WHERE {where}
         GROUP BY {column}
        """,
        **given,
    )
    return dict(rows)


async def _episodes(
    tx: Transaction, where: LiteralString, given: dict[str, Value]
) -> tuple[int, int, int, int, int | None]:
    # Index: episode_home (home_pk, id), with a scope.
    row = await tx.fetch_one(
        f"""
        SELECT count(*),
               coalesce(sum(size - gone), 0),
               count(*) FILTER (WHERE status = 'pending'),
               count(*) FILTER (WHERE status = 'dead'),
               min(recorded_at) FILTER (WHERE status = 'pending')
          FROM (SELECT home_pk AS owner_pk, size, gone, status, recorded_at
                  FROM episode
                 WHERE messages IS NOT NULL) AS episode
         WHERE {where}
        """,
        **given,
    )
    return (0, 0, 0, 0, None) if row is None else (row[0], row[1], row[2], row[3], row[4])


async def _scopes(tx: Transaction, where: LiteralString, given: dict[str, Value]) -> int:
    row = await tx.fetch_one(
        f"""
        SELECT count(*)
          FROM (SELECT scope_pk AS owner_pk FROM item
                 UNION
                SELECT home_pk FROM episode WHERE messages IS NOT NULL) AS owner
         WHERE {where}
        """,
        **given,
    )
    return 0 if row is None else int(row[0])
