"""A store of LangGraph, whatever its database: a namespace for each scope, a value an item."""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from datetime import datetime

from langgraph.store.base import BaseStore

from memkit.decay import from_microseconds
from tests.bench.places import SHOWN
from tests.bench.population import COLUMNS, Row, scope_of
from tests.bench.records import Said

FIELDS = ("prefix", "key", "value", "created_at", "updated_at")
Kept = tuple[str, str, str, datetime, datetime]


class LangGraphStore:
    """See `PeerStore`."""

    def __init__(self, store: BaseStore) -> None:
        self._store = store

    async def recall(self, scope: int) -> Sequence[object]:
        """See `PeerStore.recall`; it knows no importance and answers with the newest."""
        return await self._store.asearch(namespace("memories", scope), limit=SHOWN)

    async def record(self, caller: int, turn: list[Said]) -> None:
        """See `PeerStore.record`."""
        where = namespace("episodes", caller)
        await self._store.aput(where, str(uuid.uuid4()), {"messages": turn})


def namespace(sort: str, scope: int) -> tuple[str, str]:
    """Where the memories or the episodes of a scope are."""
    return sort, str(scope_of(scope).user_id)


def kept(row: Row) -> Kept:
    """The same item as a row of its table, in the order of FIELDS."""
    told = dict(zip(COLUMNS, row, strict=True))
    value = {name: told[name] for name in ("content", "kind", "importance")}
    then = from_microseconds(int(str(told["created_at"])))
    prefix = ".".join(namespace("memories", int(str(told["scope_pk"]))))
    return prefix, str(told["id"]), json.dumps(value), then, then
