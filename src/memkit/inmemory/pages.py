"""Scanning and counting: what there is, page by page and as figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from heapq import nsmallest
from typing import TypeVar

from memkit.errors import InvalidInput
from memkit.inmemory.state import EpisodeRow, State, detached
from memkit.models import (
    ConsolidationJob,
    Episode,
    MemoryItem,
    Model,
    Page,
    Scope,
    Stats,
    Tombstone,
)

Row = TypeVar("Row", bound=Model)


@dataclass(frozen=True, slots=True)
class Span:
    """Which rows a scan asks for, as `Store.scan` says it."""

    scope: Scope | None
    session_id: str | None
    after: str | None
    limit: int


def items(state: State, span: Span) -> Page[MemoryItem]:
    """Items by id; `session_id` is that of any source."""
    chosen = (
        item_id
        for item_id, item in state.items.items()
        if _within(item.scope, span.scope) and _from(item, span.session_id)
    )
    return _page(chosen, lambda each: detached(state.items[each]), span)


def episodes(state: State, span: Span) -> Page[Episode]:
    """Episodes that have a body, by id; `scope` is their home."""
    chosen = (
        row.skeleton.id
        for row in _with_bodies(state, span.scope)
        if span.session_id in {None, row.skeleton.session_id}
    )
    return _page(chosen, lambda each: state.episodes[each].episode, span)


def jobs(state: State, span: Span) -> Page[ConsolidationJob]:
    """Jobs by id."""
    chosen = (each for each, row in state.jobs.items() if _within(row.job.scope, span.scope))
    return _page(chosen, lambda each: state.jobs[each].job, span)


def tombstones(state: State, span: Span) -> Page[Tombstone]:
    """Tombstones by id."""
    chosen = (each for each, stone in state.tombstones.items() if _within(stone.scope, span.scope))
    return _page(chosen, lambda each: state.tombstones[each], span)


def _within(scope: Scope, wanted: Scope | None) -> bool:
    return wanted is None or scope == wanted


def _with_bodies(state: State, home: Scope | None) -> Iterable[EpisodeRow]:
    rows = state.episodes.values()
    return (row for row in rows if row.bodies and _within(row.skeleton.home, home))


def _from(item: MemoryItem, session_id: str | None) -> bool:
    return session_id is None or any(each.session_id == session_id for each in item.sources)


def _page(ids: Iterable[str], load: Callable[[str], Row], span: Span) -> Page[Row]:
    if span.limit < 1:
        raise InvalidInput(f"a page has at least one row, not {span.limit}")
    behind = (each for each in ids if span.after is None or each > span.after)
    # One more than asked tells whether this is the end.
    found = nsmallest(span.limit + 1, behind)
    page = found[: span.limit]
    return Page(tuple(map(load, page)), page[-1] if len(found) > span.limit else None)


def stats(state: State, scope: Scope | None) -> Stats:
    """See `Store.stats`."""
    kept = [item for item in state.items.values() if _within(item.scope, scope)]
    told = list(_with_bodies(state, scope))
    pending = [row for row in told if row.stage == "pending"]
    statuses = Counter(item.status for item in kept)
    return Stats(
        items=len(kept),
        kinds=dict(Counter(item.kind for item in kept)),
        policies=dict(Counter(item.policy for item in kept)),
        superseded=statuses["superseded"],
        quarantined=statuses["quarantined"],
        pinned=sum(item.pinned for item in kept),
        episodes=len(told),
        messages=sum(len(row.bodies) for row in told),
        pending=len(pending),
        dead=sum(row.stage == "dead" for row in told),
        scopes=len({each.scope for each in kept} | {row.skeleton.home for row in told}),
        oldest_pending_at=min((row.skeleton.recorded_at for row in pending), default=None),
    )
