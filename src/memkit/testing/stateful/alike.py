"""Answers of two stores made comparable: what a store may choose is left out or put in order."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from memkit.models import (
    Applied,
    Background,
    Candidate,
    Candidates,
    Claim,
    ConsolidationJob,
    Episode,
    Purged,
    Receipt,
    Tombstone,
)

EVERY_LIST: Final = tuple(Applied.model_fields)


def applied(answer: Applied) -> object:
    """Which ids are in which list: their order is nobody's promise."""
    return {name: sorted(getattr(answer, name)) for name in EVERY_LIST}


def candidates(found: Candidates) -> object:
    """The strongest in order for each scope and policy, the other channels as sets."""
    strongest: dict[tuple[str, str], list[str]] = {}
    for row in found.strongest:
        strongest.setdefault((row.scope.key, row.policy), []).append(repr(row))
    text, exact = _rows(found.text), _rows(found.exact)
    return strongest, text, exact, found.population, found.truncated


def _rows(rows: Iterable[Candidate]) -> list[str]:
    return sorted(f"{row._replace(tokens=_words(row.tokens))!r}" for row in rows)


def _words(tokens: str | None) -> str | None:
    return None if tokens is None else " ".join(sorted(tokens.split()))


def receipt(answer: Receipt) -> object:
    """All counts; the number of the epoch is the store's own."""
    return answer.model_dump(exclude={"epoch"})


def tombstones(stones: Iterable[Tombstone]) -> object:
    """What is blocked, where, until when; ids are the store's own."""
    return sorted((each.scope.key, each.content_hash, each.at) for each in stones)


def claim(granted: Claim | None) -> object:
    """What is to be done; job, fence and epoch are the store's own."""
    if granted is None:
        return None
    context = sorted(granted.context, key=_place)
    return granted.scope, granted.attempts, granted.episodes, context


def background(known: Background) -> object:
    """What the store knows; where the input was read before, the rest may be left out."""
    return known.settled or (candidates(known.found), known.items)


def _place(episode: Episode) -> tuple[str, str, int]:
    return episode.scope.key, episode.session_id, episode.position


def job(answer: ConsolidationJob) -> object:
    """Everything but the id, which is the store's own."""
    return answer.model_dump(exclude={"id"})


def purged(passes: Iterable[Purged]) -> object:
    """What all passes together deleted: which go first is the store's own."""
    every = list(passes)
    return (
        sorted(item for each in every for item in each.item_ids),
        sorted(episode for each in every for episode in each.episode_ids),
        sum(each.unread for each in every),
    )
