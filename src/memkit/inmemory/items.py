"""What is remembered: reading items, and applying changes to them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Literal

from memkit.errors import Forgotten
from memkit.inmemory.state import State, detached, tombstone_id
from memkit.models import (
    Applied,
    Changes,
    MemoryItem,
    Patch,
    Reinforcement,
    Scope,
    Source,
    Supersession,
)

Fate = Literal[
    "added", "updated", "superseded", "removed", "reinforced", "blocked", "stale", "missing"
]
Became = tuple[str, Fate | None]
"""An item's id, and what became of it: nothing, where it was so already."""


def get(state: State, scope: Scope, ids: Sequence[str]) -> list[MemoryItem]:
    """See `Store.get`."""
    found = (_find(state, scope, item_id) for item_id in ids)
    return [detached(item) for item in found if item is not None]


def by_key(state: State, scope: Scope, key: str) -> MemoryItem | None:
    """See `Store.by_key`."""
    item_id = state.shelf(scope).by_key.get(key)
    return None if item_id is None else detached(state.items[item_id])


def _find(state: State, scope: Scope, item_id: str) -> MemoryItem | None:
    item = state.items.get(item_id)
    return item if item is not None and item.scope == scope else None


def apply(state: State, scope: Scope, changes: Changes, *, epoch: int | None) -> Applied:
    """See `Store.apply`. What may refuse the call is looked at before anything is written.

    What ends comes first, so that an `add` never merges into an item that these same
    changes take away.
    """
    if epoch is not None and epoch != state.epoch(scope):
        raise Forgotten(f"scope {scope.key}")
    changes.require_keepable_in(scope)
    known, early = without_early(changes)
    return _summed(
        chain(
            ((item_id, "missing") for item_id in early),
            (_remove(state, scope, item_id) for item_id in known.remove),
            (_supersede(state, scope, each) for each in known.supersede),
            (_update(state, scope, patch) for patch in known.update),
            (_add(state, scope, item) for item in known.add),
            (_reinforce(state, scope, each) for each in known.reinforce),
        )
    )


def without_early(changes: Changes) -> tuple[Changes, list[str]]:
    """`changes` without those of items that they only add, and the ids of these.

    They are not there yet the first time, so a repetition must not change them either.
    """
    new = {item.id for item in changes.add}
    supersede = tuple(each for each in changes.supersede if each.id not in new)
    update = tuple(each for each in changes.update if each.id not in new)
    early = [each.id for each in changes.supersede if each.id in new]
    early += [each.id for each in changes.update if each.id in new]
    return changes.model_copy(update={"supersede": supersede, "update": update}), early


def _summed(fates: Iterable[Became]) -> Applied:
    ids: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for item_id, fate in fates:
        if fate is not None:
            ids[fate][item_id] = None
    return Applied(**{fate: tuple(found) for fate, found in ids.items()})


def _remove(state: State, scope: Scope, item_id: str) -> Became:
    if _find(state, scope, item_id) is None:
        return item_id, "missing"
    state.drop(item_id)
    return item_id, "removed"


def _supersede(state: State, scope: Scope, end: Supersession) -> Became:
    item = _find(state, scope, end.id)
    if item is None:
        return end.id, "missing"
    if item.status != "active":
        return end.id, None
    values = {"status": "superseded", "superseded_by": end.by, "valid_to": end.at}
    state.put(item.model_copy(update=values))
    return end.id, "superseded"


def _update(state: State, scope: Scope, patch: Patch) -> Became:
    item = _find(state, scope, patch.id)
    if item is None:
        return patch.id, "missing"
    if patch.is_late(item.fades_at):
        return patch.id, "stale"
    state.put(detached(item.model_copy(update=patch.columns)))
    return patch.id, "updated"


def _add(state: State, scope: Scope, item: MemoryItem) -> Became:
    if item.id in state.items:
        return item.id, None if _find(state, scope, item.id) else "missing"
    if _is_blocked(state, item):
        return item.id, "blocked"
    namesake = by_key(state, scope, item.key) if item.key is not None else None
    if namesake is not None:
        kept = {"id": namesake.id, "created_at": namesake.created_at}
        state.put(detached(item.model_copy(update=kept)))
        return namesake.id, "updated"
    twin = _twin(state, item)
    if twin is not None:
        return _reinforce(state, scope, Reinforcement.by(item, of=twin.id))
    state.put(detached(item))
    return item.id, "added"


def _is_blocked(state: State, item: MemoryItem) -> bool:
    stone = state.tombstones.get(tombstone_id(item.scope, item.content_hash))
    if stone is None or not item.sources:
        return False
    return all(source.recorded_at <= stone.at for source in item.sources)


def _twin(state: State, item: MemoryItem) -> MemoryItem | None:
    """The item that says the same already. One that has expired since counts as absent."""
    if item.key is not None or item.status == "superseded":
        return None
    same = state.shelf(item.scope).by_hash.get(item.content_hash, set())
    known = (state.items[each] for each in sorted(same))
    return next((each for each in known if _absorbs(each, item)), None)


def _absorbs(known: MemoryItem, item: MemoryItem) -> bool:
    alike = known.key is None and known.status == item.status
    return alike and known.expires_at > item.reinforced_at


def _reinforce(state: State, scope: Scope, met: Reinforcement) -> Became:
    item = _find(state, scope, met.id)
    if item is None:
        return met.id, "missing"
    values: dict[str, object] = {
        "sources": _joined(item.sources, met.sources),
        "observed_at": max(item.observed_at, met.observed_at or item.observed_at),
    }
    if met.pinned == item.pinned and met.fades_at > item.fades_at:
        dates = ("importance", "reinforced_at", "policy", "fades_at")
        values |= {name: getattr(met, name) for name in dates}
    state.put(item.model_copy(update=values))
    return met.id, "reinforced"


def _joined(known: tuple[Source, ...], new: tuple[Source, ...]) -> tuple[Source, ...]:
    return (*known, *(source for source in dict.fromkeys(new) if source not in known))
