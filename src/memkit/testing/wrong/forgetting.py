"""Stores that forget wrongly."""

from __future__ import annotations

from typing import Self, Unpack

from memkit.contracts import Clock
from memkit.errors import InvalidInput
from memkit.inmemory.state import EpisodeRow
from memkit.models import (
    Candidates,
    Episodes,
    Items,
    MemoryItem,
    Messages,
    Query,
    Receipt,
    Session,
    Target,
    WholeScope,
    key_hash,
)
from memkit.testing.wrong.store import Manner, Wrong


class SparesThePinned(Wrong):
    """Keeps pinned items when a scope is forgotten."""

    breaks = "test_a_whole_scope_is_forgotten"

    async def forget(self, target: Target, **how: Unpack[Manner]) -> Receipt:
        """Takes pinned for stronger than forgotten."""
        pinned = [each for each in self._state.items.values() if each.pinned]
        receipt = await super().forget(target, **how)
        for item in pinned if isinstance(target, WholeScope) else ():
            self._state.put(item)
        return receipt


class ForgetsByID(Wrong):
    """Forgets an item by its id alone."""

    breaks = "test_other_scopes_forget_nothing"

    async def forget(self, target: Target, **how: Unpack[Manner]) -> Receipt:
        """The scope is missing from the WHERE."""
        receipt = await super().forget(target, **how)
        for item_id in target.ids if isinstance(target, Items) else ():
            self._state.drop(item_id)
        return receipt


class ForgetsTheRecorders(Wrong):
    """Takes a whole scope for all that was recorded with it."""

    breaks = "test_a_whole_scope_is_a_home"

    async def forget(self, target: Target, **how: Unpack[Manner]) -> Receipt:
        """Forgets the sessions of everybody who shares the user."""
        receipt = await super().forget(target, **how)
        for scope, session_id in list(self._state.sessions):
            if isinstance(target, WholeScope) and scope.project("user") == target.scope:
                await super().forget(Session(scope=scope, session_id=session_id), **how)
        return receipt


class ForgetsLookalikes(Wrong):
    """Compares scopes without their case when it forgets."""

    breaks = "test_a_lookalike_forgets_nothing"

    async def forget(self, target: Target, **how: Unpack[Manner]) -> Receipt:
        """COLLATE NOCASE."""
        receipt = await super().forget(target, **how)
        for scope in list(self._state.shelves) if isinstance(target, WholeScope) else ():
            if scope.key.lower() == target.scope.key.lower():
                await super().forget(WholeScope(scope=scope), **how)
        return receipt


class ForgetsWhatWasTold(Wrong):
    """Forgets with a session what came from no session."""

    breaks = "test_a_session_is_forgotten"

    async def forget(self, target: Target, **how: Unpack[Manner]) -> Receipt:
        """Takes no sources for no sources left."""
        told = [each for each in self._state.items.values() if not each.sources]
        receipt = await super().forget(target, **how)
        if isinstance(target, Session) and receipt.items:
            for item in told:
                self._state.drop(item.id)
        return receipt


class ForgetsSessionsByHome(Wrong):
    """Looks for a session among all that share a home."""

    breaks = "test_a_session_is_named_by_the_scope_it_was_recorded_with"

    async def forget(self, target: Target, **how: Unpack[Manner]) -> Receipt:
        """Forgets each session of that name."""
        receipt = await super().forget(target, **how)
        if isinstance(target, Session) and not how.get("replacement"):
            rows = [each for each in self._state.episodes.values() if _is_of(each, target)]
            homes = {each.skeleton.home for each in rows if each.skeleton.scope == target.scope}
            for row in rows:
                if row.skeleton.home in homes:
                    alike = target.model_copy(update={"scope": row.skeleton.scope})
                    await super().forget(alike, **how)
        return receipt


def _is_of(row: EpisodeRow, target: Session) -> bool:
    return row.skeleton.session_id == target.session_id


class ForgetsTooMuchOfAnEpisode(Wrong):
    """Forgets what was learnt from an episode when one of its messages goes."""

    breaks = "test_messages_are_forgotten_by_key"

    async def forget(self, target: Target, **how: Unpack[Manner]) -> Receipt:
        """Cascades by episode, not by message."""
        receipt = await super().forget(target, **how)
        if isinstance(target, Messages) and not how.get("replacement") and receipt.items:
            for item in list(self._state.items.values()):
                self._state.drop(item.id)
        return receipt


class ForgetsTheNewestRevision(Wrong):
    """Forgets what a key says now, and not what it said before."""

    breaks = "test_every_revision_of_a_message_is_forgotten"

    async def forget(self, target: Target, **how: Unpack[Manner]) -> Receipt:
        """Looks a key up as recording does."""
        if not isinstance(target, Messages):
            return await super().forget(target, **how)
        log = self._state.log((target.scope, target.session_id))
        hidden = [
            (each, each.key)
            for place, each in enumerate(log.entries)
            if each.key in target.keys and log.is_revised(place)
        ]
        for entry, _ in hidden:
            entry.key = entry.key_hash = None
        receipt = await super().forget(target, **how)
        for entry, key in hidden:
            entry.key, entry.key_hash = key, key_hash(key or "")
        return receipt


class MiscountsEpisodes(Wrong):
    """Counts no episodes when they are forgotten by id."""

    breaks = "test_episodes_are_forgotten_by_id"

    async def forget(self, target: Target, **how: Unpack[Manner]) -> Receipt:
        """A receipt that says less than was done."""
        receipt = await super().forget(target, **how)
        wrong = {"episodes": 0} if isinstance(target, Episodes) else {}
        return receipt.model_copy(update=wrong)


class LeavesTheIndex(Wrong):
    """Forgets an item, and not its index entries."""

    breaks = "test_items_are_forgotten_by_id"

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self._gone: dict[str, MemoryItem] = {}

    async def forget(self, target: Target, **how: Unpack[Manner]) -> Receipt:
        """Its words still lead somewhere."""
        ids = target.ids if isinstance(target, Items) else ()
        gone = [self._state.items[each] for each in ids if each in self._state.items]
        receipt = await super().forget(target, **how)
        self._gone |= {each.id: each for each in gone if each.scope == target.scope}
        return receipt

    async def find(self, query: Query) -> Candidates:
        """Finds the item once more, as the index has it."""
        shelved = [each for each in self._gone.values() if each.id not in self._state.items]
        for item in shelved:
            self._state.put(item)
        found = await super().find(query)
        for item in shelved:
            self._state.drop(item.id)
        return found


class BuriesNoPinned(Wrong):
    """Leaves no tombstone for what was pinned."""

    breaks = "test_each_removed_content_leaves_a_tombstone"

    async def forget(self, target: Target, **how: Unpack[Manner]) -> Receipt:
        """What never fades need not be blocked."""
        pinned = {each.content_hash for each in self._state.items.values() if each.pinned}
        receipt = await super().forget(target, **how)
        for stone in list(self._state.tombstones.values()):
            if stone.content_hash in pinned:
                del self._state.tombstones[stone.id]
        return receipt


class ForgetsOnce(Wrong):
    """Takes a forget that finds nothing for an error."""

    breaks = "test_forgetting_again_is_fine"

    async def forget(self, target: Target, **how: Unpack[Manner]) -> Receipt:
        """Refuses to forget a session twice."""
        receipt = await super().forget(target, **how)
        if isinstance(target, Session) and receipt == Receipt(at=receipt.at, epoch=receipt.epoch):
            raise InvalidInput("nothing to forget")
        return receipt


class ForgetsInMemory(Wrong):
    """Forgets until the next restart."""

    breaks = "test_what_was_forgotten_is_gone_after_reopening"

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self._before: list[MemoryItem] = []

    async def forget(self, target: Target, **how: Unpack[Manner]) -> Receipt:
        """Keeps the file as it is."""
        if isinstance(target, Session):
            self._before = list(self._state.items.values())
        return await super().forget(target, **how)

    def reopened(self) -> Self:
        """Reads the file again."""
        for item in self._before:
            self._state.put(item)
        return self
