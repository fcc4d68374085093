"""Stores that take duplicates wrongly."""

from __future__ import annotations

from memkit.models import Applied, Changes, MemoryItem, Reinforcement, Scope, content_hash
from memkit.testing.wrong.store import Wrong


class KeepsOldImportance(Wrong):
    """Moves the dates of what is met again, and not the importance."""

    breaks = "test_the_same_content_reinforces_what_is_there"

    async def apply(self, scope: Scope, changes: Changes, *, epoch: int | None = None) -> Applied:
        """Restores what it was before."""
        before = {item.id: item.reinforced_at for item in self._state.items.values()}
        applied = await super().apply(scope, changes, epoch=epoch)
        for item_id in applied.reinforced if changes.add and not changes.reinforce else ():
            if item_id in before:
                self.rewrite(item_id, reinforced_at=before[item_id])
        return applied


class DropsSourcesOfDuplicates(Wrong):
    """Reinforces a duplicate without taking its sources."""

    breaks = "test_the_same_content_adds_its_sources"

    async def apply(self, scope: Scope, changes: Changes, *, epoch: int | None = None) -> Applied:
        """Only the first meeting counts as evidence."""
        before = {item.id: item for item in self._state.items.values()}
        applied = await super().apply(scope, changes, epoch=epoch)
        for item_id in applied.reinforced if not changes.reinforce else ():
            if item_id in before and before[item_id].sources:
                self.rewrite(item_id, sources=before[item_id].sources)
        return applied


class ForgetsWhenItWasSaid(Wrong):
    """Reinforces a duplicate and leaves it at the date of the first meeting."""

    breaks = "test_the_same_content_is_observed_anew"

    async def apply(self, scope: Scope, changes: Changes, *, epoch: int | None = None) -> Applied:
        """`observed_at` stays what it was."""
        before = {item.id: item.observed_at for item in self._state.items.values()}
        applied = await super().apply(scope, changes, epoch=epoch)
        for item_id in applied.reinforced if not changes.reinforce else ():
            if item_id in before:
                self.rewrite(item_id, observed_at=before[item_id])
        return applied


class PilesUpInQuarantine(Wrong):
    """Merges what is active only."""

    breaks = "test_what_is_quarantined_is_met_in_quarantine"

    async def apply(self, scope: Scope, changes: Changes, *, epoch: int | None = None) -> Applied:
        """What is quarantined is added each time that it is said."""
        odd = {each.id: each for each in changes.add if each.status == "quarantined"}
        known = odd.keys() & self._state.items.keys()
        applied = await super().apply(scope, changes, epoch=epoch)
        unknown = odd.keys() - known - {*applied.added, *applied.updated, *applied.blocked}
        for item_id in unknown - {*applied.missing}:
            self._state.put(odd[item_id])
        return applied.model_copy(update={"added": (*applied.added, *sorted(unknown))})


class ComparesOnceForAll(Wrong):
    """Looks for duplicates before it adds the first, and not again."""

    breaks = "test_the_same_content_twice_in_one_change_is_one_item"

    async def apply(self, scope: Scope, changes: Changes, *, epoch: int | None = None) -> Applied:
        """Twins within one change are both added."""
        applied = await super().apply(scope, changes, epoch=epoch)
        by_hash: dict[str, MemoryItem] = {}
        for each in changes.add:
            first = by_hash.setdefault(each.content_hash, each)
            if each.key is None and first.id != each.id and first.id in applied.added:
                self._state.put(each)
        return applied


class ReinforcesTheLast(Wrong):
    """Meets whichever of several duplicates the index gives first."""

    breaks = "test_of_several_duplicates_the_first_id_is_met"

    async def apply(self, scope: Scope, changes: Changes, *, epoch: int | None = None) -> Applied:
        """Says that it was the last."""
        by_hash = self._state.shelf(scope).by_hash
        twins = {max(by_hash.get(each.content_hash, {each.id})) for each in changes.add}
        plain = {each for each in twins if self._is_one_of_two(each)}
        applied = await super().apply(scope, changes, epoch=epoch)
        return applied.model_copy(update={"reinforced": tuple(plain)}) if plain else applied

    def _is_one_of_two(self, item_id: str) -> bool:
        item = self._state.items.get(item_id)
        same = self._state.shelf(item.scope).by_hash[item.content_hash] if item else set()
        active = [each for each in same if self._state.items[each].status == "active"]
        return len(active) > 1 and not any(self._state.items[each].key for each in active)


class AbsorbsIntoHistory(Wrong):
    """Compares with every item, whatever its status."""

    breaks = "test_content_that_is_not_active_reinforces_nothing"

    async def apply(self, scope: Scope, changes: Changes, *, epoch: int | None = None) -> Applied:
        """What was superseded swallows what is said anew."""
        kept = tuple(each for each in changes.add if not self._was_superseded(scope, each))
        return await super().apply(scope, _with(changes, kept), epoch=epoch)

    def _was_superseded(self, scope: Scope, item: MemoryItem) -> bool:
        same = self._state.shelf(scope).by_hash.get(item.content_hash, set())
        return any(self._state.items[each].status == "superseded" for each in same)


class AbsorbsWhatHasFaded(Wrong):
    """Compares with items that count as absent."""

    breaks = "test_what_has_faded_absorbs_nothing"

    async def apply(self, scope: Scope, changes: Changes, *, epoch: int | None = None) -> Applied:
        """A duplicate wakes what has expired."""
        met = tuple(
            _met(self._state.items[found], each)
            for each in changes.add
            for found in self._state.shelf(scope).by_hash.get(each.content_hash, set())
            if self._has_faded(found, each)
        )
        known = {content_hash(self._state.items[each.id].content) for each in met}
        kept = tuple(each for each in changes.add if each.content_hash not in known)
        joined = changes.model_copy(update={"add": kept, "reinforce": (*changes.reinforce, *met)})
        return await super().apply(scope, joined, epoch=epoch)

    def _has_faded(self, item_id: str, new: MemoryItem) -> bool:
        item = self._state.items[item_id]
        return item.status == "active" and item.expires_at <= new.reinforced_at


def _met(known: MemoryItem, new: MemoryItem) -> Reinforcement:
    return Reinforcement(
        id=known.id,
        importance=new.importance,
        reinforced_at=new.reinforced_at,
        policy=new.policy,
        fades_at=new.fades_at,
        pinned=new.pinned,
    )


class AbsorbsIntoKeys(Wrong):
    """Takes an item that carries a caller's key for a duplicate."""

    breaks = "test_an_item_with_a_key_is_no_duplicate"

    async def apply(self, scope: Scope, changes: Changes, *, epoch: int | None = None) -> Applied:
        """What is said is swallowed by what the caller keeps."""
        keyed = {item.content_hash for item in self._state.items.values() if item.key is not None}
        kept = tuple(
            each for each in changes.add if each.key is not None or each.content_hash not in keyed
        )
        return await super().apply(scope, _with(changes, kept), epoch=epoch)


class SharesContents(Wrong):
    """Says of a content that another scope has that it was met again."""

    breaks = "test_content_in_another_scope_reinforces_nothing"

    async def apply(self, scope: Scope, changes: Changes, *, epoch: int | None = None) -> Applied:
        """Counts it in the wrong list."""
        others = {
            item.content_hash
            for item in self._state.items.values()
            if item.scope != scope and item.key is None
        }
        applied = await super().apply(scope, changes, epoch=epoch)
        known = {
            each.id for each in changes.add if not each.sources and each.content_hash in others
        }
        added = tuple(each for each in applied.added if each not in known)
        return applied.model_copy(update={"added": added})


def _with(changes: Changes, add: tuple[MemoryItem, ...]) -> Changes:
    return changes.model_copy(update={"add": add})
