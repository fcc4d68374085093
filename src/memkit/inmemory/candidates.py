"""Finding: the candidates of each channel that a query asks for."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from itertools import groupby, islice

from memkit.decay import microseconds
from memkit.inmemory.state import State
from memkit.models import Candidate, Candidates, MemoryItem, Query, Scope, Status


def find(state: State, query: Query) -> Candidates:
    """See `Store.find`."""
    asked_text = bool(query.tokens) and query.text > 0
    matches = _matches(state, query) if asked_text else []
    return Candidates(
        strongest=tuple(_row(item) for item in _strongest(state, query)),
        text=tuple(_row(item, tokens=item.tokens) for item in matches[: query.text]),
        exact=tuple(_row(item) for item in _exact(state, query)),
        population=sum(1 for _ in _everything(state, query)) if asked_text else 0,
        truncated=len(matches) > query.text,
    )


def _scopes(query: Query) -> Iterable[Scope]:
    return dict.fromkeys(query.scopes)


def _live(
    state: State, query: Query, ids: Collection[str], among: tuple[Status, ...] = ("active",)
) -> Iterator[MemoryItem]:
    """Those items that have not expired and have one of these states, in rising order of id."""
    for item_id in sorted(ids):
        item = state.items[item_id]
        known_kind = query.kinds is None or item.kind in query.kinds
        if known_kind and item.status in among and item.expires_at > query.now:
            yield item


def _everything(state: State, query: Query) -> Iterator[MemoryItem]:
    for scope in _scopes(query):
        yield from _live(state, query, state.shelf(scope).ids)


def _strongest(state: State, query: Query) -> list[MemoryItem]:
    """Those that fade last of each scope and policy, in order of policy."""
    chosen: list[MemoryItem] = []
    for scope in _scopes(query) if query.strongest > 0 else ():
        items = sorted(_live(state, query, state.shelf(scope).ids), key=_weakness)
        for _, same in groupby(items, key=lambda item: item.policy):
            chosen += islice(same, query.strongest)
    return sorted(chosen, key=_weakness)


def _weakness(item: MemoryItem) -> tuple[str, int, str]:
    return item.policy, -microseconds(item.fades_at), item.id


def _matches(state: State, query: Query) -> list[MemoryItem]:
    """Items that hold any of the tokens; those with the rarest words first, for the cut."""
    found: list[tuple[float, MemoryItem]] = []
    for scope in _scopes(query):
        rarity: dict[str, float] = {}
        for token in dict.fromkeys(query.tokens):
            holders = state.shelf(scope).by_token.get(token, set())
            for item_id in holders:
                rarity[item_id] = rarity.get(item_id, 0.0) + 1 / len(holders)
        found += ((rarity[item.id], item) for item in _live(state, query, rarity))
    return [item for _, item in sorted(found, key=lambda pair: (-pair[0], pair[1].id))]


def _exact(state: State, query: Query) -> Iterator[MemoryItem]:
    for scope in _scopes(query):
        by_hash = state.shelf(scope).by_hash
        same = set[str]().union(*(by_hash.get(each, ()) for each in query.exact))
        yield from _live(state, query, same, among=("active", "quarantined"))


def _row(item: MemoryItem, *, tokens: str | None = None) -> Candidate:
    first = item.sources[0] if item.sources else None
    return Candidate(
        id=item.id,
        scope=item.scope,
        content=item.content,
        kind=item.kind,
        origin=item.origin,
        policy=item.policy,
        fades_at=microseconds(item.fades_at),
        observed_at=microseconds(item.observed_at),
        session_id=first.session_id if first else None,
        position=first.position if first else None,
        tokens=tokens,
    )
