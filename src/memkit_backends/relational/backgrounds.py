"""Backgrounds: what is known already of what a claim is about, in one look."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from memkit.decay import microseconds
from memkit.models import Background, Claim, MemoryItem, Query
from memkit_backends.relational.candidates import Finding
from memkit_backends.relational.driver import Transaction
from memkit_backends.relational.item_rows import ITEM
from memkit_backends.relational.items import whole_items


class Backgrounds(Finding):
    """`Ledger.background`."""

    async def background(self, claim: Claim, query: Query, *, checksum: str) -> Background:
        """See `Ledger.background`."""
        return await self._driver.read_each(partial(self._background, claim, query, checksum))

    async def _background(
        self, claim: Claim, query: Query, checksum: str, tx: Transaction
    ) -> Background:
        if await _is_settled(tx, claim, checksum):
            return Background(settled=True)
        found = await self._find(query, tx)
        exact = [each.id for each in found.exact]
        revised = await self._revised(tx, claim)
        items = await self._items(tx, claim, query, exact, revised) if exact or revised else []
        return Background(found=found, items=tuple(items))

    async def _revised(self, tx: Transaction, claim: Claim) -> list[int]:
        """The numbers of items with a source that a message of the claim revises."""
        said = {
            (each.id, message.key)
            for each in claim.episodes
            for message in each.messages
            if message.key is not None
        }
        if not said:
            return []
        # Indexes: episode (id), episode (session_pk, position), item_source_episode.
        rows = await tx.fetch_all(
            f"""
            SELECT source.item_pk, newer.id, source.key
              FROM episode AS newer
              JOIN episode AS older ON older.session_pk = newer.session_pk
                                   AND older.position < newer.position
              JOIN item_source AS source ON source.episode_id = older.id
             WHERE newer.id {self._dialect.is_one_of_texts(":episodes")}
               AND newer.revised > 0
               AND source.key IS NOT NULL
            """,
            episodes=sorted({episode_id for episode_id, _ in said}),
        )
        return sorted({pk for pk, episode_id, key in rows if (episode_id, key) in said})

    async def _items(
        self,
        tx: Transaction,
        claim: Claim,
        query: Query,
        exact: Sequence[str],
        revised: Sequence[int],
    ) -> list[MemoryItem]:
        # Indexes: item (id), item (pk).
        rows = await tx.fetch_all(
            f"""
            SELECT {ITEM}
              FROM item
              JOIN scope ON scope.pk = item.scope_pk
             WHERE (item.id {self._dialect.is_one_of_texts(":exact")}
                    OR item.pk {self._dialect.is_one_of_integers(":revised")})
               AND scope.key = :scope
               AND item.status IN ('active', 'quarantined')
               AND item.expires_at > :now
             ORDER BY item.id
            """,
            exact=list(exact),
            revised=list(revised),
            scope=claim.scope.key,
            now=microseconds(query.now),
        )
        return await whole_items(tx, self._dialect, rows)


async def _is_settled(tx: Transaction, claim: Claim, checksum: str) -> bool:
    # Index: job_checksum (scope_pk, checksum).
    row = await tx.fetch_one(
        """
        SELECT 1
          FROM scope
          JOIN job ON job.scope_pk = scope.pk
         WHERE scope.key = :scope
           AND job.checksum = :checksum
           AND job.status = 'completed'
         LIMIT 1
        """,
        scope=claim.scope.key,
        checksum=checksum,
    )
    return row is not None
