"""Recall: candidates from the store, ranked here. Writes nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from memkit.config import Config
from memkit.contracts import Store
from memkit.errors import InvalidInput
from memkit.memory.arguments import count, number, optional_texts
from memkit.models import CANDIDATE_CAP, Candidates, Kind, Query, Recalled, Scope
from memkit.ranking import rank
from memkit.text import query_tokens

MOST = 10_000
"""The most items that one recall returns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is asked of recall, every default filled in.

    `strongest` is how many items may be considered for their importance alone: none in a
    search. `deadline` is in seconds.
    """

    config: Config
    scopes: tuple[Scope, ...]
    query: str | None
    limit: int
    strongest: int
    min_importance: float
    min_score: float
    kinds: Sequence[Kind] | None = None
    deadline: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.query, str | None):
            raise InvalidInput(f"a query must be text, not {type(self.query).__name__}")
        count("limit", self.limit, least=0, most=MOST)
        number("min_importance", self.min_importance)
        number("min_score", self.min_score)
        if self.deadline is not None:
            number("deadline", self.deadline)
        for kind in optional_texts("kinds", self.kinds) or ():
            self.config.declared(kind)


async def recall(store: Store, request: Request, *, now: datetime) -> tuple[list[Recalled], bool]:
    """The best items for `request`, and whether a channel came too late to be looked at."""
    tokens = () if request.query is None else query_tokens(request.query, request.config.language)
    # Of a query that holds no word, nothing can be the answer.
    if request.query is not None and not tokens and (request.min_score or not request.strongest):
        return [], False
    query = Query(
        scopes=request.scopes,
        now=now,
        strongest=request.strongest,
        tokens=tokens,
        text=CANDIDATE_CAP if tokens else 0,
        kinds=None if request.kinds is None else tuple(request.kinds),
    )
    found, late = await _found(store, query, request.deadline)
    if not (found.strongest or found.text):
        return [], late
    ranked = rank(
        found,
        query_tokens=tokens,
        now=now,
        limit=request.limit,
        min_importance=request.min_importance,
        min_score=request.min_score,
        weights=request.config.ranking.weights,
    )
    return ranked, late


async def _found(store: Store, query: Query, deadline: float | None) -> tuple[Candidates, bool]:
    if deadline is None:
        return await store.find(query), False
    # Asked apart, so that a slow channel does not take the quick one along.
    parts = [replace(query, tokens=(), text=0)] if query.strongest else []
    if query.tokens:
        parts.append(replace(query, strongest=0))
    answers = await asyncio.gather(
        *(_in_time(store, part, deadline) for part in parts), return_exceptions=True
    )
    found = Candidates()
    for answer in answers:
        if isinstance(answer, BaseException):
            raise answer
        if answer is not None:
            found = _joined(found, answer)
    return found, None in answers


async def _in_time(store: Store, query: Query, deadline: float) -> Candidates | None:
    """What the store answers within `deadline`, else None. Its failures are raised."""
    try:
        async with asyncio.timeout(deadline):
            return await store.find(query)
    except TimeoutError:
        return None


def _joined(one: Candidates, other: Candidates) -> Candidates:
    return Candidates(
        strongest=one.strongest + other.strongest,
        text=one.text + other.text,
        population=max(one.population, other.population),
        truncated=one.truncated or other.truncated,
    )
