"""Stores that guard changes wrongly: epochs, cancellation, restarts."""

from __future__ import annotations

import asyncio
from typing import Self, Unpack

from memkit.contracts import Clock
from memkit.errors import Forgotten
from memkit.models import Applied, Changes, Receipt, Scope, Target
from memkit.testing.wrong.store import Manner, Wrong


class OneEpochForAll(Wrong):
    """Counts forgets for the store, not for the scope."""

    breaks = "test_an_epoch_that_holds_lets_changes_in"

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self._last: Scope | None = None

    async def forget(self, target: Target, **how: Unpack[Manner]) -> Receipt:
        """Remembers who forgot last."""
        self._last = target.scope
        return await super().forget(target, **how)

    async def apply(self, scope: Scope, changes: Changes, *, epoch: int | None = None) -> Applied:
        """A forget elsewhere stops work here."""
        if epoch is not None and self._last not in {None, scope}:
            raise Forgotten(f"scope {scope.key}")
        return await super().apply(scope, changes, epoch=epoch)


class IgnoresEpochs(Wrong):
    """Lets in what was begun before a forget."""

    breaks = "test_an_epoch_that_has_passed_lets_nothing_in"

    async def apply(self, scope: Scope, changes: Changes, *, epoch: int | None = None) -> Applied:
        """Does not compare where something is to be added."""
        return await super().apply(scope, changes, epoch=None if changes.add else epoch)


class HalfApplies(Wrong):
    """Leaves the first item of a change that is cancelled."""

    breaks = "test_a_cancelled_change_is_whole_or_not_at_all"

    async def apply(self, scope: Scope, changes: Changes, *, epoch: int | None = None) -> Applied:
        """Commits item by item."""
        try:
            await asyncio.sleep(0)
        except asyncio.CancelledError:
            await super().apply(scope, Changes(add=changes.add[:1]))
            raise
        return await super().apply(scope, changes, epoch=epoch)


class ForgetsEpochsOnRestart(Wrong):
    """Keeps the epoch in memory only."""

    breaks = "test_what_was_applied_is_there_after_reopening"

    def reopened(self) -> Self:
        """After a restart every scope is at its first epoch."""
        for ward in self._state.wards.values():
            ward.epoch = 0
        return self
