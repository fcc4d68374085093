"""Stores that purge wrongly."""

from __future__ import annotations

from datetime import timedelta
from typing import Unpack

from memkit.contracts import Clock
from memkit.inmemory.state import tombstone_id
from memkit.models import Candidates, MemoryItem, Purged, Query, Tombstone
from memkit.testing.wrong.store import Sweep, Wrong

TICK = timedelta(microseconds=1)


class PurgesEarly(Wrong):
    """Deletes items a moment before their time."""

    breaks = "test_what_is_past_its_time_is_deleted"

    async def purge(self, **how: Unpack[Sweep]) -> Purged:
        """Rounds up."""
        purged = await super().purge(**how)
        for item in list(self._state.items.values()):
            if item.expires_at == how["now"] + TICK:
                self._state.drop(item.id)
        return purged


class PurgesThePinned(Wrong):
    """Deletes by importance, pinned or not."""

    breaks = "test_what_never_fades_is_never_purged"

    async def purge(self, **how: Unpack[Sweep]) -> Purged:
        """Nothing may be as unimportant as that."""
        weak = tuple(each.id for each in self._state.items.values() if not each.importance)
        purged = await super().purge(**how)
        for item_id in weak:
            self._state.drop(item_id)
        return purged.model_copy(update={"item_ids": (*purged.item_ids, *weak)})


class PurgesTheActive(Wrong):
    """Deletes only what is active."""

    breaks = "test_every_status_is_purged"

    async def purge(self, **how: Unpack[Sweep]) -> Purged:
        """History has no end."""
        before = [each for each in self._state.items.values() if each.status != "active"]
        purged = await super().purge(**how)
        for item in before:
            self._state.put(item)
        return purged


class LeavesPurgedInTheIndex(Wrong):
    """Deletes the row, and not its index entries."""

    breaks = "test_purged_items_leave_no_index_entry"

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self._gone: list[MemoryItem] = []

    async def purge(self, **how: Unpack[Sweep]) -> Purged:
        """What is gone is still indexed."""
        before = list(self._state.items.values())
        purged = await super().purge(**how)
        self._gone += [each for each in before if each.id not in self._state.items]
        return purged

    async def find(self, query: Query) -> Candidates:
        """Finds what the index knows."""
        for item in self._gone:
            self._state.put(item)
        found = await super().find(query)
        for item in self._gone:
            self._state.drop(item.id)
        return found


class BuriesWhatFaded(Wrong):
    """Leaves a tombstone for what is merely past its time."""

    breaks = "test_a_purged_item_may_be_learnt_again"

    async def purge(self, **how: Unpack[Sweep]) -> Purged:
        """Takes fading for forgetting."""
        before = list(self._state.items.values())
        purged = await super().purge(**how)
        for item in before if not how.get("dry_run") else ():
            if item.id in purged.item_ids and item.sources:
                stone = tombstone_id(item.scope, item.content_hash)
                self._state.tombstones[stone] = Tombstone(
                    id=stone, scope=item.scope, content_hash=item.content_hash, at=how["now"]
                )
        return purged


class PurgesWithoutADate(Wrong):
    """Takes no `expires_at` for long ago."""

    breaks = "test_episodes_lose_their_bodies_in_time"

    async def purge(self, **how: Unpack[Sweep]) -> Purged:
        """NULL is smaller than everything."""
        purged = await super().purge(**how)
        for row in self._state.episodes.values() if purged.episode_ids else ():
            if row.skeleton.expires_at is None and row.session[1] == "s-1":
                row.bodies.clear()
        return purged


class PurgesKeysToo(Wrong):
    """Forgets the keys of what it purges."""

    breaks = "test_a_purged_history_is_not_recorded_again"

    async def purge(self, **how: Unpack[Sweep]) -> Purged:
        """A history handed in later is new."""
        purged = await super().purge(**how)
        for log in self._state.sessions.values() if purged.episode_ids else ():
            log.newest.clear()
            for entry in log.entries:
                entry.key_hash = None
        return purged


class CountsNoUnread(Wrong):
    """Says nothing of episodes that nobody read."""

    breaks = "test_episodes_that_expired_unread_are_counted"

    async def purge(self, **how: Unpack[Sweep]) -> Purged:
        """All is well."""
        return (await super().purge(**how)).model_copy(update={"unread": 0})


class PurgesWhenAsked(Wrong):
    """Deletes what it was only asked about."""

    breaks = "test_a_dry_run_deletes_nothing"

    async def purge(self, **how: Unpack[Sweep]) -> Purged:
        """`dry_run` is not looked at."""
        how["dry_run"] = False
        return await super().purge(**how)


class PurgesWithoutLimit(Wrong):
    """Deletes everything at once."""

    breaks = "test_a_pass_is_cut_short_at_its_limit_and_says_so"

    async def purge(self, **how: Unpack[Sweep]) -> Purged:
        """`limit` is not looked at."""
        how["limit"] = 1_000_000
        return await super().purge(**how)


class PurgesForEver(Wrong):
    """Says that there is more when there was nothing."""

    breaks = "test_purging_again_changes_nothing"

    async def purge(self, **how: Unpack[Sweep]) -> Purged:
        """A caller that loops never ends."""
        purged = await super().purge(**how)
        nothing = not purged.item_ids and not purged.episode_ids
        return purged.model_copy(update={"more": purged.more or nothing})


class BelievesAnyClock(Wrong):
    """Purges at whatever time it is given."""

    breaks = "test_a_clock_far_ahead_is_not_believed"

    async def purge(self, **how: Unpack[Sweep]) -> Purged:
        """A wrong clock empties the memory."""
        how["force"] = True
        return await super().purge(**how)
