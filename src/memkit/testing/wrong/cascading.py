"""Stores that forget what came from a source wrongly."""

from __future__ import annotations

from typing import Unpack

from memkit.models import (
    Messages,
    Receipt,
    Session,
    Target,
)
from memkit.testing.wrong.store import Manner, Wrong


class ForgetsWhatHasOtherSources(Wrong):
    """Forgets an item when any of its sources goes."""

    breaks = "test_an_item_with_other_sources_keeps_those"

    async def forget(self, target: Target, **how: Unpack[Manner]) -> Receipt:
        """Takes one source for all."""
        before = {each.id: len(each.sources) for each in self._state.items.values()}
        receipt = await super().forget(target, **how)
        for item in list(self._state.items.values()):
            if item.sources and len(item.sources) < before[item.id]:
                self._state.drop(item.id)
        return receipt


class ForgetsWhatWasHeardToo(Wrong):
    """Forgets what was told when the session in which it was heard as well goes."""

    breaks = "test_what_was_told_stands_by_itself"

    async def forget(self, target: Target, **how: Unpack[Manner]) -> Receipt:
        """Asks for sources, and not for the origin."""
        before = {each.id: len(each.sources) for each in self._state.items.values()}
        receipt = await super().forget(target, **how)
        for item in list(self._state.items.values()):
            if not item.sources and before[item.id]:
                self._state.drop(item.id)
        return receipt


class CascadesWithinTheScope(Wrong):
    """Looks for what came from a session in the session's own scope."""

    breaks = "test_what_a_scope_learnt_from_elsewhere_goes_with_its_source"

    async def forget(self, target: Target, **how: Unpack[Manner]) -> Receipt:
        """Leaves the items of the home."""
        elsewhere = [each for each in self._state.items.values() if each.scope != target.scope]
        receipt = await super().forget(target, **how)
        for item in elsewhere if isinstance(target, Session) and receipt.items == 1 else ():
            self._state.put(item)
        return receipt


class RaisesNoEpoch(Wrong):
    """Forgets single messages without raising the epoch."""

    breaks = "test_forgetting_raises_the_epoch_of_the_home"

    async def forget(self, target: Target, **how: Unpack[Manner]) -> Receipt:
        """A small forget seems harmless."""
        receipt = await super().forget(target, **how)
        if isinstance(target, Messages):
            for ward in self._state.wards.values():
                ward.epoch = max(0, ward.epoch - 1)
            return receipt.model_copy(update={"epoch": receipt.epoch - 1})
        return receipt
