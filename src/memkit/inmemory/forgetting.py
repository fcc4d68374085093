"""Forgetting on purpose, with all that follows from it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import assert_never

from memkit.errors import InvalidInput
from memkit.inmemory.episodes import let_go
from memkit.inmemory.state import EpisodeRow, State, tombstone_id
from memkit.models import (
    Episodes,
    Items,
    MemoryItem,
    Message,
    Messages,
    Receipt,
    Scope,
    Session,
    Source,
    Target,
    TextBlock,
    Tombstone,
    WholeScope,
    key_hash,
)


@dataclass(slots=True)
class _Doom:
    """What a target comes to: items, messages by episode and position, and whose they are."""

    homes: set[Scope]
    items: list[MemoryItem] = field(default_factory=list)
    rows: dict[str, EpisodeRow] = field(default_factory=dict)
    positions: dict[str, frozenset[int]] = field(default_factory=dict)
    keys: frozenset[str] = frozenset()

    def said(self, source: Source) -> bool:
        """Whether `source` is one of the messages; of a whole episode, any of it is."""
        row = self.rows.get(source.episode_id)
        if row is None:
            return False
        positions = self.positions[source.episode_id]
        is_whole = len(positions) == len(row.positions)
        return is_whole or source.position in positions or source.key in self.keys


def forget(state: State, target: Target, *, at: datetime, replacement: str | None) -> Receipt:
    """See `Store.forget`."""
    doom = _doomed(state, target, redacting=replacement is not None)
    receipt = Receipt(at=at, epoch=max(_raise_epoch(state, home, at) for home in doom.homes))
    items = {item.id: item for item in (*doom.items, *_left_without_source(state, doom))}
    for item in items.values():
        _bury(state, item, at)
    if replacement is not None:
        changed = {"redacted": _redact(state, doom, replacement)}
    else:
        changed = _silence(state, doom)
    jobs = _end_jobs(state, doom, target)
    return receipt.model_copy(update={"items": len(items), "jobs": jobs, **changed})


def _doomed(state: State, target: Target, *, redacting: bool) -> _Doom:
    match target:
        case WholeScope() | Items() if redacting:
            raise InvalidInput("a replacement stands in for messages; this target names none")
        case WholeScope(scope=scope):
            items = [state.items[each] for each in sorted(state.shelf(scope).ids)]
            rows = [each for each in state.episodes.values() if each.skeleton.home == scope]
            return _whole(rows, scope, items=items)
        case Items(scope=scope, ids=ids):
            found = (state.items.get(each) for each in dict.fromkeys(ids))
            items = [item for item in found if item is not None and item.scope == scope]
            return _Doom({scope}, items=items)
        case Session(scope=scope, session_id=session_id):
            log = state.log((scope, session_id))
            return _whole([state.episodes[each] for each in log.episode_ids], scope)
        case Episodes(scope=scope, ids=ids):
            known = (state.episodes.get(each) for each in dict.fromkeys(ids))
            rows = [row for row in known if row is not None and row.skeleton.home == scope]
            return _whole(rows, scope)
        case Messages():
            return _chosen(state, target)
        case _:
            assert_never(target)


def _whole(rows: list[EpisodeRow], scope: Scope, *, items: Iterable[MemoryItem] = ()) -> _Doom:
    """All messages of `rows`. Where nothing is known, `scope` itself is whose it is."""
    return _Doom(
        homes={row.skeleton.home for row in rows} or {scope},
        items=list(items),
        rows={row.skeleton.id: row for row in rows},
        positions={row.skeleton.id: frozenset(row.positions) for row in rows},
    )


def _chosen(state: State, target: Messages) -> _Doom:
    entries = state.log((target.scope, target.session_id)).entries
    wanted = {key_hash(each) for each in target.keys}
    positions: dict[str, set[int]] = {}
    for position, entry in enumerate(entries):
        if entry.key_hash in wanted:
            positions.setdefault(entry.episode_id, set()).add(position)
    rows = {each: state.episodes[each] for each in positions}
    return _Doom(
        homes={row.skeleton.home for row in rows.values()} or {target.scope},
        rows=rows,
        positions={each: frozenset(found) for each, found in positions.items()},
        keys=frozenset(target.keys),
    )


def _raise_epoch(state: State, home: Scope, at: datetime) -> int:
    """Let nothing in flight land in `home`; a live claim of it ends here."""
    ward = state.ward(home)
    ward.epoch += 1
    if ward.lease is not None:
        state.fail(ward.lease.job_id, "forgotten", at)
        ward.lease = None
    return ward.epoch


def _left_without_source(state: State, doom: _Doom) -> Iterator[MemoryItem]:
    """Items that came from these messages alone; the others lose these sources only.

    What the host told stands by itself, also where it was heard in a session later.
    """
    for item_id in [each for home in doom.homes for each in sorted(state.shelf(home).ids)]:
        item = state.items[item_id]
        left = tuple(source for source in item.sources if not doom.said(source))
        if left != item.sources and not left and item.origin != "told":
            yield item
        elif left != item.sources:
            state.put(item.model_copy(update={"sources": left}))


def _bury(state: State, item: MemoryItem, at: datetime) -> None:
    stone_id = tombstone_id(item.scope, item.content_hash)
    known = state.tombstones.get(stone_id)
    state.tombstones[stone_id] = Tombstone(
        id=stone_id,
        scope=item.scope,
        content_hash=item.content_hash,
        at=at if known is None else max(at, known.at),
    )
    state.drop(item.id)


def _silence(state: State, doom: _Doom) -> dict[str, int]:
    """Delete the bodies; count the messages, and the episodes of which nothing is left."""
    spoken = [row for row in doom.rows.values() if row.bodies]
    before = sum(len(row.bodies) for row in spoken)
    for episode_id, row in doom.rows.items():
        let_go(state, row, doom.positions[episode_id], forgotten=True)
    after = sum(len(row.bodies) for row in spoken)
    return {"messages": before - after, "episodes": sum(not row.bodies for row in spoken)}


def _redact(state: State, doom: _Doom, replacement: str) -> int:
    """Put `replacement` in place of the bodies that are there; count them."""
    count = 0
    for episode_id, row in doom.rows.items():
        for position in doom.positions[episode_id] & row.bodies.keys():
            row.bodies[position] = _replaced(row.bodies[position], replacement)
            state.log(row.session).forget(position)
            count += 1
        flags = tuple(dict.fromkeys((*row.skeleton.flags, "redacted")))
        row.skeleton = row.skeleton.model_copy(update={"flags": flags})
    return count


def _replaced(message: Message, replacement: str) -> Message:
    return message.model_copy(update={"content": (TextBlock(text=replacement),), "metadata": {}})


def _end_jobs(state: State, doom: _Doom, target: Target) -> int:
    """Delete the jobs of which nothing is left; count them.

    A job that keeps other episodes loses its checksum, which stands for the content: the
    same words, said again, are to be read again.
    """
    scope = target.scope if isinstance(target, WholeScope) else None
    count = 0
    for job_id, row in list(state.jobs.items()):
        left = tuple(each for each in row.job.episode_ids if not _is_gone(state, doom, each))
        if row.job.scope == scope or (row.job.episode_ids and not left):
            del state.jobs[job_id]
            count += 1
        elif not doom.rows.keys().isdisjoint(row.job.episode_ids):
            row.job = row.job.model_copy(update={"episode_ids": left, "checksum": None})
    return count


def _is_gone(state: State, doom: _Doom, episode_id: str) -> bool:
    return episode_id in doom.rows and state.episodes[episode_id].stage == "gone"
