"""Which candidates are recalled, and in which order: pure functions over what a store found."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from heapq import heapify, heappop
from itertools import islice

from memkit.decay import Policy, from_microseconds
from memkit.errors import ConfigError
from memkit.models import Candidate, Candidates, Recalled
from memkit.render import FRAME, line, render
from memkit.text import estimate_tokens

_PRIOR = {"user": 1.0, "told": 1.0, "imported": 0.5, "assistant": 0.0, "tool": 0.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """What counts how much. One default for all data, measured.

    `text`, `importance`, `recency` and `origin` are the shares of a mix of values from 0 to
    1. `neighbor` is how much of a message's evidence holds for the next one; the square of it
    holds for the next but one. `saturation` and `length` are BM25's k1 and b. Items that
    share at least `duplicate` of their words say the same; above 1, none do.
    """

    text: float = 0.945
    importance: float = 0.03
    recency: float = 0.01
    origin: float = 0.015
    neighbor: float = 0.75
    saturation: float = 2.0
    length: float = 0.8
    duplicate: float = 0.9

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not 0 <= value < math.inf:
                raise ConfigError(f"the weight {field.name} must be 0 or more, not {value}")
        if not self.shares:
            raise ConfigError("the weights text, importance, recency and origin are all 0")

    @property
    def shares(self) -> float:
        """The sum of the shares."""
        return self.text + self.importance + self.recency + self.origin


DEFAULT_WEIGHTS = Weights()


@dataclass(frozen=True, slots=True)
class _Rated:
    """Candidates and what they came to, by place. `values` order; the others are shown."""

    rows: Sequence[Candidate]
    values: Sequence[float]
    scores: Sequence[float]
    importances: Sequence[float]
    reasons: Callable[[int], str]


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
    neighboring messages being evidence), importance, recency, origin. Each message gives
    one hit.

    Left out are items below `min_importance` or `min_score`, and those that say nearly the
    same as a better one. Ties go to the newer item, then to the lower id.
    """
    if query_tokens:
        rated = _answering(candidates, tuple(dict.fromkeys(query_tokens)), now, weights)
    else:
        rated = _strongest(candidates.strongest, now)
    best = _best_first(rated, min_importance, min_score)
    distinct = _distinct(rated.rows, best, weights.duplicate, once_a_message=bool(query_tokens))
    return [_recalled(rated, at) for at in islice(distinct, max(limit, 0))]


def fit(
    items: Iterable[Recalled],
    *,
    budget: int,
    count_tokens: Callable[[str], int] = estimate_tokens,
) -> list[Recalled]:
    """The items whose rendering together stays within `budget`, in their order.

    An item that does not fit any more is left out, and smaller ones behind it may still do.
    """
    left = budget - count_tokens(FRAME)
    chosen: list[Recalled] = []
    for item in items:
        cost = count_tokens(f"{line(item)}\n")
        if cost <= left:
            chosen.append(item)
            left -= cost
    # A counter need not be additive: the whole is what has to fit.
    while chosen and count_tokens(render(chosen)) > budget:
        chosen.pop()
    return chosen


def _strongest(rows: Sequence[Candidate], now: datetime) -> _Rated:
    strengths = _importances(rows, now)
    return _Rated(rows, strengths, strengths, strengths, lambda _: "importance")


def _importances(rows: Iterable[Candidate], now: datetime) -> list[float]:
    policies: dict[str, Policy] = {}
    strengths: list[float] = []
    for row in rows:
        policy = policies.get(row.policy)
        if policy is None:
            policy = policies[row.policy] = Policy.from_name(row.policy)
        # Dates are whole microseconds: without rounding, 0.1 would come back as less.
        strengths.append(round(policy.importance(from_microseconds(row.fades_at), now), 6))
    return strengths


def _answering(
    candidates: Candidates, tokens: Sequence[str], now: datetime, weights: Weights
) -> _Rated:
    rows = _by_text_or_strength(candidates)
    text = _text(rows, tokens, max(candidates.population, len(rows)), weights)
    nearby = _nearby(rows, text.relevance, weights.neighbor)
    importances = _importances(rows, now)
    channels = zip(rows, text.relevance, nearby, importances, _recencies(rows), strict=True)
    values = [
        weights.text * (relevance + beside) / (1 + weights.neighbor)
        + weights.importance * importance
        + weights.recency * recency
        + weights.origin * _PRIOR.get(row.origin, 0.0)
        for row, relevance, beside, importance, recency in channels
    ]
    scores = [min(1.0, round(share, 6)) for share in text.shares]

    def reason(at: int) -> str:
        matched = f"{text.matched[at]} of {len(tokens)} words" if text.matched[at] else "importance"
        return f"{matched}, neighboring messages" if nearby[at] else matched

    return _Rated(rows, values, scores, importances, reason)


def _by_text_or_strength(candidates: Candidates) -> tuple[Candidate, ...]:
    found = {row.id for row in candidates.text}
    return (*candidates.text, *(row for row in candidates.strongest if row.id not in found))


@dataclass(frozen=True, slots=True)
class _Text:
    """How rows answer a query, by place.

    `relevance` is BM25 as a share of the most that the query could give, `shares` what part
    of the query's rarity a row holds, `matched` how many of its tokens.
    """

    relevance: list[float]
    shares: list[float]
    matched: list[int]


def _text(
    rows: Sequence[Candidate], tokens: Sequence[str], population: int, weights: Weights
) -> _Text:
    words = [f" {row.tokens or ''} " for row in rows]
    found = [_holders(words, token) for token in tokens]
    damping = _damping(words, weights)
    text = _Text([0.0] * len(rows), [0.0] * len(rows), [0] * len(rows))
    for share, holders in zip(_rarity(map(len, found), population), found, strict=True):
        for at, count in holders:
            text.relevance[at] += share * count / (count + damping[at])
            text.shares[at] += share
            text.matched[at] += 1
    return text


def _holders(words: Iterable[str], token: str) -> list[tuple[int, int]]:
    """Where a token occurs and how often; twice without a word between counts once."""
    needle = f" {token} "
    return [(at, text.count(needle)) for at, text in enumerate(words) if needle in text]


def _rarity(holders: Iterable[int], population: int) -> list[float]:
    """What share of the query each token is, by how few items of the scope hold it.

    A token that none holds weighs a little more than one that a single item holds, so that
    half of a query is never enough where the other half is unheard of.
    """
    held = [count or 0.5 for count in holders]
    weights = [math.log(1 + (population - count + 0.5) / (count + 0.5)) for count in held]
    mass = sum(weights)
    return [weight / mass for weight in weights]


def _damping(words: Sequence[str], weights: Weights) -> list[float]:
    """What a token's count is set against: the more, the longer the row is."""
    lengths = [text.count(" ") for text in words]
    usual = sum(lengths) / max(1, len(lengths))
    return [
        weights.saturation * (1 - weights.length + weights.length * length / usual)
        for length in lengths
    ]


def _nearby(rows: Sequence[Candidate], relevance: Sequence[float], neighbor: float) -> list[float]:
    """What the best of the messages around each row adds to it."""
    sessions: defaultdict[str, dict[int, float]] = defaultdict(dict)
    for row, text in zip(rows, relevance, strict=True):
        if text and row.session_id is not None and row.position is not None:
            session = sessions[row.session_id]
            session[row.position] = max(text, session.get(row.position, 0.0))
    return [
        0.0
        if row.position is None
        else _beside(sessions[row.session_id or ""], row.position, neighbor)
        for row in rows
    ]


def _beside(session: dict[int, float], position: int, neighbor: float) -> float:
    known = session.get
    next_to = max(known(position - 1, 0.0), known(position + 1, 0.0))
    next_but_one = max(known(position - 2, 0.0), known(position + 2, 0.0))
    return neighbor * max(next_to, neighbor * next_but_one)


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


def _distinct(
    rows: Sequence[Candidate], best: Iterable[int], duplicate: float, *, once_a_message: bool
) -> Iterator[int]:
    """The places that do not repeat what went before them."""
    messages: set[tuple[str, int, int]] = set()
    said = _Said(duplicate)
    for at in best:
        row = rows[at]
        message = _message(row) if once_a_message else None
        if message not in messages and said.first((row.tokens or row.content.casefold()).split()):
            if message is not None:
                messages.add(message)
            yield at


def _message(row: Candidate) -> tuple[str, int, int] | None:
    """The message an item came from. Sessions of two scopes may share a name, hence the time."""
    if row.session_id is None or row.position is None:
        return None
    return row.session_id, row.position, row.observed_at


class _Said:
    """The words of what was chosen so far."""

    def __init__(self, duplicate: float) -> None:
        self._duplicate = duplicate
        self._by_sign: defaultdict[str, list[frozenset[str]]] = defaultdict(list)

    def first(self, text: Iterable[str]) -> bool:
        """Take `text` in, unless nearly the same words were taken in before."""
        words = frozenset(text)
        # Prefix filtering: in any fixed order, sets that have so much in common share one of
        # their first words. Longest first, for long words are in few other sets.
        differing = len(words) - math.ceil(self._duplicate * len(words) - 1e-9)
        signs = sorted(sorted(words), key=len, reverse=True)[: max(0, differing) + 1]
        for sign in signs:
            for other in self._by_sign[sign]:
                if self._alike(words, other):
                    return False
        for sign in signs:
            self._by_sign[sign].append(words)
        return True

    def _alike(self, one: frozenset[str], other: frozenset[str]) -> bool:
        """Whether the words in common are a large enough share of all (Jaccard)."""
        common = len(one & other)
        return common >= self._duplicate * (len(one) + len(other) - common)


def _recalled(rated: _Rated, at: int) -> Recalled:
    row = rated.rows[at]
    placed = _message(row) is not None
    return Recalled(
        id=row.id,
        content=row.content,
        kind=row.kind,
        origin=row.origin,
        importance=rated.importances[at],
        score=rated.scores[at],
        observed_at=from_microseconds(row.observed_at),
        source=f"{row.session_id}#{row.position}" if placed else None,
        why=rated.reasons(at),
    )
