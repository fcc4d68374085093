"""What `Store.forget` promises of every target: gone, with what came from it alone."""

from __future__ import annotations

from memkit.contracts import Store
from memkit.models import (
    Changes,
    Episode,
    Episodes,
    Items,
    MemoryItem,
    Messages,
    Session,
    Target,
    WholeScope,
)
from memkit.testing.clock import ManualClock
from memkit.testing.reading import (
    EVERY_CHANNEL,
    NO_CHANNEL,
    all_episodes,
    all_items,
    all_tombstones,
    channels,
    contents,
    texts,
)
from memkit.testing.suite import StoreSuite
from memkit.testing.values import (
    DAY,
    HERE,
    MINUTE,
    NOW,
    THERE,
    a_message,
    a_source,
    an_episode,
    an_item,
)

TEA = an_episode("I like tea", "Noted", keys=["t-1", "t-2"])
DOG = an_episode("My dog is Rex", session_id="s-2", keys=["d-1"])


async def remember(store: Store, *episodes: Episode, items: tuple[MemoryItem, ...]) -> None:
    """Record `episodes` and keep `items`, as a consolidation would have."""
    await store.append(episodes)
    for item in items:
        await store.apply(item.scope, Changes(add=(item,)))


class ForgettingRules(StoreSuite):
    """Forgetting: final, complete, and nothing beside the target."""

    async def test_a_whole_scope_is_forgotten(self, store: Store) -> None:
        """Items of every status, pinned ones too, and all evidence of a scope are gone."""
        items = (
            an_item("Likes tea", sources=[a_source(TEA)]),
            an_item("Pinned", pinned=True, key="pin"),
            an_item("Old", status="superseded"),
            an_item("Odd", status="quarantined"),
        )
        await remember(store, TEA, DOG, items=items)
        assert await channels(store, items[0]) == EVERY_CHANNEL
        receipt = await store.forget(WholeScope(scope=HERE), at=NOW)
        assert (receipt.items, receipt.episodes, receipt.messages) == (4, 2, 3)
        assert receipt.at == NOW
        assert (await all_items(store), await all_episodes(store)) == ([], [])
        assert await store.get(HERE, [each.id for each in items]) == []
        assert await store.by_key(HERE, "pin") is None
        assert await channels(store, items[0]) == NO_CHANNEL

    async def test_other_scopes_forget_nothing(self, store: Store) -> None:
        """Whatever one scope forgets, another with the same words, ids and keys keeps all."""
        yours = TEA.model_copy(update={"id": DOG.id, "scope": THERE, "home": THERE})
        tea = an_item("Likes tea", scope=THERE, sources=[a_source(yours)])
        await remember(store, TEA, yours, items=(tea,))
        targets: tuple[Target, ...] = (
            Items(scope=HERE, ids=(tea.id,)),
            Messages(scope=HERE, session_id="s-1", keys=("t-1",)),
            Episodes(scope=HERE, ids=(yours.id,)),
            Session(scope=HERE, session_id="s-1"),
            WholeScope(scope=HERE),
        )
        for target in targets:
            await store.forget(target, at=NOW)
        assert await all_episodes(store) == [yours]
        assert await all_items(store) == [tea]
        assert await all_tombstones(store, THERE) == []
        assert await channels(store, tea) == EVERY_CHANNEL

    async def test_a_whole_scope_is_a_home(self, store: Store) -> None:
        """What was recorded by others into this home goes with it; their own homes stay."""
        shared = HERE.project("user")
        into = an_episode("into the shared", scope=HERE, home=shared)
        own = an_episode("into my own", scope=HERE, session_id="s-2")
        await store.append([into, own])
        await store.forget(WholeScope(scope=shared), at=NOW)
        assert [each.id for each in await all_episodes(store)] == [own.id]

    async def test_a_session_is_forgotten(self, store: Store) -> None:
        """Its messages go, and what was learnt from them alone; other sessions stay."""
        tea = an_item("Likes tea", sources=[a_source(TEA)])
        dog = an_item("Has a dog", sources=[a_source(DOG)])
        await remember(store, TEA, DOG, items=(tea, dog, an_item("Told")))
        receipt = await store.forget(Session(scope=HERE, session_id="s-1"), at=NOW)
        assert (receipt.items, receipt.episodes, receipt.messages) == (1, 1, 2)
        assert await texts(store) == ["My dog is Rex"]
        assert await contents(store) == ["Has a dog", "Told"]
        assert await channels(store, tea) == NO_CHANNEL

    async def test_a_session_is_named_by_the_scope_it_was_recorded_with(self, store: Store) -> None:
        """Not by the home: two sessions of one name and one home are told apart."""
        narrow = HERE.project("user+agent")
        mine, other = an_episode("mine", scope=narrow, home=HERE), an_episode("other")
        await store.append([mine, other])
        await store.forget(Session(scope=narrow, session_id="s-1"), at=NOW)
        assert await texts(store) == ["other"]

    async def test_messages_are_forgotten_by_key(self, store: Store) -> None:
        """Only the messages named go; the rest of their episode stays in place."""
        tea = an_item("Likes tea", sources=[a_source(TEA)])
        note = an_item("Was noted", sources=[a_source(TEA, 1)])
        await remember(store, TEA, items=(tea, note))
        target = Messages(scope=HERE, session_id="s-1", keys=("t-1", "unknown"))
        receipt = await store.forget(target, at=NOW)
        assert (receipt.messages, receipt.items) == (1, 1)
        assert (await texts(store), await contents(store)) == (["Noted"], ["Was noted"])

    async def test_every_revision_of_a_message_is_forgotten(self, store: Store) -> None:
        """A key stands for all that was ever said under it."""
        await store.append(
            [an_episode("Rex", keys=["d-1"]), an_episode("Max", keys=["d-1"])], revise=True
        )
        receipt = await store.forget(Messages(scope=HERE, session_id="s-1", keys=("d-1",)), at=NOW)
        assert receipt.messages == 2
        assert await texts(store) == []

    async def test_episodes_are_forgotten_by_id(self, store: Store) -> None:
        """A source is revoked: its messages go, and what came from it alone."""
        tea = an_item("Likes tea", sources=[a_source(TEA, 1)])
        await remember(store, TEA, DOG, items=(tea,))
        receipt = await store.forget(Episodes(scope=HERE, ids=(TEA.id,)), at=NOW)
        assert (receipt.episodes, receipt.messages, receipt.items) == (1, 2, 1)
        assert (await texts(store), await contents(store)) == (["My dog is Rex"], [])

    async def test_items_are_forgotten_by_id(self, store: Store) -> None:
        """The items go, index entries too; the evidence stays."""
        tea, dog = an_item("Likes tea", sources=[a_source(TEA)]), an_item("Has a dog")
        await remember(store, TEA, items=(tea, dog))
        assert await channels(store, tea) == EVERY_CHANNEL
        receipt = await store.forget(Items(scope=HERE, ids=(tea.id,)), at=NOW)
        assert (receipt.items, receipt.messages) == (1, 0)
        assert await channels(store, tea) == NO_CHANNEL
        assert await contents(store) == ["Has a dog"]
        assert await texts(store) == ["I like tea", "Noted"]

    async def test_an_item_with_other_sources_keeps_those(self, store: Store) -> None:
        """What was learnt twice stays until both sources are forgotten."""
        both = an_item("Likes tea", sources=[a_source(TEA), a_source(DOG)])
        await remember(store, TEA, DOG, items=(both,))
        await store.forget(Session(scope=HERE, session_id="s-1"), at=NOW)
        [kept] = await all_items(store)
        assert kept == both.model_copy(update={"sources": (a_source(DOG),)})
        assert await channels(store, kept) == EVERY_CHANNEL
        await store.forget(Session(scope=HERE, session_id="s-2"), at=NOW)
        assert await all_items(store) == []

    async def test_what_was_told_stands_by_itself(self, store: Store) -> None:
        """An item that the host told stays, though it was heard in a forgotten session as well."""
        told = an_item("Likes tea")
        heard = an_item("Likes tea", sources=[a_source(TEA)])
        await remember(store, TEA, items=(told, heard))
        await store.forget(Session(scope=HERE, session_id="s-1"), at=NOW)
        [kept] = await all_items(store)
        assert (kept.id, kept.sources) == (told.id, ())

    async def test_what_a_scope_learnt_from_elsewhere_goes_with_its_source(
        self, store: Store
    ) -> None:
        """Items follow their sources into the home that the episode was recorded for."""
        home = HERE.project("user")
        said = an_episode("I like tea", home=home)
        tea = an_item("Likes tea", scope=home, sources=[a_source(said)])
        await remember(store, said, items=(tea,))
        await store.forget(Session(scope=HERE, session_id="s-1"), at=NOW)
        assert await all_items(store) == []

    async def test_forgetting_raises_the_epoch_of_the_home(self, store: Store) -> None:
        """Each forget that finds something raises the epoch of the home that it concerns."""
        home = HERE.project("user")
        first = await store.forget(WholeScope(scope=home), at=NOW)
        said = an_episode("I like tea", "Yes", keys=["t-1", "t-2"], home=home)
        tea = an_item("Likes tea", scope=home)
        await remember(store, said, items=(tea,))
        targets: tuple[Target, ...] = (
            Items(scope=home, ids=(tea.id,)),
            Messages(scope=HERE, session_id="s-1", keys=("t-1",)),
            Session(scope=HERE, session_id="s-1"),
            WholeScope(scope=home),
        )
        epochs = [first.epoch, *[(await store.forget(each, at=NOW)).epoch for each in targets]]
        assert epochs == sorted(set(epochs))

    async def test_each_removed_content_leaves_a_tombstone(self, store: Store) -> None:
        """A tombstone holds the scope, the hash and the date of a forgotten item, no content."""
        tea, dog = an_item("Likes tea"), an_item("Has a dog", pinned=True)
        await remember(store, items=(tea, dog))
        await store.forget(Items(scope=HERE, ids=(tea.id, dog.id)), at=NOW + MINUTE)
        stones = await all_tombstones(store, HERE)
        assert {(each.scope, each.content_hash, each.at) for each in stones} == {
            (HERE, item.content_hash, NOW + MINUTE) for item in (tea, dog)
        }

    async def test_forgetting_again_is_fine(self, store: Store) -> None:
        """The second receipt counts nothing, and what was never there is no error."""
        await remember(store, TEA, items=(an_item("Likes tea", sources=[a_source(TEA)]),))
        target = Session(scope=HERE, session_id="s-1")
        first = await store.forget(target, at=NOW)
        second = await store.forget(target, at=NOW + MINUTE)
        assert (first.items, first.episodes, first.messages) == (1, 1, 2)
        assert (second.items, second.episodes, second.messages) == (0, 0, 0)
        nothing = await store.forget(Items(scope=THERE, ids=("nobody",)), at=NOW)
        assert nothing.items == 0

    async def test_a_forgotten_history_is_not_recorded_again(self, store: Store) -> None:
        """Keys of forgotten messages stay: handed in again, whatever they say, they are skipped."""
        await store.append([TEA])
        await store.forget(Session(scope=HERE, session_id="s-1"), at=NOW)
        again = an_episode("I like tea", "Changed", keys=["t-1", "t-2"], at=NOW + DAY)
        for revise in (False, True):
            [answer] = await store.append([again], revise=revise)
            assert (answer.stored, answer.skipped) == (0, 2)
        assert await texts(store) == []
        [new] = await store.append([an_episode("I like tea", "Really", keys=["t-1", "t-3"])])
        assert (new.stored, await texts(store)) == (1, ["Really"])

    async def test_a_forgotten_content_stays_out_though_its_key_lives_on(
        self, store: Store
    ) -> None:
        """What a key said before it was revised does not come back once it was forgotten."""
        old = an_episode("My dog is Rex", keys=["d-1"])
        await store.append([old])
        await store.append([an_episode("My dog is Max", keys=["d-1"])], revise=True)
        await store.forget(Episodes(scope=HERE, ids=(old.id,)), at=NOW)
        for revise in (False, True):
            again = an_episode("My dog is Rex", keys=["d-1"], at=NOW + DAY)
            [answer] = await store.append([again], revise=revise)
            assert (answer.stored, answer.skipped) == (0, 1)
        assert await texts(store) == ["My dog is Max"]

    async def test_a_forgotten_episode_id_does_not_come_back(self, store: Store) -> None:
        """A late repeat of a call whose episode was forgotten meanwhile stores nothing."""
        unkeyed = an_episode("I like tea")
        await store.append([unkeyed])
        await store.forget(Episodes(scope=HERE, ids=(unkeyed.id,)), at=NOW)
        await store.append([unkeyed])
        assert await texts(store) == []

    async def test_forgotten_messages_still_count(self, store: Store) -> None:
        """The head stays, and `tail` lists their digests, so that histories still align."""
        await store.append([TEA])
        before = await store.tail(HERE, "s-1", limit=10)
        await store.forget(Session(scope=HERE, session_id="s-1"), at=NOW)
        after = await store.tail(HERE, "s-1", limit=10)
        assert (after.head, after.digests) == (before.head, before.digests)
        [answer] = await store.append([an_episode("new")])
        assert answer.head == 3

    async def test_of_a_forgotten_message_only_hashes_stay(self, store: Store) -> None:
        """Neither text nor name, metadata or key of it is in anything the store shows."""
        message = a_message("canary-1", key="canary-2").model_copy(
            update={"name": "canary-3", "metadata": {"canary-4": "canary-5"}}
        )
        await store.append([an_episode(message, "stays")])
        shown = [await all_episodes(store), await store.tail(HERE, "s-1", limit=9)]
        assert all(f"canary-{number}" in repr(shown) for number in range(1, 6))
        await store.forget(Messages(scope=HERE, session_id="s-1", keys=("canary-2",)), at=NOW)
        shown = [await all_episodes(store), await store.tail(HERE, "s-1", limit=9)]
        assert "canary" not in repr(shown)
        assert "stays" in repr(shown)

    async def test_what_was_forgotten_is_gone_after_reopening(
        self, store: Store, clock: ManualClock
    ) -> None:
        """A forget is durable when it returns."""
        tea = an_item("Likes tea", sources=[a_source(TEA)])
        await remember(store, TEA, DOG, items=(tea,))
        await store.forget(Session(scope=HERE, session_id="s-1"), at=NOW)
        again = await self.reopen(store, clock)
        assert (await texts(again), await contents(again)) == (["My dog is Rex"], [])
        assert await channels(again, tea) == NO_CHANNEL
        await again.aclose()
