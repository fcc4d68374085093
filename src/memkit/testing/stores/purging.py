"""What `Store.purge` promises: what is past its time goes, and only that."""

from __future__ import annotations

from datetime import timedelta

import pytest

from memkit.contracts import Store
from memkit.errors import InvalidInput
from memkit.models import Changes, Purged, utcnow
from memkit.testing.clock import ManualClock
from memkit.testing.reading import (
    EVERY_CHANNEL,
    NO_CHANNEL,
    all_items,
    all_tombstones,
    channels,
    contents,
    everything,
    texts,
)
from memkit.testing.suite import StoreSuite
from memkit.testing.values import DAY, HERE, NOW, a_source, an_episode, an_item

TICK = timedelta(microseconds=1)


class PurgingRules(StoreSuite):
    """Decay as deletion by date: at any time, any number of times, with the same result."""

    async def test_what_is_past_its_time_is_deleted(self, store: Store) -> None:
        """Items go at or after their `expires_at`, and not a microsecond before."""
        past, due = an_item("Past", ttl=DAY - TICK), an_item("Due", ttl=DAY)
        future = an_item("Future", ttl=DAY + TICK)
        await store.apply(HERE, Changes(add=(past, due, future)))
        purged = await store.purge(now=NOW + DAY)
        assert sorted(purged.item_ids) == sorted([past.id, due.id])
        assert await all_items(store) == [future]

    async def test_what_never_fades_is_never_purged(self, store: Store) -> None:
        """Pinned items outlast any date, however unimportant."""
        pinned = an_item("Pinned", pinned=True, importance=0.0)
        await store.apply(HERE, Changes(add=(pinned, an_item("Fades"))))
        purged = await store.purge(now=NOW + 5000 * DAY, force=True)
        assert pinned.id not in purged.item_ids
        assert await all_items(store) == [pinned]

    async def test_every_status_is_purged(self, store: Store) -> None:
        """History and quarantine have their time too."""
        items = (
            an_item("Old", ttl=DAY, status="superseded"),
            an_item("Odd", ttl=DAY, status="quarantined"),
        )
        await store.apply(HERE, Changes(add=items))
        assert len((await store.purge(now=NOW + DAY)).item_ids) == 2
        assert await all_items(store) == []

    async def test_purged_items_leave_no_index_entry(self, store: Store) -> None:
        """What was purged is not found by any channel, with whatever clock one asks."""
        tea = an_item("Likes tea", ttl=DAY)
        await store.apply(HERE, Changes(add=(tea,)))
        assert await channels(store, tea) == EVERY_CHANNEL
        await store.purge(now=NOW + DAY)
        assert await channels(store, tea) == NO_CHANNEL

    async def test_a_purged_item_may_be_learnt_again(self, store: Store) -> None:
        """Decay leaves no tombstone: the same evidence may teach the same once more."""
        tea = an_item("Likes tea", ttl=DAY, sources=[a_source(an_episode("I like tea"))])
        await store.apply(HERE, Changes(add=(tea,)))
        await store.purge(now=NOW + DAY)
        assert await all_tombstones(store) == []
        again = tea.model_copy(update={"id": an_item("x").id})
        assert (await store.apply(HERE, Changes(add=(again,)))).added == (again.id,)

    async def test_episodes_lose_their_bodies_in_time(self, store: Store) -> None:
        """Episodes go by their own `expires_at`; those without one stay."""
        old = an_episode("old", expires_at=NOW + DAY)
        young = an_episode("young", expires_at=NOW + DAY + TICK)
        await store.append([old, young, an_episode("for ever")])
        purged = await store.purge(now=NOW + DAY)
        assert purged.episode_ids == (old.id,)
        assert sorted(await texts(store)) == ["for ever", "young"]

    async def test_a_purged_history_is_not_recorded_again(self, store: Store) -> None:
        """Keys and digests stay: a history handed in later is still known."""
        await store.append([an_episode("one", "two", keys=["m-1", "m-2"], expires_at=NOW + DAY)])
        before = await store.tail(HERE, "s-1", limit=5)
        await store.purge(now=NOW + DAY)
        after = await store.tail(HERE, "s-1", limit=5)
        assert (after.head, after.digests) == (before.head, before.digests)
        again = an_episode("one", "two", "three", keys=["m-1", "m-2", "m-3"])
        [answer] = await store.append([again])
        assert (answer.stored, answer.skipped, await texts(store)) == (1, 2, ["three"])

    async def test_episodes_that_expired_unread_are_counted(self, store: Store) -> None:
        """`unread` says how many episodes went before they were consolidated."""
        await store.append([an_episode("a", expires_at=NOW), an_episode("b", expires_at=NOW)])
        purged = await store.purge(now=NOW)
        assert (len(purged.episode_ids), purged.unread) == (2, 2)
        assert (await store.stats(HERE)).pending == 0

    async def test_a_dry_run_deletes_nothing(self, store: Store) -> None:
        """`dry_run` answers with what a purge would delete, and leaves everything."""
        await store.apply(HERE, Changes(add=(an_item("Tea", ttl=DAY), an_item("Stays"))))
        await store.append([an_episode("a", expires_at=NOW + DAY)])
        before = await everything(store)
        foreseen = await store.purge(now=NOW + DAY, dry_run=True)
        assert await everything(store) == before
        assert await store.purge(now=NOW + DAY) == foreseen
        assert (len(foreseen.item_ids), len(foreseen.episode_ids)) == (1, 1)

    async def test_a_pass_is_cut_short_at_its_limit_and_says_so(self, store: Store) -> None:
        """At most `limit` rows go at once, `more` says whether to call again, and it ends."""
        await store.apply(HERE, Changes(add=tuple(an_item(f"Item {n}", ttl=DAY) for n in range(3))))
        await store.append(
            [an_episode("a", session_id=f"s-{n}", expires_at=NOW + DAY) for n in range(2)]
        )
        passes = [await store.purge(now=NOW + DAY, limit=2) for _ in range(3)]
        sizes = [len(each.item_ids) + len(each.episode_ids) for each in passes]
        assert (sizes, [each.more for each in passes]) == ([2, 2, 1], [True, True, False])
        assert (await contents(store), await texts(store)) == ([], [])

    async def test_purging_again_changes_nothing(self, store: Store) -> None:
        """A pass that finds nothing past its time answers empty."""
        await store.apply(HERE, Changes(add=(an_item("Tea", ttl=DAY), an_item("Stays"))))
        assert (await store.purge(now=NOW + DAY)).item_ids != ()
        before = await everything(store)
        assert await store.purge(now=NOW + DAY) == Purged()
        assert await everything(store) == before

    async def test_a_clock_far_ahead_is_not_believed(
        self, store: Store, clock: ManualClock
    ) -> None:
        """`now` more than a day ahead of the store's clock is refused, unless forced."""
        await store.apply(HERE, Changes(add=(an_item("Tea"),)))
        # Whether the store goes by the test's clock or by the real one.
        ahead = max(clock(), utcnow()) + DAY + timedelta(minutes=10)
        for dry_run in (False, True):
            with pytest.raises(InvalidInput):
                await store.purge(now=ahead, dry_run=dry_run)
        assert await contents(store) == ["Tea"]
        await store.purge(now=ahead + 400 * DAY, force=True)
        assert await contents(store) == []
