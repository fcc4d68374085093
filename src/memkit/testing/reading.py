"""What a store holds, read to the end, and where an item can be seen."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Final, TypeVar

from memkit.contracts import Store
from memkit.models import (
    ConsolidationJob,
    Episode,
    MemoryItem,
    Page,
    Query,
    Scope,
    Tombstone,
    content_hash,
)
from memkit.testing.values import NOW, tokens_of

Row = TypeVar("Row")

EVERY_CHANNEL: Final = frozenset({"strongest", "text", "exact"})
NO_CHANNEL: Final[frozenset[str]] = frozenset()


async def drained(page: Callable[[str | None], Awaitable[Page[Row]]]) -> list[Row]:
    """Every row, page by page; `page` is asked with the `after` of the one before."""
    answer = await page(None)
    rows = list(answer.rows)
    while answer.after is not None:
        answer = await page(answer.after)
        rows += answer.rows
    return rows


async def all_items(
    store: Store, scope: Scope | None = None, *, session_id: str | None = None, limit: int = 100
) -> list[MemoryItem]:
    """Every item, whatever its status and its dates."""
    return await drained(
        lambda after: store.scan(
            "items", scope=scope, session_id=session_id, after=after, limit=limit
        )
    )


async def all_episodes(
    store: Store, scope: Scope | None = None, *, session_id: str | None = None, limit: int = 100
) -> list[Episode]:
    """Every episode that has a body."""
    return await drained(
        lambda after: store.scan(
            "episodes", scope=scope, session_id=session_id, after=after, limit=limit
        )
    )


async def all_jobs(store: Store, scope: Scope | None = None) -> list[ConsolidationJob]:
    """Every job that is kept."""
    return await drained(lambda after: store.scan("jobs", scope=scope, after=after))


async def all_tombstones(store: Store, scope: Scope | None = None) -> list[Tombstone]:
    """Every tombstone."""
    return await drained(lambda after: store.scan("tombstones", scope=scope, after=after))


async def texts(store: Store, scope: Scope | None = None) -> list[str]:
    """The text of every message that is kept, in order of episodes."""
    episodes = await all_episodes(store, scope)
    return [message.text for episode in episodes for message in episode.messages]


async def contents(store: Store, scope: Scope | None = None) -> list[str]:
    """The content of every item, sorted."""
    return sorted(item.content for item in await all_items(store, scope))


async def channels(
    store: Store,
    item: MemoryItem,
    *,
    scope: Scope | None = None,
    content: str | None = None,
    now: datetime = NOW,
) -> frozenset[str]:
    """The channels of `find` in which `item` shows, asked for in `scope` by its own words."""
    content = content or item.content
    found = await store.find(
        Query(
            scopes=(scope or item.scope,),
            now=now,
            strongest=1000,
            tokens=tuple(tokens_of(content).split()),
            exact=(content_hash(content),),
        )
    )
    rows = {"strongest": found.strongest, "text": found.text, "exact": found.exact}
    return frozenset(
        name for name, candidates in rows.items() if item.id in {each.id for each in candidates}
    )


async def everything(store: Store) -> tuple[object, ...]:
    """All that a store shows of itself: equal before and after a call that writes nothing."""
    return (
        await all_items(store),
        await all_episodes(store),
        await all_jobs(store),
        await all_tombstones(store),
        await store.stats(),
    )
