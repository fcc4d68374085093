"""Decay carried out: deleting what is past its time."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from memkit.decay import DAY
from memkit.errors import InvalidInput
from memkit.inmemory.episodes import let_go
from memkit.inmemory.state import State
from memkit.models import Purged


def purge(state: State, *, now: datetime, limit: int, dry_run: bool, force: bool) -> Purged:
    """See `Store.purge`. Items go first, then episodes, the longest expired first."""
    if now > state.clock() + DAY and not force:
        raise InvalidInput(
            "purge was given a time more than a day ahead of the store's clock; "
            "pass force=True if that is meant"
        )
    if limit < 1:
        raise InvalidInput(f"a purge deletes at least one row, not {limit}")
    item_ids, episode_ids = _expired_items(state, now), _expired_episodes(state, now)
    more = len(item_ids) + len(episode_ids) > limit
    item_ids = item_ids[:limit]
    episode_ids = episode_ids[: limit - len(item_ids)]
    purged = Purged(
        item_ids=tuple(item_ids),
        episode_ids=tuple(episode_ids),
        unread=sum(state.episodes[each].stage != "settled" for each in episode_ids),
        more=more,
    )
    if not dry_run:
        _delete(state, item_ids, episode_ids)
    return purged


def _expired_items(state: State, now: datetime) -> list[str]:
    items = state.items.values()
    return _in_order((item.expires_at, item.id) for item in items if item.expires_at <= now)


def _expired_episodes(state: State, now: datetime) -> list[str]:
    ends = (
        (row.skeleton.expires_at, row.skeleton.id) for row in state.episodes.values() if row.bodies
    )
    return _in_order((end, each) for end, each in ends if end is not None and end <= now)


def _in_order(expired: Iterable[tuple[datetime, str]]) -> list[str]:
    return [each for _, each in sorted(expired)]


def _delete(state: State, item_ids: Iterable[str], episode_ids: Iterable[str]) -> None:
    for item_id in item_ids:
        state.drop(item_id)
    for episode_id in episode_ids:
        row = state.episodes[episode_id]
        let_go(state, row, row.positions, forgotten=False)
