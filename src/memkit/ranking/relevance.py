"""How far a candidate's words answer a query."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from memkit.models import Candidate
from memkit.ranking.weights import Weights

_FEW = 6


@dataclass(frozen=True, slots=True)
class Relevance:
    """How candidates answer a query of `asked` tokens, by place.

    `shares` is how much of the query a candidate holds, each token weighing what it is rare
    in the scope, and `matched` which of its tokens, as bits. `own` is BM25 as a share of the
    most that the query could give, and `nearby` what the neighboring messages add to it.
    """

    asked: int
    shares: list[float]
    matched: list[int]
    own: list[float]
    nearby: list[float]


def relevance(
    rows: Sequence[Candidate], tokens: Sequence[str], population: int, weights: Weights
) -> Relevance:
    """Read `rows` for the different `tokens` of a query."""
    texts = [f" {row.tokens or ''} " for row in rows]
    found = _holders(texts, tokens)
    rarity = _rarity(map(len, found), population)
    damping = _damping(texts, weights)
    own, shares, matched = [0.0] * len(rows), [0.0] * len(rows), [0] * len(rows)
    for bit, (share, holders) in enumerate(zip(rarity, found, strict=True)):
        for at, count in holders:
            own[at] += share * count / (count + damping[at])
            shares[at] += share
            matched[at] |= 1 << bit
    return Relevance(len(tokens), shares, matched, own, _nearby(rows, own, weights.neighbor))


def _holders(texts: Iterable[str], tokens: Sequence[str]) -> list[list[tuple[int, int]]]:
    """Where each token occurs, and how often; twice without a word between counts once."""
    holders: dict[str, list[tuple[int, int]]] = {token: [] for token in tokens}
    asked = frozenset(tokens)
    fronts = [(token, f" {token}") for token in tokens]
    for at, text in enumerate(texts):
        # Many tokens are looked up by the words of the text, a few are looked for in it.
        if len(tokens) > _FEW:
            found: Iterable[str] = asked.intersection(text.split(" "))
        else:
            found = [token for token, front in fronts if front in text]
        for token in found:
            if count := text.count(f" {token} "):
                holders[token].append((at, count))
    return list(holders.values())


def _rarity(holders: Iterable[int], population: int) -> list[float]:
    """What share of the query each token is, by how few items of the scope hold it.

    A token that none holds weighs a little more than one that a single item holds, so that
    half of a query is never enough where the other half is unheard of.
    """
    held = [count or 0.5 for count in holders]
    weights = [math.log(1 + (population - count + 0.5) / (count + 0.5)) for count in held]
    mass = sum(weights)
    return [weight / mass for weight in weights]


def _damping(texts: Sequence[str], weights: Weights) -> list[float]:
    """What a token's count is set against: the more, the longer the text is."""
    lengths = [text.count(" ") for text in texts]
    usual = sum(lengths) / max(1, len(lengths))
    return [
        weights.saturation * (1 - weights.length + weights.length * length / usual)
        for length in lengths
    ]


def _nearby(rows: Sequence[Candidate], own: Sequence[float], neighbor: float) -> list[float]:
    """What the best of the messages around each row adds to it."""
    sessions: defaultdict[str | None, dict[int, float]] = defaultdict(dict)
    for row, value in zip(rows, own, strict=True):
        if row.position is not None:
            session = sessions[row.session_id]
            if value > session.get(row.position, 0.0):
                session[row.position] = value
    return [
        _beside(session, row.position, neighbor)
        if row.position is not None and (session := sessions[row.session_id])
        else 0.0
        for row in rows
    ]


def _beside(session: dict[int, float], position: int, neighbor: float) -> float:
    if len(session) == 1 and position in session:
        return 0.0
    known = session.get
    next_to = max(known(position - 1, 0.0), known(position + 1, 0.0))
    next_but_one = max(known(position - 2, 0.0), known(position + 2, 0.0))
    return neighbor * max(next_to, neighbor * next_but_one)
