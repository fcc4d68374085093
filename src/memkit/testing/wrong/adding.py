"""Stores that take in items wrongly."""

from __future__ import annotations

import unicodedata
from datetime import timedelta

from memkit.errors import InvalidInput
from memkit.inmemory.state import tombstone_id
from memkit.models import Applied, Changes, MemoryItem, Scope
from memkit.testing.wrong.store import Wrong


class RoundsDates(Wrong):
    """Keeps dates to the millisecond."""

    breaks = "test_an_item_comes_back_as_it_was_given"

    async def apply(self, scope: Scope, changes: Changes, *, epoch: int | None = None) -> Applied:
        """Rounds the date of observation."""
        rounded = tuple(_rounded(each) for each in changes.add)
        return await super().apply(scope, _with(changes, rounded), epoch=epoch)


def _rounded(item: MemoryItem) -> MemoryItem:
    odd = timedelta(microseconds=item.observed_at.microsecond % 1000)
    return item.model_copy(update={"observed_at": item.observed_at - odd})


def _with(changes: Changes, add: tuple[MemoryItem, ...]) -> Changes:
    return changes.model_copy(update={"add": add})


class NormalizesText(Wrong):
    """Keeps another form of what it is given."""

    breaks = "test_any_text_is_kept_verbatim"

    async def apply(self, scope: Scope, changes: Changes, *, epoch: int | None = None) -> Applied:
        """NFC, which looks the same."""
        changed = tuple(
            each.model_copy(update={"content": unicodedata.normalize("NFC", each.content)})
            for each in changes.add
        )
        return await super().apply(scope, _with(changes, changed), epoch=epoch)


class OverwritesByID(Wrong):
    """Writes an item over the one that has its id."""

    breaks = "test_an_id_that_is_there_is_left_as_it_is"

    async def apply(self, scope: Scope, changes: Changes, *, epoch: int | None = None) -> Applied:
        """An upsert."""
        for each in changes.add:
            if each.id in self._state.shelf(scope).ids:
                self._state.put(each)
        return await super().apply(scope, changes, epoch=epoch)


class KeepsTheOldValue(Wrong):
    """Under a key it replaces the content, and forgets the value."""

    breaks = "test_a_key_taken_replaces_what_it_holds"

    async def apply(self, scope: Scope, changes: Changes, *, epoch: int | None = None) -> Applied:
        """Leaves a column out of the update."""
        before = {each.key: self._known(scope, each.key) for each in changes.add if each.key}
        applied = await super().apply(scope, changes, epoch=epoch)
        for old in before.values():
            if old is not None and old.id in applied.updated:
                new = self._state.items[old.id]
                self._state.put(new.model_copy(update={"value": old.value}))
        return applied

    def _known(self, scope: Scope, key: str) -> MemoryItem | None:
        return self._state.items.get(self._state.shelf(scope).by_key.get(key, ""))


class KeepsOldWordsUnderAKey(Wrong):
    """Leaves the index entries of a content that a key no longer holds."""

    breaks = "test_a_replaced_content_is_found_by_its_new_words_only"

    async def apply(self, scope: Scope, changes: Changes, *, epoch: int | None = None) -> Applied:
        """The old words lead to the new content."""
        keyed = [each for each in changes.add if each.key]
        before = {item.id: item.tokens for item in self._state.items.values() if item.key}
        applied = await super().apply(scope, changes, epoch=epoch)
        for item_id in applied.updated if keyed else ():
            for token in before.get(item_id, "").split():
                self._state.shelves[scope].by_token.setdefault(token, set()).add(item_id)
        return applied


class BlocksOnlyTheOlder(Wrong):
    """Lets pass what was recorded at the very moment of the forget."""

    breaks = "test_a_tombstone_blocks_what_was_said_before_it"

    async def apply(self, scope: Scope, changes: Changes, *, epoch: int | None = None) -> Applied:
        """Before, instead of at or before."""
        stones = self._state.tombstones
        moved = {
            name: stone.model_copy(update={"at": stone.at - timedelta(microseconds=1)})
            for name, stone in stones.items()
        }
        stones_before = dict(stones)
        stones.update(moved)
        try:
            return await super().apply(scope, changes, epoch=epoch)
        finally:
            stones.update(stones_before)


class BlocksForEver(Wrong):
    """Blocks a forgotten content, whoever says it again."""

    breaks = "test_a_tombstone_lets_pass_what_is_said_again"

    async def apply(self, scope: Scope, changes: Changes, *, epoch: int | None = None) -> Applied:
        """Asks for a tombstone and for nothing else."""
        stones = self._state.tombstones
        kept = tuple(
            each
            for each in changes.add
            if tombstone_id(scope, each.content_hash) not in stones
            or (each.sources[1:] == () and each.sources)
        )
        return await super().apply(scope, _with(changes, kept), epoch=epoch)


class BlocksEverybody(Wrong):
    """Keeps one list of tombstones for all scopes."""

    breaks = "test_a_tombstone_belongs_to_its_scope"

    async def apply(self, scope: Scope, changes: Changes, *, epoch: int | None = None) -> Applied:
        """What one user had forgotten is blocked for all."""
        elsewhere = {
            stone.content_hash for stone in self._state.tombstones.values() if stone.scope != scope
        }
        kept = tuple(
            each for each in changes.add if not each.sources or each.content_hash not in elsewhere
        )
        return await super().apply(scope, _with(changes, kept), epoch=epoch)


class TakesInWhatIsAstray(Wrong):
    """Keeps an item of another scope under its own."""

    breaks = "test_an_item_is_kept_in_the_scope_of_its_changes"

    async def apply(self, scope: Scope, changes: Changes, *, epoch: int | None = None) -> Applied:
        """Trusts the call, and writes over what the item says."""
        own = tuple(each.model_copy(update={"scope": scope}) for each in changes.add)
        return await super().apply(scope, _with(changes, own), epoch=epoch)


class CallsAddedReinforced(Wrong):
    """Says of what is new that it was met again."""

    breaks = "test_what_was_added_is_answered"

    async def apply(self, scope: Scope, changes: Changes, *, epoch: int | None = None) -> Applied:
        """Of two at once."""
        applied = await super().apply(scope, changes, epoch=epoch)
        again = applied.added if len(applied.added) == 2 else ()
        return applied.model_copy(update={"reinforced": (*applied.reinforced, *again)})


class RefusesNothing(Wrong):
    """Takes changes that change nothing for a mistake."""

    breaks = "test_empty_changes_change_nothing"

    async def apply(self, scope: Scope, changes: Changes, *, epoch: int | None = None) -> Applied:
        """Where there is nothing yet."""
        applied = await super().apply(scope, changes, epoch=epoch)
        if changes == Changes() and not self._state.items:
            raise InvalidInput("nothing to do")
        return applied


class SharesKeys(Wrong):
    """Says of a key that another scope has that it was taken."""

    breaks = "test_a_key_belongs_to_its_scope"

    async def apply(self, scope: Scope, changes: Changes, *, epoch: int | None = None) -> Applied:
        """Counts it in the wrong list."""
        others = {item.key for item in self._state.items.values() if item.scope != scope}
        applied = await super().apply(scope, changes, epoch=epoch)
        taken = {each.id for each in changes.add if each.key is not None and each.key in others}
        added = tuple(each for each in applied.added if each not in taken)
        return applied.model_copy(update={"added": added, "updated": (*applied.updated, *taken)})
