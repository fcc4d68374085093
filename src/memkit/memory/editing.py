"""Editing: what a host tells, changes, pins and reinforces itself, one item at a time."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import EllipsisType
from typing import TYPE_CHECKING

from pydantic import JsonValue

from memkit.config import Config
from memkit.contracts import Store
from memkit.decay import NEVER, expiry
from memkit.errors import InvalidInput
from memkit.memory import arguments
from memkit.memory.intake import DEEPEST
from memkit.models import (
    Changes,
    Kind,
    MemoryItem,
    Patch,
    Reinforcement,
    Scope,
    Status,
    new_id,
)
from memkit.registry import nearest
from memkit.text import clean, tokenize

if TYPE_CHECKING:
    from memkit.redact import Redactor

LONGEST_ITEM = 10_000
"""The longest content of an item, in characters: an item is one statement, not a document."""
_LOOKS = 8
"""How often a write is looked at again; an eventual store may show what was before it."""


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
        lasting = self.config.ttl(kind) if ttl is None else _lasting(ttl)
        fades_at = policy.fades_at(_checked(importance), now)
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
            fades_at=fades_at,
            expires_at=expiry(fades_at, created_at=now, ttl=lasting),
            pinned=pinned,
            key=key,
            value=_exact("value", value),
            metadata=_metadata(metadata),
            tokens=self._tokens(text),
        )
        applied = await self.store.apply(home, Changes(add=(item,)))
        # Its key or its content may have been there before, and then so was its id.
        [item_id] = applied.added or applied.updated or applied.reinforced
        if item_id == item.id:
            return item
        if pinned:
            return await self.pin(home, item_id, pinned=True, now=now)
        return await self._evened(home, item_id, now)

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
        item = await self.one(home, item_id, now=now)
        columns: dict[str, object] = {}
        if content is not None:
            text = self._content(content)
            columns |= {"content": text, "tokens": self._tokens(text)}
        if kind is not None:
            columns["kind"] = self._kind(kind)
        if kind is not None or importance is not None:
            columns |= self._dates(item, now, kind=kind, importance=importance)
        if metadata is not None:
            columns["metadata"] = _metadata(metadata)
        if not isinstance(value, EllipsisType):
            columns["value"] = _exact("value", value)
        if status is not None:
            columns["status"] = status
        return await self._patched(item, columns, now)

    async def pin(self, home: Scope, item_id: str, *, pinned: bool, now: datetime) -> MemoryItem:
        """See `Memory.pin`."""
        item = await self.one(home, item_id, now=now)
        if item.pinned == pinned:
            return await self._evened(home, item_id, now)
        dates = self._dates(item, now, pinned=pinned)
        return await self._patched(item, {"pinned": pinned, **dates}, now)

    async def reinforce(
        self, home: Scope, item_id: str, *, importance: float | None, now: datetime
    ) -> MemoryItem:
        """See `Memory.reinforce`."""
        item = await self.one(home, item_id, now=now)
        wanted = item.importance if importance is None else _checked(importance)
        dates = self._dates(item, now, importance=max(wanted, item.importance_at(now)))
        met = Reinforcement.model_validate({"id": item.id, **dates})
        await self.store.apply(home, Changes(reinforce=(met,)))
        return await self._evened(home, item_id, now)

    async def one(self, home: Scope, item_id: str, *, now: datetime | None) -> MemoryItem:
        """The item with this id, or `InvalidInput`; with `now`, one that has not expired."""
        found = await self.store.get(home, [arguments.text("item_id", item_id)])
        if not found or (now is not None and found[0].expires_at <= now):
            raise InvalidInput(f"there is no item {item_id!r} in this scope")
        return found[0]

    async def _patched(
        self, item: MemoryItem, columns: Mapping[str, object], now: datetime
    ) -> MemoryItem:
        if not columns:
            return item
        patch = Patch.model_validate({"id": item.id, **columns})
        await self.store.apply(item.scope, Changes(update=(patch,)))
        return await self._evened(item.scope, item.id, now)

    async def _evened(self, home: Scope, item_id: str, now: datetime) -> MemoryItem:
        """The item as it is kept, its dates being those of what is pinned or of what is not.

        Dates are worked out from what was read before, and another may have pinned the item
        since. Whoever writes looks again, so that the last one puts it right.
        """
        for _ in range(_LOOKS):
            item = await self.one(home, item_id, now=None)
            policy = self.config.decay.policy(item.kind, pinned=item.pinned)
            if (item.policy == NEVER.name) == (policy.name == NEVER.name):
                break
            patch = Patch.model_validate({"id": item_id, **self._dates(item, now)})
            await self.store.apply(home, Changes(update=(patch,)))
        return item

    def _dates(
        self,
        item: MemoryItem,
        now: datetime,
        *,
        kind: Kind | None = None,
        importance: float | None = None,
        pinned: bool | None = None,
    ) -> dict[str, object]:
        """When `item` fades with these values in place of its own, as of now."""
        kind = item.kind if kind is None else kind
        policy = self.config.decay.policy(kind, pinned=item.pinned if pinned is None else pinned)
        held = item.importance_at(now) if importance is None else _checked(importance)
        fades_at = policy.fades_at(held, now)
        return {
            "importance": held,
            "reinforced_at": now,
            "policy": policy.name,
            "fades_at": fades_at,
            "expires_at": item.expiry(fades_at, ttl=self.config.ttl(kind)),
        }

    def _content(self, content: str) -> str:
        if not isinstance(content, str):
            raise InvalidInput(f"content must be text, not {type(content).__name__}")
        if len(content) > LONGEST_ITEM:
            raise InvalidInput(f"content of over {LONGEST_ITEM} characters; remember it in parts")
        text = clean(content)[0]
        if self.redactor is not None:
            text = self.redactor.redact(text, where="item")[0]
        if not text.strip():
            raise InvalidInput("content is blank")
        return text

    def _tokens(self, text: str) -> str:
        return " ".join(tokenize(text, self.config.language))

    def _kind(self, kind: Kind) -> Kind:
        if arguments.text("kind", kind) not in self.config.kinds:
            raise InvalidInput(f"no kind is called {kind!r}; {nearest(kind, self.config.kinds)}")
        return kind


def _checked(importance: object) -> float:
    match importance:
        case bool():
            pass
        case int() | float() if 0 <= importance <= 1:  # NaN does not
            return float(importance)
    raise InvalidInput("importance must be a number from 0 to 1")


def _lasting(ttl: object) -> timedelta:
    if isinstance(ttl, timedelta) and ttl > timedelta(0):
        return ttl
    raise InvalidInput("ttl must be a timedelta, and longer than nothing")


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
