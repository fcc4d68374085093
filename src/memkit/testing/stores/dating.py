"""What `Store.apply` promises for the dates of an item that several change at once."""

from __future__ import annotations

from memkit.contracts import Store
from memkit.decay import Policy
from memkit.models import Changes, Patch
from memkit.testing.reading import EVERY_CHANNEL, NO_CHANNEL, channels
from memkit.testing.suite import StoreSuite
from memkit.testing.values import DAY, HERE, NOW, a_reinforcement, a_source, an_episode, an_item


class DatingRules(StoreSuite):
    """When an item fades is one decision, made of what it was: none is written over another."""

    async def test_an_end_of_its_own_outlasts_reinforcement(self, store: Store) -> None:
        """However late an item comes to fade, it ends when its time to live is up."""
        tea = an_item("Likes green tea", importance=0.1, ttl=20 * DAY)
        assert tea.expires_at == tea.fades_at
        await store.apply(HERE, Changes(add=(tea,)))
        met = a_reinforcement(tea, importance=1.0, at=NOW + DAY)
        await store.apply(HERE, Changes(reinforce=(met,)))
        await store.apply(HERE, Changes(add=(an_item("likes green TEA", at=NOW + 2 * DAY),)))
        [kept] = await store.get(HERE, [tea.id])
        assert (kept.ends_at, kept.expires_at) == (NOW + 20 * DAY, NOW + 20 * DAY)
        assert await channels(store, tea, now=NOW + 19 * DAY) == EVERY_CHANNEL
        assert await channels(store, tea, now=NOW + 21 * DAY) == NO_CHANNEL
        assert (await store.purge(now=NOW + 21 * DAY, force=True)).item_ids == (tea.id,)

    async def test_a_patch_may_take_an_end_away(self, store: Store) -> None:
        """`ends_at` is written like any field, to nothing as well."""
        tea = an_item("Likes green tea", ttl=DAY)
        await store.apply(HERE, Changes(add=(tea,)))
        for ends_at in (NOW + 2 * DAY, None):
            await store.apply(HERE, Changes(update=(Patch(id=tea.id, ends_at=ends_at),)))
            changed = tea.model_copy(update={"ends_at": ends_at})
            assert await store.get(HERE, [tea.id]) == [changed]
        assert await channels(store, tea, now=NOW + 9 * DAY) == EVERY_CHANNEL

    async def test_a_patch_of_what_has_changed_is_stale(self, store: Store) -> None:
        """With `if_fades_at`, a patch is for the item that was read, and for no later state."""
        tea = an_item("Likes green tea", importance=0.5)
        await store.apply(HERE, Changes(add=(tea,)))
        for importance, at in ((0.9, tea.fades_at), (0.1, tea.fades_at)):
            fades_at = Policy().fades_at(importance, NOW)
            patch = Patch(id=tea.id, importance=importance, fades_at=fades_at, if_fades_at=at)
            applied = await store.apply(HERE, Changes(update=(patch,)))
            is_first = importance == 0.9
            assert applied.updated == ((tea.id,) if is_first else ())
            assert applied.stale == (() if is_first else (tea.id,))
        expected = {"importance": 0.9, "fades_at": Policy().fades_at(0.9, NOW)}
        assert await store.get(HERE, [tea.id]) == [tea.model_copy(update=expected)]

    async def test_dates_of_what_was_pinned_are_not_taken(self, store: Store) -> None:
        """An item unpinned since it was met fades by its own dates, and keeps the evidence."""
        tea = an_item("Likes green tea")
        await store.apply(HERE, Changes(add=(tea,)))
        pinned, source = an_item("Likes green tea", item_id=tea.id, pinned=True), an_episode("tea")
        met = a_reinforcement(pinned, importance=0.9, at=NOW, sources=[a_source(source)])
        applied = await store.apply(HERE, Changes(reinforce=(met,)))
        assert applied.reinforced == (tea.id,)
        kept = tea.model_copy(update={"sources": (a_source(source),)})
        assert await store.get(HERE, [tea.id]) == [kept]
