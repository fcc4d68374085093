"""Items that are forgotten: what came from what, and the hash that stays of each content."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from memkit.decay import microseconds
from memkit_backends.relational.dialect import Dialect
from memkit_backends.relational.driver import Transaction


@dataclass(frozen=True, slots=True)
class Said:
    """Messages that are forgotten, as the sources of items name them.

    `whole` are episodes of which nothing is left; `places` holds the positions in others.
    `keys` are the keys that were asked for: a source that names one of them is meant also
    if its place is wrong.
    """

    whole: frozenset[str]
    places: Mapping[str, Collection[int]]
    keys: frozenset[str]

    def covers(self, episode_id: str, position: int, key: str | None) -> bool:
        """Whether a source is one of these messages."""
        if episode_id in self.whole:
            return True
        places = self.places.get(episode_id)
        return places is not None and (position in places or key in self.keys)


async def lose_sources(
    tx: Transaction, dialect: Dialect, homes: Sequence[int], said: Said
) -> list[int]:
    """Take the messages from the items that name them; the items that came from them alone.

    What the host told stands by itself, also where it was heard in a session later.
    """
    # Index: item_source_episode (episode_id, item_pk).
    rows = await tx.fetch_all(
        f"""
        SELECT item_source.item_pk, item_source.ordinal, item_source.episode_id,
               item_source.position, item_source.key
          FROM item_source
          JOIN item ON item.pk = item_source.item_pk
         WHERE item_source.episode_id {dialect.is_one_of_texts(":episodes")}
           AND item.scope_pk {dialect.is_one_of_integers(":homes")}
        """,
        episodes=[*said.whole, *said.places],
        homes=list(homes),
    )
    lost = [(pk, ordinal) for pk, ordinal, *source in rows if said.covers(*source)]
    if not lost:
        return []
    await tx.execute_many(
        "DELETE FROM item_source WHERE item_pk = :item AND ordinal = :ordinal",
        [{"item": pk, "ordinal": ordinal} for pk, ordinal in lost],
    )
    touched = sorted({pk for pk, _ in lost})
    await _name_first_source(tx, dialect, touched)
    # Index: item_source (item_pk, ordinal).
    orphans = await tx.fetch_all(
        f"""
        SELECT pk
          FROM item
         WHERE pk {dialect.is_one_of_integers(":items")}
           AND origin <> 'told'
           AND NOT EXISTS (SELECT 1 FROM item_source WHERE item_source.item_pk = item.pk)
        """,
        items=touched,
    )
    return [pk for (pk,) in orphans]


async def _name_first_source(tx: Transaction, dialect: Dialect, items: Sequence[int]) -> None:
    await tx.execute(
        f"""
        UPDATE item
           SET session_id = (SELECT session_id FROM item_source
                              WHERE item_source.item_pk = item.pk ORDER BY ordinal LIMIT 1),
               position = (SELECT position FROM item_source
                            WHERE item_source.item_pk = item.pk ORDER BY ordinal LIMIT 1)
         WHERE pk {dialect.is_one_of_integers(":items")}
        """,
        items=list(items),
    )


async def bury(tx: Transaction, dialect: Dialect, items: Sequence[int], at: datetime) -> int:
    """Delete items for good and keep a tombstone for each content; say how many."""
    rows = await tx.fetch_all(
        f"""
        SELECT scope.pk, scope.key, item.content_hash
          FROM item
          JOIN scope ON scope.pk = item.scope_pk
         WHERE item.pk {dialect.is_one_of_integers(":items")}
        """,
        items=list(items),
    )
    await tx.execute_many(
        """
        INSERT INTO tombstone (id, scope_pk, content_hash, at)
        VALUES (:id, :scope, :hash, :at)
            ON CONFLICT (scope_pk, content_hash) DO UPDATE
           SET at = CASE WHEN excluded.at > tombstone.at THEN excluded.at ELSE tombstone.at END
        """,
        [
            {
                "id": tombstone_id(key, content_hash),
                "scope": pk,
                "hash": content_hash,
                "at": microseconds(at),
            }
            for pk, key, content_hash in sorted(set(rows))
        ],
    )
    # Sources and the words of the text index go along, by the schema.
    return await tx.execute(
        f"DELETE FROM item WHERE pk {dialect.is_one_of_integers(':items')}", items=list(items)
    )


def tombstone_id(scope_key: str, content_hash: str) -> str:
    """One tombstone for each content of a scope, so that forgetting twice leaves one."""
    return hashlib.sha256(f"{scope_key}{content_hash}".encode()).hexdigest()[:32]
