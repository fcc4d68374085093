"""The order of recall, and what is left out of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from heapq import heapify, heappop
from itertools import islice

from memkit.decay import Policy, from_microseconds, microseconds
from memkit.models import Candidate, Candidates, Recalled
from memkit.ranking.relevance import Relevance, relevance
from memkit.ranking.repetition import Answered, Said
from memkit.ranking.weights import DEFAULT_WEIGHTS, Weights

_PRIOR = {"user": 1.0, "told": 1.0, "imported": 0.5, "assistant": 0.0, "tool": 0.0}


@dataclass(frozen=True, slots=True)
class _Rated:
    """Candidates and what they came to, by place. `values` order; the others are shown.

    `text` is missing where nothing was asked.
    """

    rows: Sequence[Candidate]
    values: Sequence[float]
    scores: Sequence[float]
    importances: Sequence[float]
    text: Relevance | None = None


def rank(  # noqa: PLR0913  # the limits of one recall, all by name
    candidates: Candidates,
    *,
    query_tokens: Sequence[str],
    now: datetime,
    limit: int,
    min_importance: float,
    min_score: float,
    weights: Weights = DEFAULT_WEIGHTS,
) -> list[Recalled]:
    """The best `limit` candidates, best first; the order in which they are given is no matter.

    Without query tokens: the strongest, by importance at `now`, which is the score too.

    With query tokens: what the text channel found, and with it what is strongest. The score
    is the share of the query that the item holds, every token weighed by how rare it is in
    the scope. The order follows a mix: text (rarity, frequency and length as in BM25, the
    neighboring messages being evidence), importance, recency, origin. Of one message a
    second item is a hit only if it holds words of the query that the first one lacks.

    Left out are items below `min_importance` or `min_score`, and those that say nearly the
    same as a better one. Ties go to the newer item, then to the lower id.
    """
    if query_tokens:
        rated = _answering(candidates, tuple(dict.fromkeys(query_tokens)), now, weights)
    else:
        rated = _strongest(candidates.strongest, now)
    best = _best_first(rated, min_importance, min_score)
    distinct = _distinct(rated, best, weights.duplicate)
    return [_recalled(rated, at) for at in islice(distinct, max(limit, 0))]


def _strongest(rows: Sequence[Candidate], now: datetime) -> _Rated:
    importances = _importances(rows, now)
    return _Rated(rows, importances, importances, importances)


def _answering(
    candidates: Candidates, tokens: Sequence[str], now: datetime, weights: Weights
) -> _Rated:
    rows = _by_text_or_strength(candidates)
    text = relevance(rows, tokens, max(candidates.population, len(rows), 1), weights)
    importances = _importances(rows, now)
    channels = zip(rows, text.own, text.nearby, importances, _recencies(rows), strict=True)
    values = [
        weights.text * (own + nearby) / (1 + weights.neighbor)
        + weights.importance * importance
        + weights.recency * recency
        + weights.origin * _PRIOR.get(row.origin, 0.0)
        for row, own, nearby, importance, recency in channels
    ]
    scores = [min(1.0, round(share, 6)) for share in text.shares]
    return _Rated(rows, values, scores, importances, text)


def _by_text_or_strength(candidates: Candidates) -> tuple[Candidate, ...]:
    found = {row.id for row in candidates.text}
    return (*candidates.text, *(row for row in candidates.strongest if row.id not in found))


def _importances(rows: Sequence[Candidate], now: datetime) -> list[float]:
    moment = microseconds(now)
    names = {row.policy for row in rows}
    importance = {name: Policy.from_name(name).importance_at(moment) for name in names}
    # Dates are whole microseconds: without rounding, 0.1 would come back as less.
    return [round(importance[row.policy](row.fades_at), 6) for row in rows]


def _recencies(rows: Sequence[Candidate]) -> list[float]:
    """When each row was observed, from the oldest of them (0) to the newest (1)."""
    moments = [row.observed_at for row in rows]
    oldest = min(moments, default=0)
    span = max(moments, default=0) - oldest
    return [(moment - oldest) / span if span else 0.0 for moment in moments]


def _best_first(rated: _Rated, min_importance: float, min_score: float) -> Iterator[int]:
    """The places of those that may be shown. A heap: only what is taken gets sorted."""
    heap = [
        (-value, -row.observed_at, row.id, at)
        for at, (row, value) in enumerate(zip(rated.rows, rated.values, strict=True))
        if rated.importances[at] >= min_importance and rated.scores[at] >= min_score
    ]
    heapify(heap)
    while heap:
        yield heappop(heap)[-1]


def _distinct(rated: _Rated, best: Iterable[int], duplicate: float) -> Iterator[int]:
    """The places that do not repeat what went before them."""
    said, answered = Said(duplicate), Answered()
    for at in best:
        row, text = rated.rows[at], rated.text
        if (text is None or answered.adds(row, text.matched[at])) and said.first(row):
            yield at


def _recalled(rated: _Rated, at: int) -> Recalled:
    row = rated.rows[at]
    return Recalled(
        row.id,
        row.content,
        row.kind,
        row.origin,
        rated.importances[at],
        rated.scores[at],
        from_microseconds(row.observed_at),
        None if row.position is None else f"{row.session_id}#{row.position}",
        _why(rated.text, at),
    )


def _why(text: Relevance | None, at: int) -> str:
    if text is None or not text.matched[at]:
        return "importance"
    words = f"{text.matched[at].bit_count()} of {text.asked} words"
    return f"{words}, neighboring messages" if text.nearby[at] else words
