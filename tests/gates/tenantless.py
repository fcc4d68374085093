"""SQL stores that lack one predicate: each forgets in one statement whose memory it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from memkit.models import MemoryItem, Page, Query, Receipt, Scope
from memkit_backends.relational.driver import Transaction
from memkit_backends.relational.item_rows import ITEM
from memkit_backends.relational.items import whole_items
from memkit_backends.relational.pages import Span
from memkit_backends.relational.store import RelationalStore
from tests.gates.backends import Backend, GateStore


class GetsByID(RelationalStore):
    """Reads items by id, and no more."""

    async def _get(self, scope: Scope, ids: Sequence[str], tx: Transaction) -> list[MemoryItem]:
        del scope
        rows = await tx.fetch_all(
            f"""
            SELECT {ITEM}
              FROM item
              JOIN scope ON scope.pk = item.scope_pk
             WHERE item.id {self._dialect.is_one_of_texts(":ids")}
            """,
            ids=list(ids),
        )
        return await whole_items(tx, self._dialect, rows)


class FindsAnywhere(RelationalStore):
    """Finds in every scope that there is."""

    async def _scopes(self, tx: Transaction, query: Query) -> dict[int, Scope]:
        del query
        rows = await tx.fetch_all("SELECT pk, key FROM scope")
        return {pk: Scope.from_key(key) for pk, key in rows}


class ScansAnything(RelationalStore):
    """Lists items of everybody."""

    async def _item_page(self, span: Span, tx: Transaction) -> Page[MemoryItem]:
        return await super()._item_page(replace(span, scope=None), tx)


class ForgetsByID(RelationalStore):
    """Forgets items wherever they are."""

    async def _forget_items(
        self, tx: Transaction, scope: Scope, ids: Sequence[str], at: datetime
    ) -> Receipt:
        row = await tx.fetch_one(
            """
            SELECT scope.key
              FROM item
              JOIN scope ON scope.pk = item.scope_pk
             WHERE item.id = :id
            """,
            id=ids[0],
        )
        owner = scope if row is None else Scope.from_key(row[0])
        return await super()._forget_items(tx, owner, ids, at)


BUGS: dict[str, type[RelationalStore]] = {
    "get-by-id": GetsByID,
    "find-anywhere": FindsAnywhere,
    "scan-anything": ScansAnything,
    "forget-by-id": ForgetsByID,
}


async def open_with(bug: str | None, backend: Backend, location: str) -> GateStore:
    """The store at a location, one of its nouns being replaced."""
    store = await backend.open(location)
    if bug is not None:
        right = type(store)
        store.__class__ = type(f"{BUGS[bug].__name__}{right.__name__}", (BUGS[bug], right), {})
    return store
