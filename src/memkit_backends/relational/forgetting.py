"""Forgetting on purpose, with all that follows from it, in one step."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import LiteralString, assert_never

from memkit.errors import InvalidInput
from memkit.models import (
    Episodes,
    Items,
    Messages,
    Receipt,
    Scope,
    Session,
    Target,
    WholeScope,
)
from memkit_backends.relational import jobs, scopes
from memkit_backends.relational.burying import Said, bury, lose_sources
from memkit_backends.relational.driver import Row, Transaction, Value
from memkit_backends.relational.messages import NO_KEY, key_digest, parts
from memkit_backends.relational.noun import Noun
from memkit_backends.relational.silencing import Chosen, redact, silence


class Forgetting(Noun):
    """`Store.forget`."""

    async def forget(
        self, target: Target, *, at: datetime, replacement: str | None = None
    ) -> Receipt:
        """See `Store.forget`."""
        if replacement is not None and isinstance(target, WholeScope | Items):
            raise InvalidInput("a replacement stands in for messages; this target names none")
        return await self._driver.write(partial(self._forget, target, at, replacement))

    async def _forget(
        self, target: Target, at: datetime, replacement: str | None, tx: Transaction
    ) -> Receipt:
        match target:
            case WholeScope(scope=scope):
                return await self._forget_scope(tx, scope, at)
            case Items(scope=scope, ids=ids):
                return await self._forget_items(tx, scope, ids, at)
            case Session() | Episodes() | Messages():
                chosen = await self._chosen(tx, target)
                return await self._forget_said(tx, target, chosen, at, replacement)
            case _:
                assert_never(target)

    async def _forget_scope(self, tx: Transaction, scope: Scope, at: datetime) -> Receipt:
        home = await scopes.number(tx, scope)
        epoch = await self._raise_epochs(tx, [home], at)
        # Index: item_scope (scope_pk, id).
        items = await tx.fetch_all("SELECT pk FROM item WHERE scope_pk = :home", home=home)
        # Index: episode_home (home_pk, id).
        chosen = await self._whole(tx, "episode.home_pk = :home", home=home)
        return Receipt(
            at=at,
            epoch=epoch,
            items=await bury(tx, self._dialect, [pk for (pk,) in items], at),
            **await silence(tx, self._dialect, chosen),
            # Index: job_scope (scope_pk, id).
            jobs=await tx.execute("DELETE FROM job WHERE scope_pk = :home", home=home),
        )

    async def _forget_items(
        self, tx: Transaction, scope: Scope, ids: Sequence[str], at: datetime
    ) -> Receipt:
        home = await scopes.number(tx, scope)
        epoch = await self._raise_epochs(tx, [home], at)
        # Index: item (id).
        items = await tx.fetch_all(
            f"""
            SELECT pk
              FROM item
             WHERE id {self._dialect.is_one_of_texts(":ids")}
               AND scope_pk = :home
            """,
            ids=list(ids),
            home=home,
        )
        gone = await bury(tx, self._dialect, [pk for (pk,) in items], at)
        return Receipt(at=at, epoch=epoch, items=gone)

    async def _forget_said(
        self,
        tx: Transaction,
        target: Session | Episodes | Messages,
        chosen: Sequence[Chosen],
        at: datetime,
        replacement: str | None,
    ) -> Receipt:
        homes = sorted({each.home_pk for each in chosen})
        # Where nothing is known, the scope that was named is whose it is.
        homes = homes or [await scopes.number(tx, target.scope)]
        epoch = await self._raise_epochs(tx, homes, at)
        keys = frozenset(target.keys) if isinstance(target, Messages) else frozenset[str]()
        said = Said(
            whole=frozenset(each.id for each in chosen if each.is_whole),
            places={each.id: each.places for each in chosen if not each.is_whole},
            keys=keys,
        )
        orphans = await lose_sources(tx, self._dialect, homes, said)
        items = await bury(tx, self._dialect, orphans, at)
        if replacement is None:
            counts = await silence(tx, self._dialect, chosen)
        else:
            counts = await redact(tx, chosen, replacement)
        ended = await self._end_jobs(tx, homes, chosen)
        return Receipt(at=at, epoch=epoch, items=items, jobs=ended, **counts)

    async def _raise_epochs(self, tx: Transaction, homes: Sequence[int], at: datetime) -> int:
        """Let nothing in flight land in `homes`: live claims end here. The highest epoch."""
        rows = await tx.fetch_all(
            f"""
            SELECT epoch + 1, job_id
              FROM scope
             WHERE pk {self._dialect.is_one_of_integers(":homes")}
             ORDER BY pk
             {self._dialect.lock_row}
            """,
            homes=list(homes),
        )
        for _, job_id in rows:
            if job_id is not None:
                await jobs.fail(tx, job_id, "forgotten", at)
        await tx.execute(
            f"""
            UPDATE scope
               SET epoch = epoch + 1, lease_until = 0, job_id = NULL
             WHERE pk {self._dialect.is_one_of_integers(":homes")}
            """,
            homes=list(homes),
        )
        return max(int(epoch) for epoch, _ in rows)

    async def _chosen(self, tx: Transaction, target: Session | Episodes | Messages) -> list[Chosen]:
        match target:
            case Session(scope=scope, session_id=session_id):
                # Index: episode (session_pk, position).
                return await self._whole(
                    tx, f"episode.session_pk = ({_SESSION})", scope=scope.key, session=session_id
                )
            case Episodes(scope=scope, ids=ids):
                # Index: episode (id).
                return await self._whole(
                    tx,
                    f"""episode.id {self._dialect.is_one_of_texts(":ids")}
                    AND episode.home_pk = (SELECT pk FROM scope WHERE key = :scope)""",
                    scope=scope.key,
                    ids=list(ids),
                )
            case Messages():
                return await self._named(tx, target)
            case _:
                assert_never(target)

    async def _whole(
        self, tx: Transaction, where: LiteralString, **parameters: Value
    ) -> list[Chosen]:
        rows = await tx.fetch_all(
            f"""
            SELECT pk, id, home_pk, position, size
              FROM episode
             WHERE {where}
             ORDER BY pk
            """,
            **parameters,
        )
        return [_all_of(row) for row in rows]

    async def _named(self, tx: Transaction, target: Messages) -> list[Chosen]:
        """The messages with these keys, all their contents."""
        # Index: episode (session_pk, position).
        rows = await tx.fetch_all(
            f"""
            SELECT pk, id, home_pk, position, size, keys
              FROM episode
             WHERE session_pk = ({_SESSION})
               AND keys IS NOT NULL
             ORDER BY pk
            """,
            scope=target.scope.key,
            session=target.session_id,
        )
        wanted = {key_digest(key) for key in target.keys} - {NO_KEY}
        found = [
            replace(
                _all_of(tuple(row)),
                offsets={at for at, key in enumerate(parts(keys)) if key in wanted},
            )
            for *row, keys in rows
        ]
        return [each for each in found if each.offsets]

    async def _end_jobs(
        self, tx: Transaction, homes: Sequence[int], chosen: Sequence[Chosen]
    ) -> int:
        """Delete the jobs of which nothing is left, and what the others knew of the content.

        A checksum stands for the content: the same words, said again, are to be read again.
        """
        touched = {each.id for each in chosen}
        # Index: episode (id).
        gone = frozenset(
            await tx.fetch_all(
                f"""
            SELECT id
              FROM episode
             WHERE id {self._dialect.is_one_of_texts(":ids")}
               AND status = 'gone'
            """,
                ids=sorted(touched),
            )
        )
        # Index: job_scope (scope_pk, id).
        rows = await tx.fetch_all(
            f"""
            SELECT id, episode_ids
              FROM job
             WHERE scope_pk {self._dialect.is_one_of_integers(":homes")}
            """,
            homes=list(homes),
        )
        kept = {
            job_id: [each for each in ids if (each,) not in gone]
            for job_id, ids in ((job_id, json.loads(ids)) for job_id, ids in rows)
            if not touched.isdisjoint(ids)
        }
        await tx.execute_many(
            "UPDATE job SET episode_ids = :episodes, checksum = NULL WHERE id = :id",
            [{"id": each, "episodes": jobs.dump_ids(left)} for each, left in kept.items()],
        )
        ended = [each for each, left in kept.items() if not left]
        return await tx.execute(
            f"DELETE FROM job WHERE id {self._dialect.is_one_of_texts(':ids')}", ids=ended
        )


def _all_of(row: Row) -> Chosen:
    pk, episode_id, home_pk, position, size = row
    return Chosen(pk, episode_id, home_pk, position, size, range(size))


_SESSION: LiteralString = """
    SELECT session.pk
      FROM session
      JOIN scope ON scope.pk = session.scope_pk
     WHERE scope.key = :scope
       AND session.name = :session
"""
