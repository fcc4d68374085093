"""Stores that change items wrongly."""

from __future__ import annotations

from memkit.contracts import Clock
from memkit.models import Applied, Changes, MemoryItem, Reinforcement, Scope
from memkit.testing.wrong.store import Wrong


class WritesWholeRows(Wrong):
    """Writes every column of a patch, set or not."""

    breaks = "test_a_patch_writes_only_the_fields_it_sets"

    async def apply(self, scope: Scope, changes: Changes, *, epoch: int | None = None) -> Applied:
        """A patch without metadata empties them."""
        applied = await super().apply(scope, changes, epoch=epoch)
        for patch in changes.update:
            if patch.id in applied.updated and patch.kind is not None:
                self.rewrite(patch.id, importance=0.5)
        return applied


class IgnoresNull(Wrong):
    """Takes a value that is set to None for one that is not set."""

    breaks = "test_a_patch_may_set_a_value_to_null"

    async def apply(self, scope: Scope, changes: Changes, *, epoch: int | None = None) -> Applied:
        """COALESCE."""
        before = {item.id: item.value for item in self._state.items.values()}
        applied = await super().apply(scope, changes, epoch=epoch)
        for patch in changes.update:
            if patch.id in applied.updated and patch.value is None:
                self.rewrite(patch.id, value=before[patch.id])
        return applied


class KeepsOldWords(Wrong):
    """Leaves the index entries of a content that was edited."""

    breaks = "test_a_patched_content_is_found_by_its_new_words_only"

    async def apply(self, scope: Scope, changes: Changes, *, epoch: int | None = None) -> Applied:
        """The old words still lead to the item."""
        before = {item.id: item.tokens for item in self._state.items.values()}
        applied = await super().apply(scope, changes, epoch=epoch)
        for patch in changes.update if applied.updated else ():
            for token in before[patch.id].split() if patch.content else ():
                self._state.shelves[scope].by_token.setdefault(token, set()).add(patch.id)
        return applied


class NeverQuarantines(Wrong):
    """Accepts a status, and keeps the old one."""

    breaks = "test_a_status_decides_whether_an_item_is_found"

    async def apply(self, scope: Scope, changes: Changes, *, epoch: int | None = None) -> Applied:
        """Every patched item stays active."""
        applied = await super().apply(scope, changes, epoch=epoch)
        for patch in changes.update:
            if patch.status == "quarantined" and patch.id in applied.updated:
                self.rewrite(patch.id, status="active")
        return applied


class ForgetsWhenItEnded(Wrong):
    """Supersedes an item without saying until when it held."""

    breaks = "test_a_superseded_item_is_history"

    async def apply(self, scope: Scope, changes: Changes, *, epoch: int | None = None) -> Applied:
        """No `valid_to`."""
        applied = await super().apply(scope, changes, epoch=epoch)
        for item_id in applied.superseded:
            self.rewrite(item_id, valid_to=None)
        return applied


class SupersedesAgain(Wrong):
    """Lets a later supersession write over the first."""

    breaks = "test_only_what_is_active_is_superseded"

    async def apply(self, scope: Scope, changes: Changes, *, epoch: int | None = None) -> Applied:
        """The last one wins."""
        applied = await super().apply(scope, changes, epoch=epoch)
        for each in changes.supersede:
            item = self._state.items.get(each.id)
            if item is not None and item.scope == scope and item.superseded_by != each.by:
                self.rewrite(each.id, superseded_by=each.by)
        return applied


class DeletesSoftly(Wrong):
    """Still knows a removed item by its key."""

    breaks = "test_a_removed_item_is_gone"

    async def apply(self, scope: Scope, changes: Changes, *, epoch: int | None = None) -> Applied:
        """Keeps the key of what was removed, on the item itself."""
        gone = [self._state.items[each] for each in changes.remove if each in self._state.items]
        applied = await super().apply(scope, changes, epoch=epoch)
        self._bin |= {(each.scope, each.key or ""): each for each in gone}
        return applied

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self._bin: dict[tuple[Scope, str], MemoryItem] = {}

    async def by_key(self, scope: Scope, key: str) -> MemoryItem | None:
        """Looks into the bin as well."""
        return await super().by_key(scope, key) or self._bin.get((scope, key))


class EndsLast(Wrong):
    """Adds before it removes."""

    breaks = "test_what_ends_makes_room_for_what_begins"

    async def apply(self, scope: Scope, changes: Changes, *, epoch: int | None = None) -> Applied:
        """What begins is merged into what the same changes end."""
        first = changes.model_copy(update={"remove": ()})
        applied = await super().apply(scope, first, epoch=epoch)
        last = await super().apply(scope, Changes(remove=changes.remove), epoch=epoch)
        missing = (*applied.missing, *last.missing)
        return applied.model_copy(update={"removed": last.removed, "missing": missing})


class ReinforcesByHalf(Wrong):
    """Takes the dates of a reinforcement, and not its importance."""

    breaks = "test_a_reinforcement_lets_an_item_fade_later"

    async def apply(self, scope: Scope, changes: Changes, *, epoch: int | None = None) -> Applied:
        """The importance stays what it was."""
        before = {item.id: item.importance for item in self._state.items.values()}
        applied = await super().apply(scope, changes, epoch=epoch)
        for each in changes.reinforce:
            if each.id in applied.reinforced:
                self.rewrite(each.id, importance=before[each.id])
        return applied


class TakesAnyReinforcement(Wrong):
    """Lets the last meeting decide, however weak."""

    breaks = "test_a_weaker_reinforcement_changes_no_date"

    async def apply(self, scope: Scope, changes: Changes, *, epoch: int | None = None) -> Applied:
        """Writes the new date without comparing."""
        applied = await super().apply(scope, changes, epoch=epoch)
        for each in changes.reinforce:
            if each.id in applied.reinforced and not self._is_pinned(each):
                self.rewrite(each.id, fades_at=each.fades_at)
        return applied

    def _is_pinned(self, met: Reinforcement) -> bool:
        return met.pinned or self._state.items[met.id].pinned


class DoublesSources(Wrong):
    """Adds the sources of a reinforcement each time it is carried out."""

    breaks = "test_a_reinforcement_adds_its_sources_once"

    async def apply(self, scope: Scope, changes: Changes, *, epoch: int | None = None) -> Applied:
        """A list where a set was meant."""
        before = {item.id: item.sources for item in self._state.items.values()}
        applied = await super().apply(scope, changes, epoch=epoch)
        for each in changes.reinforce:
            if each.id in applied.reinforced:
                self.rewrite(each.id, sources=(*before[each.id], *each.sources))
        return applied


class ObservesTheLastMeeting(Wrong):
    """Takes the date of whatever meeting was written last."""

    breaks = "test_a_reinforcement_keeps_the_later_observation"

    async def apply(self, scope: Scope, changes: Changes, *, epoch: int | None = None) -> Applied:
        """An older message read later sets the date back."""
        applied = await super().apply(scope, changes, epoch=epoch)
        for each in changes.reinforce:
            if each.observed_at is not None and each.id in applied.reinforced:
                self.rewrite(each.id, observed_at=each.observed_at)
        return applied


class LetsPinnedFade(Wrong):
    """Gives a pinned item that is met again a date on which it fades."""

    breaks = "test_a_pinned_item_stays_pinned_when_met"

    async def apply(self, scope: Scope, changes: Changes, *, epoch: int | None = None) -> Applied:
        """Forgets that pinned means never."""
        applied = await super().apply(scope, changes, epoch=epoch)
        for each in changes.reinforce:
            if each.id in applied.reinforced and self._state.items[each.id].pinned:
                self.rewrite(each.id, fades_at=each.fades_at, policy=each.policy)
        return applied


class GivesUpOnTheMissing(Wrong):
    """Carries nothing out when one of the items is not there."""

    breaks = "test_what_is_not_there_is_missing_and_the_rest_applied"

    async def apply(self, scope: Scope, changes: Changes, *, epoch: int | None = None) -> Applied:
        """All or nothing, taken too far."""
        ids = self._state.shelf(scope).ids
        named = {*changes.remove, *(each.id for each in changes.update)}
        named |= {each.id for each in changes.supersede} | {each.id for each in changes.reinforce}
        missing = named - ids - {each.id for each in changes.add}
        if missing:
            return Applied(missing=tuple(missing))
        return await super().apply(scope, changes, epoch=epoch)


class EditsWhatItAdds(Wrong):
    """Adds first, and then edits."""

    breaks = "test_what_is_only_being_added_cannot_be_changed_yet"

    async def apply(self, scope: Scope, changes: Changes, *, epoch: int | None = None) -> Applied:
        """An edit finds what the same changes add."""
        applied = await super().apply(scope, changes, epoch=epoch)
        for patch in changes.update:
            if patch.id in applied.added:
                self.rewrite(patch.id, kind=patch.kind)
        return applied


class RemovesByID(Wrong):
    """Deletes by id alone."""

    breaks = "test_what_is_foreign_is_missing_and_left_alone"

    async def apply(self, scope: Scope, changes: Changes, *, epoch: int | None = None) -> Applied:
        """The scope is missing from the WHERE."""
        applied = await super().apply(scope, changes, epoch=epoch)
        for item_id in changes.remove:
            self._state.drop(item_id)
        return applied


class AddsWhatWasRemoved(Wrong):
    """Repeats a change by carrying it out from the start."""

    breaks = "test_repeating_a_change_has_the_effect_of_one"

    async def apply(self, scope: Scope, changes: Changes, *, epoch: int | None = None) -> Applied:
        """A repeated supersession ends the successor as well."""
        repeated = [each for each in changes.add if each.id in self._state.items]
        applied = await super().apply(scope, changes, epoch=epoch)
        for item in repeated if changes.supersede else ():
            self.rewrite(item.id, status="superseded")
        return applied
