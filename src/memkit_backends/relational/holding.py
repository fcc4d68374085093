"""Changes worked out on the items that they touch, before anything is written.

The items are read in one go, under the scope's lock; the rules of `Store.apply` are applied
to them here, in plain values; then what became of them is written in one go.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Literal

from memkit.decay import microseconds
from memkit.models import (
    Applied,
    Changes,
    MemoryItem,
    Patch,
    Reinforcement,
    Source,
    Supersession,
)

Fate = Literal[
    "added", "updated", "superseded", "removed", "reinforced", "blocked", "stale", "missing"
]
Became = tuple[str, Fate | None]
"""An item's id, and what became of it: nothing, where it was so already."""


@dataclass(slots=True)
class Holding:
    """The items of one scope that changes touch, by id, as they come to be.

    `before` is as they were read, `foreign` are ids that items of other scopes have, and
    `stones` the newest forgetting (in microseconds) of content hashes.
    """

    before: Mapping[str, MemoryItem]
    foreign: frozenset[str]
    stones: Mapping[str, int]
    items: dict[str, MemoryItem] = field(init=False)
    _by_word: defaultdict[str, set[str]] = field(init=False)
    """Ids of the items that have, or had, a key or a content hash."""

    def __post_init__(self) -> None:
        self.items = {}
        self._by_word = defaultdict(set)
        for item in self.before.values():
            self._put(item)

    def _put(self, item: MemoryItem) -> None:
        self.items[item.id] = item
        self._by_word[item.content_hash if item.key is None else item.key].add(item.id)

    def _having(self, word: str) -> Iterator[MemoryItem]:
        """Those that may have this key or this content hash, by id."""
        return (self.items[each] for each in sorted(self._by_word[word]) if each in self.items)

    def carry_out(self, changes: Changes) -> Applied:
        """Apply the changes; what ends comes first, so that nothing merges into it.

        An item that they only add is not there yet to be changed: the first time it is not,
        so a repetition must not change it either.
        """
        new = {item.id for item in changes.add}
        return _summed(
            chain(
                (self._remove(item_id) for item_id in changes.remove),
                (self._supersede(each, new) for each in changes.supersede),
                (self._update(patch, new) for patch in changes.update),
                (self._add(item) for item in changes.add),
                (self._reinforce(each) for each in changes.reinforce),
            )
        )

    @property
    def new(self) -> Iterator[MemoryItem]:
        """Items that were not there before."""
        return (item for key, item in self.items.items() if key not in self.before)

    @property
    def changed(self) -> Iterator[MemoryItem]:
        """Items that were there and are not as they were."""
        return (item for key, item in self.items.items() if self.before.get(key, item) is not item)

    @property
    def gone(self) -> list[str]:
        """Ids of items that were there and are no more."""
        return [each for each in self.before if each not in self.items]

    def _remove(self, item_id: str) -> Became:
        known = self.items.pop(item_id, None)
        return item_id, "missing" if known is None else "removed"

    def _supersede(self, end: Supersession, new: Container[str]) -> Became:
        item = self.items.get(end.id)
        if item is None or end.id in new:
            return end.id, "missing"
        if item.status != "active":
            return end.id, None
        values = {"status": "superseded", "superseded_by": end.by, "valid_to": end.at}
        self._put(item.model_copy(update=values))
        return end.id, "superseded"

    def _update(self, patch: Patch, new: Container[str]) -> Became:
        item = self.items.get(patch.id)
        if item is None or patch.id in new:
            return patch.id, "missing"
        if patch.is_late(item.fades_at):
            return patch.id, "stale"
        self._put(item.model_copy(update=patch.columns))
        return patch.id, "updated"

    def _add(self, item: MemoryItem) -> Became:
        if item.id in self.items:
            return item.id, None
        if item.id in self.foreign:
            return item.id, "missing"
        if self._is_blocked(item):
            return item.id, "blocked"
        namesake = self._namesake(item)
        if namesake is not None:
            kept = {"id": namesake.id, "created_at": namesake.created_at}
            self._put(item.model_copy(update=kept))
            return namesake.id, "updated"
        twin = self._twin(item)
        if twin is not None:
            return self._reinforce(Reinforcement.by(item, of=twin.id))
        self._put(item)
        return item.id, "added"

    def _is_blocked(self, item: MemoryItem) -> bool:
        stone = self.stones.get(item.content_hash)
        if stone is None or not item.sources:
            return False
        return all(microseconds(source.recorded_at) <= stone for source in item.sources)

    def _namesake(self, item: MemoryItem) -> MemoryItem | None:
        if item.key is None:
            return None
        return next((each for each in self._having(item.key) if each.key == item.key), None)

    def _twin(self, item: MemoryItem) -> MemoryItem | None:
        """The item that says the same already. One that has expired since counts as absent."""
        if item.key is not None or item.status == "superseded":
            return None
        known = self._having(item.content_hash)
        return next((each for each in known if _absorbs(each, item)), None)

    def _reinforce(self, met: Reinforcement) -> Became:
        item = self.items.get(met.id)
        if item is None:
            return met.id, "missing"
        values: dict[str, object] = {
            "sources": _joined(item.sources, met.sources),
            "observed_at": max(item.observed_at, met.observed_at or item.observed_at),
        }
        if met.pinned == item.pinned and met.fades_at > item.fades_at:
            dates = ("importance", "reinforced_at", "policy", "fades_at")
            values |= {name: getattr(met, name) for name in dates}
        self._put(item.model_copy(update=values))
        return met.id, "reinforced"


def _absorbs(known: MemoryItem, item: MemoryItem) -> bool:
    return (
        known.content_hash == item.content_hash
        and known.key is None
        and known.status == item.status
        and known.expires_at > item.reinforced_at
    )


def _joined(known: tuple[Source, ...], new: tuple[Source, ...]) -> tuple[Source, ...]:
    return (*known, *(source for source in dict.fromkeys(new) if source not in known))


def _summed(fates: Iterable[Became]) -> Applied:
    ids: defaultdict[Fate, dict[str, None]] = defaultdict(dict)
    for item_id, fate in fates:
        if fate is not None:
            ids[fate][item_id] = None
    return Applied(**{fate: tuple(found) for fate, found in ids.items()})
