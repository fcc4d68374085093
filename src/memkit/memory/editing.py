"""Editing: what a host tells, changes, pins and reinforces itself, one item at a time."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from types import EllipsisType
from typing import TYPE_CHECKING

from pydantic import JsonValue

from memkit.config import Config
from memkit.contracts import Store
from memkit.decay import end
from memkit.errors import InvalidInput, StoreBusy
from memkit.memory import arguments
from memkit.memory.intake import DEEPEST
from memkit.models import (
    Changes,
    Kind,
    Limits,
    MemoryItem,
    Patch,
    Scope,
    Status,
    new_id,
)
from memkit.text import clean, tokenize

if TYPE_CHECKING:
    from memkit.redact import Redactor

LONGEST_ITEM = 10_000
"""The longest content of an item, in characters: an item is one statement, not a document."""
_LOOKS = 100
"""How often an item is looked at anew. Of those who change it at once, one succeeds each time."""

Columns = Mapping[str, object]
"""Fields of a `Patch`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Editing:
    """Edits of single items in one store."""

    store: Store
    config: Config
    redactor: Redactor | None

    async def remember(  # noqa: PLR0913  # the fields of an item
        self,
        home: Scope,
        content: str,
        *,
        kind: Kind,
        importance: float,
        key: str | None,
        value: JsonValue,
        metadata: Mapping[str, JsonValue] | None,
        pinned: bool,
        ttl: timedelta | None,
        now: datetime,
    ) -> MemoryItem:
        """See `Memory.remember`."""
        text = self._content(content)
        policy = self.config.decay.policy(self._kind(kind), pinned=pinned)
        ends_at = end(now, self.config.ttl(kind) if ttl is None else self._lasting(ttl))
        item = MemoryItem(
            id=new_id(),
            scope=home,
            content=text,
            kind=kind,
            importance=importance,
            created_at=now,
            observed_at=now,
            reinforced_at=now,
            policy=policy.name,
            fades_at=policy.fades_at(_checked(importance), now),
            ends_at=ends_at,
            pinned=pinned,
            key=key,
            value=_exact("value", value),
            metadata=self._metadata(metadata),
            tokens=self._tokens(text),
        )
        applied = await self.store.apply(home, Changes(add=(item,)))
        # Its key or its content may have been there before, and then so was its id.
        [item_id] = applied.added or applied.updated or applied.reinforced
        if applied.added:
            return item

        def as_told(known: MemoryItem) -> Columns:
            told = self._pinning(known, now, pinned=True) if pinned else {}
            return told if ttl is None else {**told, "ends_at": ends_at}

        return await self._changed(home, item_id, as_told, now=None)

    async def update(  # noqa: PLR0913  # the fields of an item
        self,
        home: Scope,
        item_id: str,
        *,
        content: str | None,
        kind: Kind | None,
        importance: float | None,
        metadata: Mapping[str, JsonValue] | None,
        value: JsonValue | EllipsisType,
        status: Status | None,
        now: datetime,
    ) -> MemoryItem:
        """See `Memory.update`."""
        columns: dict[str, object] = {}
        if content is not None:
            text = self._content(content)
            columns |= {"content": text, "tokens": self._tokens(text)}
        if metadata is not None:
            columns["metadata"] = self._metadata(metadata)
        if not isinstance(value, EllipsisType):
            columns["value"] = _exact("value", value)
        if status is not None:
            columns["status"] = status

        def edited(item: MemoryItem) -> Columns:
            if kind is None and importance is None:
                return columns
            dates = self._dates(item, now, importance=importance, kind=kind)
            return {**columns, **dates, **(self._as_kind(item, kind) if kind is not None else {})}

        return await self._changed(home, item_id, edited, now=now)

    async def pin(self, home: Scope, item_id: str, *, pinned: bool, now: datetime) -> MemoryItem:
        """See `Memory.pin`."""
        change = partial(self._pinning, now=now, pinned=pinned)
        return await self._changed(home, item_id, change, now=now)

    async def reinforce(
        self, home: Scope, item_id: str, *, importance: float | None, now: datetime
    ) -> MemoryItem:
        """See `Memory.reinforce`."""

        def restored(item: MemoryItem) -> Columns:
            wanted = item.importance if importance is None else _checked(importance)
            return self._dates(item, now, importance=max(wanted, item.importance_at(now)))

        return await self._changed(home, item_id, restored, now=now)

    async def one(self, home: Scope, item_id: str, *, now: datetime | None) -> MemoryItem:
        """The item with this id, or `InvalidInput`; with `now`, one that has not expired."""
        found = await self.store.get(home, [arguments.text("item_id", item_id)])
        if not found or (now is not None and found[0].expires_at <= now):
            raise InvalidInput(f"there is no item {item_id!r} in this scope")
        return found[0]

    async def _changed(
        self,
        home: Scope,
        item_id: str,
        change: Callable[[MemoryItem], Columns],
        *,
        now: datetime | None,
    ) -> MemoryItem:
        """The item once what `change` says of it as it stands is written; with `now`, see `one`.

        Somebody else may change its dates in between: then it is looked at again.
        """
        for _ in range(_LOOKS):
            item = await self.one(home, item_id, now=now)
            columns = change(item)
            if not columns:
                return item
            patch = Patch.model_validate({"id": item_id, **columns})
            applied = await self.store.apply(home, Changes(update=(patch,)))
            if not applied.stale:
                return await self.one(home, item_id, now=None)
        raise StoreBusy(f"item {item_id} is being changed by others; try again")

    def _pinning(self, item: MemoryItem, now: datetime, *, pinned: bool) -> Columns:
        if item.pinned == pinned:
            return {}
        return {"pinned": pinned, **self._dates(item, now, pinned=pinned)}

    def _as_kind(self, item: MemoryItem, kind: Kind) -> Columns:
        """Of another kind, `item` keeps an end of its own; that of its old kind was not."""
        is_its_own = item.ends_at != end(item.created_at, self.config.ttl(item.kind))
        ends_at = item.ends_at if is_its_own else end(item.created_at, self.config.ttl(kind))
        return {"kind": self._kind(kind), "ends_at": ends_at}

    def _dates(
        self,
        item: MemoryItem,
        now: datetime,
        *,
        kind: Kind | None = None,
        importance: float | None = None,
        pinned: bool | None = None,
    ) -> Columns:
        """When `item` fades with these values in place of its own, as of now."""
        kind = item.kind if kind is None else kind
        policy = self.config.decay.policy(kind, pinned=item.pinned if pinned is None else pinned)
        held = item.importance_at(now) if importance is None else _checked(importance)
        return {
            "importance": held,
            "reinforced_at": now,
            "policy": policy.name,
            "fades_at": policy.fades_at(held, now),
            "if_fades_at": item.fades_at,
        }

    def _content(self, content: str) -> str:
        if not isinstance(content, str):
            raise InvalidInput(f"content must be text, not {type(content).__name__}")
        limit = self._limits.content_characters
        longest = LONGEST_ITEM if limit is None else min(limit, LONGEST_ITEM)
        if len(content) > longest:
            raise InvalidInput(f"content of over {longest} characters; remember it in parts")
        text = clean(content)[0]
        if self.redactor is not None:
            text = self.redactor.redact(text, where="item")[0]
        if not text.strip():
            raise InvalidInput("content is blank")
        return text

    @property
    def _limits(self) -> Limits:
        return self.store.capabilities.limits

    def _lasting(self, ttl: object) -> timedelta:
        if not isinstance(ttl, timedelta) or ttl <= timedelta(0):
            raise InvalidInput("ttl must be a timedelta, and longer than nothing")
        shortest = self._limits.shortest_ttl_days
        if shortest is not None and ttl < timedelta(days=shortest):
            raise InvalidInput(f"this store keeps items for {shortest} days at the least")
        return ttl

    def _metadata(self, metadata: Mapping[str, JsonValue] | None) -> dict[str, JsonValue]:
        most = self._limits.metadata_keys
        if most is not None and metadata is not None and len(metadata) > most:
            raise InvalidInput(f"this store keeps {most} keys of metadata at the most")
        return _metadata(metadata)

    def _tokens(self, text: str) -> str:
        return " ".join(tokenize(text, self.config.language))

    def _kind(self, kind: Kind) -> Kind:
        return self.config.declared(arguments.text("kind", kind))


def _checked(importance: object) -> float:
    match importance:
        case bool():
            pass
        case int() | float() if 0 <= importance <= 1:  # NaN does not
            return float(importance)
    raise InvalidInput("importance must be a number from 0 to 1")


def _exact(name: str, value: JsonValue) -> JsonValue:
    """`value`, if every store can keep it to the letter."""
    try:
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError):
        raise InvalidInput(f"{name} is no JSON that can be written in UTF-8") from None
    return value


def _metadata(metadata: Mapping[str, JsonValue] | None) -> dict[str, JsonValue]:
    if not isinstance(metadata, Mapping | None):
        raise InvalidInput(f"metadata must be a mapping, not {type(metadata).__name__}")
    washed = _clean({} if metadata is None else dict(metadata), 0)
    _exact("metadata", washed)
    return washed if isinstance(washed, dict) else {}


def _clean(value: JsonValue, depth: int) -> JsonValue:
    if depth > DEEPEST:
        raise InvalidInput(f"JSON nested more than {DEEPEST} levels deep")
    match value:
        case str():
            return clean(value)[0]
        case list():
            return [_clean(each, depth + 1) for each in value]
        case dict():
            return {_clean_key(key): _clean(each, depth + 1) for key, each in value.items()}
        case _:
            return value


def _clean_key(key: object) -> str:
    if not isinstance(key, str):
        raise InvalidInput(f"a key of metadata must be text, not {type(key).__name__}")
    return clean(key)[0]
