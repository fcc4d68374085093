"""Stores that let the dates of an item be written over."""

from __future__ import annotations

from memkit.models import Applied, Changes, Scope
from memkit.testing.wrong.store import Wrong


class LosesItsEnd(Wrong):
    """Lets an item that is met again live for as long as it takes to fade."""

    breaks = "test_an_end_of_its_own_outlasts_reinforcement"

    async def apply(self, scope: Scope, changes: Changes, *, epoch: int | None = None) -> Applied:
        """What is reinforced has no end any more."""
        before = dict(self._state.items)
        applied = await super().apply(scope, changes, epoch=epoch)
        for item_id in applied.reinforced:
            if item_id in before and before[item_id].ends_at is not None:
                self.rewrite(item_id, ends_at=None)
        return applied


class EndsForGood(Wrong):
    """Takes an end that is set to nothing for one that is not set."""

    breaks = "test_a_patch_may_take_an_end_away"

    async def apply(self, scope: Scope, changes: Changes, *, epoch: int | None = None) -> Applied:
        """COALESCE."""
        before = {item.id: item.ends_at for item in self._state.items.values()}
        applied = await super().apply(scope, changes, epoch=epoch)
        for patch in changes.update:
            if patch.id in applied.updated and patch.columns.get("ends_at", ...) is None:
                self.rewrite(patch.id, ends_at=before[patch.id])
        return applied


class WritesWhatIsStale(Wrong):
    """Writes a patch without looking at what it was made for."""

    breaks = "test_a_patch_of_what_has_changed_is_stale"

    async def apply(self, scope: Scope, changes: Changes, *, epoch: int | None = None) -> Applied:
        """The last one wins."""
        blind = tuple(each.model_copy(update={"if_fades_at": None}) for each in changes.update)
        return await super().apply(scope, changes.model_copy(update={"update": blind}), epoch=epoch)


class PinsByDate(Wrong):
    """Takes whatever date is later, be it one that only pinned items have."""

    breaks = "test_dates_of_what_was_pinned_are_not_taken"

    async def apply(self, scope: Scope, changes: Changes, *, epoch: int | None = None) -> Applied:
        """An item that is not pinned never fades."""
        applied = await super().apply(scope, changes, epoch=epoch)
        for each in changes.reinforce:
            if each.pinned and each.id in applied.reinforced:
                self.rewrite(each.id, fades_at=each.fades_at, policy=each.policy)
        return applied
