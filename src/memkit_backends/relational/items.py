"""Items: reading them whole, and applying changes to them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import LiteralString

from memkit.errors import Forgotten
from memkit.models import Applied, Changes, MemoryItem, Scope, Source
from memkit_backends.relational import scopes
from memkit_backends.relational.dialect import Dialect
from memkit_backends.relational.driver import Row, Transaction
from memkit_backends.relational.holding import Holding
from memkit_backends.relational.item_rows import (
    ITEM,
    columns_of,
    item_of,
    source_columns_of,
    source_of,
)
from memkit_backends.relational.noun import Noun


class Items(Noun):
    """`Store.get`, `Store.by_key` and `Store.apply`."""

    async def get(self, scope: Scope, ids: Sequence[str]) -> list[MemoryItem]:
        """See `Store.get`."""
        found = await self._driver.read(partial(self._get, scope, ids))
        by_id = {item.id: item for item in found}
        return [by_id[item_id] for item_id in ids if item_id in by_id]

    async def _get(self, scope: Scope, ids: Sequence[str], tx: Transaction) -> list[MemoryItem]:
        # Index: item (id).
        rows = await tx.fetch_all(
            f"""
            SELECT {ITEM}
              FROM item
              JOIN scope ON scope.pk = item.scope_pk
             WHERE item.id {self._dialect.is_one_of_texts(":ids")}
               AND scope.key = :scope
            """,
            scope=scope.key,
            ids=list(ids),
        )
        return await whole_items(tx, self._dialect, rows)

    async def by_key(self, scope: Scope, key: str) -> MemoryItem | None:
        """See `Store.by_key`."""
        found = await self._driver.read(partial(self._by_key, scope, key))
        return found[0] if found else None

    async def _by_key(self, scope: Scope, key: str, tx: Transaction) -> list[MemoryItem]:
        # Index: item_key (scope_pk, key).
        rows = await tx.fetch_all(
            f"""
            SELECT {ITEM}
              FROM scope
              JOIN item ON item.scope_pk = scope.pk
             WHERE scope.key = :scope
               AND item.key = :key
            """,
            scope=scope.key,
            key=key,
        )
        return await whole_items(tx, self._dialect, rows)

    async def apply(self, scope: Scope, changes: Changes, *, epoch: int | None = None) -> Applied:
        """See `Store.apply`."""
        changes.require_keepable_in(scope)
        return await self._driver.write(partial(self._apply, scope, changes, epoch))

    async def _apply(
        self, scope: Scope, changes: Changes, epoch: int | None, tx: Transaction
    ) -> Applied:
        held = await scopes.hold(tx, self._dialect, scope)
        if epoch not in {None, held.epoch}:
            raise Forgotten(f"scope {scope.key}")
        return await carry_out(tx, self._dialect, held.pk, changes)


async def whole_items(tx: Transaction, dialect: Dialect, rows: Sequence[Row]) -> list[MemoryItem]:
    """The items of rows of ITEM columns, in their order, with their sources."""
    sources = await _sources(tx, dialect, [row[0] for row in rows])
    return [item_of(row, sources.get(row[0], ())) for row in rows]


async def _sources(
    tx: Transaction, dialect: Dialect, pks: Sequence[int]
) -> dict[int, list[Source]]:
    if not pks:
        return {}
    # Index: item_source (item_pk, ordinal).
    rows = await tx.fetch_all(
        f"""
        SELECT item_pk, episode_id, session_id, position, key, recorded_at
          FROM item_source
         WHERE item_pk {dialect.is_one_of_integers(":items")}
         ORDER BY item_pk, ordinal
        """,
        items=list(pks),
    )
    sources: dict[int, list[Source]] = {}
    for item_pk, *row in rows:
        sources.setdefault(item_pk, []).append(source_of(tuple(row)))
    return sources


async def carry_out(tx: Transaction, dialect: Dialect, scope_pk: int, changes: Changes) -> Applied:
    """Apply `changes` to a scope that this transaction holds."""
    holding, pks = await _held(tx, dialect, scope_pk, changes)
    applied = holding.carry_out(changes)
    await _delete(tx, dialect, [pks[each] for each in holding.gone])
    for item in holding.changed:
        await _rewrite(tx, pks[item.id], holding.before[item.id], item)
    await _insert(tx, scope_pk, list(holding.new))
    return applied


async def _held(
    tx: Transaction, dialect: Dialect, scope_pk: int, changes: Changes
) -> tuple[Holding, dict[str, int]]:
    """What the changes touch, and the numbers of the rows by id."""
    hashes = [item.content_hash for item in changes.add]
    rows = await tx.fetch_all(
        _touched(dialect),
        scope=scope_pk,
        ids=list(_ids(changes)),
        keys=[item.key for item in changes.add if item.key is not None],
        hashes=hashes,
    )
    mine = [row[1:] for row in rows if row[0] == scope_pk]
    items = await whole_items(tx, dialect, mine)
    foreign = frozenset(row[2] for row in rows if row[0] != scope_pk)
    stones = await _stones(tx, dialect, scope_pk, hashes)
    pks = {row[1]: row[0] for row in mine}
    return Holding({item.id: item for item in items}, foreign, stones), pks


def _ids(changes: Changes) -> Iterator[str]:
    yield from changes.remove
    yield from (each.id for each in changes.supersede)
    yield from (each.id for each in changes.update)
    yield from (each.id for each in changes.add)
    yield from (each.id for each in changes.reinforce)


def _touched(dialect: Dialect) -> LiteralString:
    # Indexes: item (id), item_key (scope_pk, key), item_content (scope_pk, content_hash).
    return f"""
        SELECT item.scope_pk, {ITEM}
          FROM item
          JOIN scope ON scope.pk = item.scope_pk
         WHERE item.pk IN (
                   SELECT pk FROM item WHERE id {dialect.is_one_of_texts(":ids")}
                    UNION ALL
                   SELECT pk FROM item
                    WHERE scope_pk = :scope AND key {dialect.is_one_of_texts(":keys")}
                    UNION ALL
                   SELECT pk FROM item
                    WHERE scope_pk = :scope AND content_hash {dialect.is_one_of_texts(":hashes")}
               )
        """


async def _stones(
    tx: Transaction, dialect: Dialect, scope_pk: int, hashes: Sequence[str]
) -> dict[str, int]:
    if not hashes:
        return {}
    # Index: tombstone (scope_pk, content_hash).
    rows = await tx.fetch_all(
        f"""
        SELECT content_hash, at
          FROM tombstone
         WHERE scope_pk = :scope
           AND content_hash {dialect.is_one_of_texts(":hashes")}
        """,
        scope=scope_pk,
        hashes=list(hashes),
    )
    return dict(rows)


async def _delete(tx: Transaction, dialect: Dialect, pks: Sequence[int]) -> None:
    if pks:
        # Sources and the words of the text index go along, by the schema.
        await tx.execute(
            f"DELETE FROM item WHERE pk {dialect.is_one_of_integers(':items')}", items=list(pks)
        )


async def _rewrite(tx: Transaction, pk: int, before: MemoryItem, item: MemoryItem) -> None:
    # Under the scope's lock since it was read, so that nothing written since is undone.
    await tx.execute(
        """
        UPDATE item
           SET status = :status, kind = :kind, origin = :origin, policy = :policy,
               fades_at = :fades_at, ends_at = :ends_at, expires_at = :expires_at,
               observed_at = :observed_at,
               content_hash = :content_hash, session_id = :session_id, position = :position,
               content = :content, tokens = :tokens, importance = :importance,
               created_at = :created_at, reinforced_at = :reinforced_at, pinned = :pinned,
               valid_from = :valid_from, valid_to = :valid_to, superseded_by = :superseded_by,
               job_id = :job_id, model = :model, key = :key, value = :value,
               metadata = :metadata
         WHERE pk = :pk
           AND id = :id
        """,
        pk=pk,
        **columns_of(item),
    )
    if item.sources != before.sources:
        await tx.execute("DELETE FROM item_source WHERE item_pk = :item", item=pk)
        await _insert_sources(tx, [item])


async def _insert(tx: Transaction, scope_pk: int, items: Sequence[MemoryItem]) -> None:
    if not items:
        return
    await tx.execute_many(
        """
        INSERT INTO item
               (id, scope_pk, status, kind, origin, policy, fades_at, ends_at, expires_at,
                observed_at, content_hash, session_id, position, content, tokens, importance,
                created_at, reinforced_at, pinned, valid_from, valid_to, superseded_by,
                job_id, model, key, value, metadata)
        VALUES (:id, :scope_pk, :status, :kind, :origin, :policy, :fades_at, :ends_at,
                :expires_at, :observed_at, :content_hash, :session_id, :position, :content, :tokens,
                :importance, :created_at, :reinforced_at, :pinned, :valid_from, :valid_to,
                :superseded_by, :job_id, :model, :key, :value, :metadata)
        """,
        [{"scope_pk": scope_pk, **columns_of(item)} for item in items],
    )
    await _insert_sources(tx, items)


async def _insert_sources(tx: Transaction, items: Sequence[MemoryItem]) -> None:
    # Index: item (id).
    await tx.execute_many(
        """
        INSERT INTO item_source
               (item_pk, ordinal, episode_id, session_id, position, key, recorded_at)
        VALUES ((SELECT pk FROM item WHERE id = :item), :ordinal, :episode, :session, :position,
                :key, :recorded_at)
        """,
        [
            source_columns_of(item.id, ordinal, source)
            for item in items
            for ordinal, source in enumerate(item.sources)
        ],
    )
