"""What `Store.apply` promises for items that are there: edits, endings, and the guard."""

from __future__ import annotations

import asyncio

import pytest

from memkit.contracts import Store
from memkit.decay import FOREVER
from memkit.errors import Forgotten
from memkit.models import Changes, Items, Patch, Supersession, WholeScope, new_id
from memkit.testing.clock import ManualClock
from memkit.testing.reading import EVERY_CHANNEL, NO_CHANNEL, all_items, channels, contents
from memkit.testing.suite import StoreSuite, immediate, only_where
from memkit.testing.values import (
    DAY,
    HERE,
    NOW,
    THERE,
    a_reinforcement,
    a_source,
    an_episode,
    an_item,
    tokens_of,
)


class ChangingRules(StoreSuite):
    """Editing, superseding, removing, reinforcing: by id, within one scope, whole or not at all."""

    async def test_a_patch_writes_only_the_fields_it_sets(self, store: Store) -> None:
        """Two patches of different fields never undo each other."""
        tea = an_item("Likes green tea", value={"cups": 2})
        await store.apply(HERE, Changes(add=(tea,)))
        applied = await store.apply(HERE, Changes(update=(Patch(id=tea.id, importance=0.9),)))
        await store.apply(HERE, Changes(update=(Patch(id=tea.id, kind="preference"),)))
        await store.apply(HERE, Changes(update=(Patch(id=tea.id, metadata={"by": "me"}),)))
        assert applied.updated == (tea.id,)
        expected = {"importance": 0.9, "kind": "preference", "metadata": {"by": "me"}}
        assert await store.get(HERE, [tea.id]) == [tea.model_copy(update=expected)]

    async def test_a_patch_may_set_a_value_to_null(self, store: Store) -> None:
        """A field that is set to None is written; one that is not set is not."""
        tea = an_item("Likes green tea", value={"cups": 2})
        await store.apply(HERE, Changes(add=(tea,)))
        await store.apply(HERE, Changes(update=(Patch(id=tea.id, value=None),)))
        assert await store.get(HERE, [tea.id]) == [tea.model_copy(update={"value": None})]

    async def test_a_patched_content_is_found_by_its_new_words_only(self, store: Store) -> None:
        """Index entries and content hash follow an edit."""
        tea, content = an_item("Likes green tea"), "Drinks oolong"
        await store.apply(HERE, Changes(add=(tea,)))
        patch = Patch(id=tea.id, content=content, tokens=tokens_of(content))
        assert await channels(store, tea) == EVERY_CHANNEL
        await store.apply(HERE, Changes(update=(patch,)))
        assert await channels(store, tea, content=content) == EVERY_CHANNEL
        assert await channels(store, tea) == {"strongest"}

    async def test_a_status_decides_whether_an_item_is_found(self, store: Store) -> None:
        """What is quarantined is not recalled until it is released."""
        tea = an_item("Likes green tea")
        await store.apply(HERE, Changes(add=(tea,)))
        await store.apply(HERE, Changes(update=(Patch(id=tea.id, status="quarantined"),)))
        assert await channels(store, tea) <= {"exact"}
        await store.apply(HERE, Changes(update=(Patch(id=tea.id, status="active"),)))
        assert await channels(store, tea) == EVERY_CHANNEL

    async def test_a_superseded_item_is_history(self, store: Store) -> None:
        """It is found no more, but still read, with what replaced it and until when it held."""
        old, new = an_item("Lives in Oslo"), an_item("Lives in Rome")
        await store.apply(HERE, Changes(add=(old,)))
        assert await channels(store, old) == EVERY_CHANNEL
        at = NOW + DAY
        applied = await store.apply(
            HERE, Changes(add=(new,), supersede=(Supersession(id=old.id, by=new.id, at=at),))
        )
        assert applied.superseded == (old.id,)
        assert await channels(store, old) == NO_CHANNEL
        ended = {"status": "superseded", "superseded_by": new.id, "valid_to": at}
        assert await store.get(HERE, [old.id]) == [old.model_copy(update=ended)]

    async def test_only_what_is_active_is_superseded(self, store: Store) -> None:
        """The first supersession stands; a later one of the same item changes nothing."""
        old = an_item("Lives in Oslo")
        await store.apply(HERE, Changes(add=(old,)))
        first, second = (Supersession(id=old.id, by=new_id(), at=NOW + n * DAY) for n in (1, 2))
        await store.apply(HERE, Changes(supersede=(first,)))
        once = await store.get(HERE, [old.id])
        applied = await store.apply(HERE, Changes(supersede=(second,)))
        assert applied.superseded == ()
        assert await store.get(HERE, [old.id]) == once

    async def test_a_removed_item_is_gone(self, store: Store) -> None:
        """`remove` deletes, index entries too, and answers with the ids it deleted."""
        tea = an_item("Likes green tea", key="drink")
        await store.apply(HERE, Changes(add=(tea,)))
        assert await channels(store, tea) == EVERY_CHANNEL
        assert (await store.apply(HERE, Changes(remove=(tea.id,)))).removed == (tea.id,)
        assert await store.get(HERE, [tea.id]) == []
        assert await store.by_key(HERE, "drink") is None
        assert await channels(store, tea) == NO_CHANNEL

    async def test_what_ends_makes_room_for_what_begins(self, store: Store) -> None:
        """Removing and superseding come first: nothing is merged into what the same changes end."""
        tea, dog = an_item("Likes tea", key="drink"), an_item("Owns a dog")
        await store.apply(HERE, Changes(add=(tea, dog)))
        anew = (an_item("Likes tea", key="drink"), an_item("Owns a dog"))
        end = Supersession(id=dog.id, by=anew[1].id, at=NOW)
        applied = await store.apply(HERE, Changes(add=anew, remove=(tea.id,), supersede=(end,)))
        assert applied.added == tuple(each.id for each in anew)

    async def test_a_reinforcement_lets_an_item_fade_later(self, store: Store) -> None:
        """New dates are taken, with their importance, if the item fades later by them."""
        tea = an_item("Likes green tea", importance=0.3)
        await store.apply(HERE, Changes(add=(tea,)))
        met = a_reinforcement(tea, importance=0.6, at=NOW + DAY)
        applied = await store.apply(HERE, Changes(reinforce=(met,)))
        assert applied.reinforced == (tea.id,)
        taken = met.model_dump(exclude={"id", "sources", "observed_at"})
        assert await store.get(HERE, [tea.id]) == [tea.model_copy(update=taken)]

    async def test_a_weaker_reinforcement_changes_no_date(self, store: Store) -> None:
        """An item never fades earlier because it was met again, in whatever order."""
        tea = an_item("Likes green tea", importance=0.9)
        await store.apply(HERE, Changes(add=(tea,)))
        weaker = a_reinforcement(tea, importance=0.2, at=NOW + DAY)
        await store.apply(HERE, Changes(reinforce=(weaker,)))
        assert await store.get(HERE, [tea.id]) == [tea]

    async def test_a_reinforcement_adds_its_sources_once(self, store: Store) -> None:
        """Sources only grow, stronger or weaker, and repeating a change doubles none."""
        first, second = an_episode("tea"), an_episode("tea!", session_id="s-2")
        tea = an_item("Likes green tea", importance=0.9, sources=[a_source(first)])
        await store.apply(HERE, Changes(add=(tea,)))
        met = a_reinforcement(tea, importance=0.2, at=NOW, sources=[a_source(second)])
        for _ in range(2):
            await store.apply(HERE, Changes(reinforce=(met,)))
        [kept] = await store.get(HERE, [tea.id])
        assert kept.sources == (a_source(first), a_source(second))

    async def test_a_reinforcement_keeps_the_later_observation(self, store: Store) -> None:
        """`observed_at` never goes back, and follows a meeting that moves no other date."""
        tea = an_item("Likes green tea", importance=0.9)
        await store.apply(HERE, Changes(add=(tea,)))
        for seen in (NOW + DAY, NOW - DAY):
            weaker = a_reinforcement(tea, importance=0.2, at=NOW)
            met = weaker.model_copy(update={"observed_at": seen})
            await store.apply(HERE, Changes(reinforce=(met,)))
            [kept] = await store.get(HERE, [tea.id])
            assert kept.observed_at == NOW + DAY

    async def test_a_pinned_item_stays_pinned_when_met(self, store: Store) -> None:
        """Meeting again what never fades leaves it so."""
        tea = an_item("Likes green tea", pinned=True)
        await store.apply(HERE, Changes(add=(tea,)))
        fading = an_item("Likes green tea", item_id=tea.id, at=NOW + DAY, importance=1.0)
        met = a_reinforcement(fading, importance=1.0, at=NOW + DAY)
        await store.apply(HERE, Changes(reinforce=(met,)))
        [kept] = await store.get(HERE, [tea.id])
        assert (kept.pinned, kept.policy) == (True, tea.policy)
        assert kept.fades_at >= FOREVER

    async def test_what_is_not_there_is_missing_and_the_rest_applied(self, store: Store) -> None:
        """Changes of unknown items are answered as `missing`; everything else takes place."""
        tea, gone = an_item("Likes green tea"), [new_id() for _ in range(4)]
        applied = await store.apply(
            HERE,
            Changes(
                add=(tea,),
                update=(Patch(id=gone[0], kind="preference"),),
                supersede=(Supersession(id=gone[1], by=tea.id, at=NOW),),
                remove=(gone[2],),
                reinforce=(a_reinforcement(an_item("x", item_id=gone[3]), importance=1, at=NOW),),
            ),
        )
        assert sorted(applied.missing) == sorted(gone)
        assert applied.added == (tea.id,)

    async def test_what_is_only_being_added_cannot_be_changed_yet(self, store: Store) -> None:
        """Edits come before additions: one of an item that the same changes add is `missing`."""
        tea = an_item("Likes green tea")
        patch = Patch(id=tea.id, kind="preference")
        applied = await store.apply(HERE, Changes(add=(tea,), update=(patch,)))
        assert (applied.added, applied.missing) == ((tea.id,), (tea.id,))
        assert await all_items(store) == [tea]

    async def test_what_is_foreign_is_missing_and_left_alone(self, store: Store) -> None:
        """An id of another scope is answered like an id nobody has, and nothing happens to it."""
        yours = [an_item(f"Yours {number}", scope=THERE, importance=0.2) for number in range(4)]
        await store.apply(THERE, Changes(add=tuple(yours)))
        applied = await store.apply(
            HERE,
            Changes(
                update=(Patch(id=yours[0].id, content="Stolen", tokens="stolen"),),
                supersede=(Supersession(id=yours[1].id, by=new_id(), at=NOW),),
                remove=(yours[2].id,),
                reinforce=(a_reinforcement(yours[3], importance=1.0, at=NOW + DAY),),
            ),
        )
        assert sorted(applied.missing) == sorted(each.id for each in yours)
        assert await all_items(store, THERE) == sorted(yours, key=lambda each: each.id)

    async def test_repeating_a_change_has_the_effect_of_one(self, store: Store) -> None:
        """A whole `Changes` repeated after an unknown outcome leaves the same memory."""
        old, dull, met = an_item("Lives in Oslo"), an_item("Dull"), an_item("Met", importance=0.2)
        await store.apply(HERE, Changes(add=(old, dull, met)))
        new = an_item("Lives in Rome")
        changes = Changes(
            add=(new,),
            update=(Patch(id=met.id, kind="preference"),),
            supersede=(Supersession(id=old.id, by=new.id, at=NOW),),
            remove=(dull.id,),
            reinforce=(a_reinforcement(met, importance=0.8, at=NOW + DAY),),
        )
        await store.apply(HERE, changes)
        once = await all_items(store)
        await store.apply(HERE, changes)
        assert await all_items(store) == once

    async def test_an_epoch_that_holds_lets_changes_in(self, store: Store) -> None:
        """The epoch a receipt names is the scope's own until the next forget."""
        receipt = await store.forget(WholeScope(scope=HERE), at=NOW)
        await store.apply(HERE, Changes(add=(an_item("Likes tea"),)), epoch=receipt.epoch)
        await store.forget(WholeScope(scope=THERE), at=NOW)
        await store.apply(HERE, Changes(add=(an_item("Owns a dog"),)), epoch=receipt.epoch)
        assert await contents(store, HERE) == ["Likes tea", "Owns a dog"]

    async def test_an_epoch_that_has_passed_lets_nothing_in(self, store: Store) -> None:
        """After a forget, work begun before it raises `Forgotten` and leaves nothing."""
        before = await store.forget(WholeScope(scope=HERE), at=NOW)
        tea = an_item("Likes green tea")
        await store.apply(HERE, Changes(add=(tea,)))
        after = await store.forget(Items(scope=HERE, ids=(tea.id,)), at=NOW)
        assert after.epoch > before.epoch
        with pytest.raises(Forgotten):
            await store.apply(HERE, Changes(add=(an_item("Late"),)), epoch=before.epoch)
        assert await contents(store) == []

    async def test_a_cancelled_change_is_whole_or_not_at_all(self, store: Store) -> None:
        """`apply` cancelled at any moment has carried out everything or nothing."""
        only_where(store.capabilities.transactions, "transactions")
        immediate(store)
        for ticks in range(12):
            pair = (an_item(f"First of {ticks}"), an_item(f"Second of {ticks}"))
            call = asyncio.ensure_future(store.apply(HERE, Changes(add=pair)))
            for _ in range(ticks):
                await asyncio.sleep(0)
            call.cancel()
            await asyncio.wait([call])
            assert len(await store.get(HERE, [each.id for each in pair])) in {0, 2}
        await store.apply(HERE, Changes(add=(an_item("Afterwards"),)))
        assert "Afterwards" in await contents(store)

    async def test_what_was_applied_is_there_after_reopening(
        self, store: Store, clock: ManualClock
    ) -> None:
        """A change is durable when `apply` returns, and so are epoch and tombstones."""
        tea, dog = an_item("Likes green tea", key="drink"), an_item("Owns a dog")
        await store.apply(HERE, Changes(add=(tea, dog)))
        receipt = await store.forget(Items(scope=HERE, ids=(dog.id,)), at=NOW)
        again = await self.reopen(store, clock)
        assert await all_items(again) == [tea]
        with pytest.raises(Forgotten):
            await again.apply(HERE, Changes(), epoch=receipt.epoch - 1)
        await again.aclose()
