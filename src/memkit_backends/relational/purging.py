"""Decay carried out: deleting what is past its time, in batches that let others write."""

from __future__ import annotations

from datetime import datetime
from functools import partial

from memkit.decay import DAY, microseconds
from memkit.errors import InvalidInput
from memkit.models import Purged
from memkit_backends.relational.driver import Row, Transaction
from memkit_backends.relational.noun import Noun


class Purging(Noun):
    """`Store.purge`."""

    async def purge(
        self, *, now: datetime, limit: int = 1000, dry_run: bool = False, force: bool = False
    ) -> Purged:
        """See `Store.purge`. Items go first, then episodes, the longest expired first."""
        if not force:
            await self._refuse_the_future(now)
        if limit < 1:
            raise InvalidInput(f"a purge deletes at least one row, not {limit}")
        stamp = microseconds(now)
        if dry_run:
            return await self._driver.read(partial(self._expired, stamp, limit))
        done = Purged(more=True)
        while done.more and (left := limit - len(done.item_ids) - len(done.episode_ids)) > 0:
            step = await self._driver.write(
                partial(self._purge, stamp, min(left, self._dialect.purged_at_once))
            )
            done += step
        return done

    async def _refuse_the_future(self, now: datetime) -> None:
        # The store's clock rather than the system's: they need not be on one machine.
        row = await self._driver.read_each(self._clock)
        if microseconds(now - DAY) > row:
            raise InvalidInput(
                "purge was given a time more than a day ahead of the store's clock; "
                "pass force=True if that is meant"
            )

    async def _clock(self, tx: Transaction) -> int:
        row = await tx.fetch_one(f"SELECT {self._dialect.store_clock}")
        return 0 if row is None else int(row[0])

    async def _purge(self, stamp: int, limit: int, tx: Transaction) -> Purged:
        found = await self._expired(stamp, limit, tx)
        if found.episode_ids:
            await tx.execute(
                f"""
                UPDATE episode
                   SET messages = NULL, gone = size, status = 'gone'
                 WHERE id {self._dialect.is_one_of_texts(":ids")}
                """,
                ids=sorted(found.episode_ids),
            )
        if not found.item_ids:
            return found
        # Each by its date once more: what was reinforced meanwhile is not past its time.
        # Sources and the words of the text index go along, by the schema.
        rows = await tx.fetch_all(
            f"""
            DELETE FROM item
             WHERE id {self._dialect.is_one_of_texts(":ids")}
               AND expires_at <= :now
            RETURNING id
            """,
            ids=sorted(found.item_ids),
            now=stamp,
        )
        gone = {each for (each,) in rows}
        ids = tuple(each for each in found.item_ids if each in gone)
        return found.model_copy(update={"item_ids": ids})

    async def _expired(self, stamp: int, limit: int, tx: Transaction) -> Purged:
        # One more than asked tells whether there are more. Index: item_expired (expires_at, id).
        items = await tx.fetch_all(
            """
            SELECT id
              FROM item
             WHERE expires_at <= :now
             ORDER BY expires_at, id
             LIMIT :most
            """,
            now=stamp,
            most=limit + 1,
        )
        left = limit + 1 - len(items)
        episodes = await self._expired_episodes(stamp, left, tx) if left else []
        item_ids = tuple(each for (each,) in items[:limit])
        spoken = episodes[: limit - len(item_ids)]
        return Purged(
            item_ids=item_ids,
            episode_ids=tuple(each for each, _ in spoken),
            unread=sum(status != "settled" for _, status in spoken),
            more=len(items) + len(episodes) > limit,
        )

    async def _expired_episodes(self, stamp: int, most: int, tx: Transaction) -> list[Row]:
        # Index: episode_expired (expires_at, id).
        return await tx.fetch_all(
            """
            SELECT id, status
              FROM episode
             WHERE messages IS NOT NULL
               AND expires_at <= :now
             ORDER BY expires_at, id
             LIMIT :most
            """,
            now=stamp,
            most=most,
        )
