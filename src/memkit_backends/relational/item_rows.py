"""Items as rows: the columns, how an item fills them, and how one is read back."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Final, LiteralString

from pydantic import JsonValue

from memkit.decay import from_microseconds, microseconds
from memkit.models import MemoryItem, Scope, Source
from memkit_backends.relational.damage import reads_a_row
from memkit_backends.relational.driver import Parameters, Row

ITEM: Final[LiteralString] = """
       item.pk, item.id, scope.key, item.status, item.kind, item.origin, item.policy,
       item.fades_at, item.ends_at, item.observed_at, item.content, item.tokens,
       item.importance, item.created_at, item.reinforced_at, item.pinned, item.valid_from,
       item.valid_to, item.superseded_by, item.job_id, item.model, item.key, item.value,
       item.metadata
"""
"""The columns of a whole item, of `item` joined to its `scope`; its sources are rows apart."""


@reads_a_row
def item_of(row: Row, sources: Sequence[Source]) -> MemoryItem:
    """The item that a row of ITEM columns and its sources make."""
    (_, item_id, scope, status, kind, origin, policy, *rest) = row
    (fades_at, ends_at, observed_at, content, tokens, importance, *rest) = rest
    (created_at, reinforced_at, pinned, valid_from, valid_to, superseded_by, *rest) = rest
    (job_id, model, key, value, metadata) = rest
    return MemoryItem(
        id=item_id,
        scope=Scope.from_key(scope),
        status=status,
        kind=kind,
        origin=origin,
        policy=policy,
        fades_at=from_microseconds(fades_at),
        ends_at=_date(ends_at),
        observed_at=from_microseconds(observed_at),
        content=content,
        tokens=tokens,
        importance=importance,
        created_at=from_microseconds(created_at),
        reinforced_at=from_microseconds(reinforced_at),
        pinned=bool(pinned),
        valid_from=_date(valid_from),
        valid_to=_date(valid_to),
        superseded_by=superseded_by,
        job_id=job_id,
        model=model,
        key=key,
        value=json.loads(value),
        metadata=json.loads(metadata),
        sources=tuple(sources),
    )


def columns_of(item: MemoryItem) -> Parameters:
    """The values of an item's row, by column."""
    first = item.sources[0] if item.sources else None
    return {
        "id": item.id,
        "status": item.status,
        "kind": item.kind,
        "origin": item.origin,
        "policy": item.policy,
        "fades_at": microseconds(item.fades_at),
        "ends_at": _stamp(item.ends_at),
        "expires_at": microseconds(item.expires_at),
        "observed_at": microseconds(item.observed_at),
        "content_hash": item.content_hash,
        "session_id": first.session_id if first else None,
        "position": first.position if first else None,
        "content": item.content,
        "tokens": item.tokens,
        "importance": item.importance,
        "created_at": microseconds(item.created_at),
        "reinforced_at": microseconds(item.reinforced_at),
        "pinned": item.pinned,
        "valid_from": _stamp(item.valid_from),
        "valid_to": _stamp(item.valid_to),
        "superseded_by": item.superseded_by,
        "job_id": item.job_id,
        "model": item.model,
        "key": item.key,
        "value": _json(item.value),
        "metadata": _json(item.metadata),
    }


def source_columns_of(item_id: str, ordinal: int, source: Source) -> Parameters:
    """The values of a source's row, by column."""
    return {
        "item": item_id,
        "ordinal": ordinal,
        "episode": source.episode_id,
        "session": source.session_id,
        "position": source.position,
        "key": source.key,
        "recorded_at": microseconds(source.recorded_at),
    }


@reads_a_row
def source_of(row: Row) -> Source:
    """The source that a row makes: episode, session, position, key, time."""
    episode_id, session_id, position, key, recorded_at = row
    return Source(
        episode_id=episode_id,
        session_id=session_id,
        position=position,
        key=key,
        recorded_at=from_microseconds(recorded_at),
    )


def _json(value: JsonValue) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _date(stamp: int | None) -> datetime | None:
    return None if stamp is None else from_microseconds(stamp)


def _stamp(date: datetime | None) -> int | None:
    return None if date is None else microseconds(date)
