"""What `Store.get`, `Store.by_key`, `Store.scan` and `Store.stats` promise."""

from __future__ import annotations

from memkit.contracts import Store
from memkit.models import Changes, Items, Stats, new_id
from memkit.testing.reading import all_episodes, all_items, all_jobs, all_tombstones
from memkit.testing.suite import StoreSuite
from memkit.testing.values import (
    DAY,
    HERE,
    MINUTE,
    NOW,
    THERE,
    a_source,
    an_episode,
    an_item,
    numbered,
)


class ReadingRules(StoreSuite):
    """Reading by id, by key and page by page."""

    async def test_get_answers_in_the_order_asked(self, store: Store) -> None:
        """Items come in the order of their ids in the call; asking for none gives none."""
        items = [an_item(f"Item {number}") for number in range(4)]
        await store.apply(HERE, Changes(add=tuple(items)))
        asked = [items[2], items[0], items[3], items[1]]
        assert await store.get(HERE, [each.id for each in asked]) == asked
        assert await store.get(HERE, []) == []

    async def test_absent_and_foreign_look_the_same(self, store: Store) -> None:
        """Ids that nobody has and ids of another scope are left out alike."""
        mine, yours = an_item("Mine"), an_item("Yours", scope=THERE, key="editor")
        await store.apply(HERE, Changes(add=(mine,)))
        await store.apply(THERE, Changes(add=(yours,)))
        assert await store.get(HERE, [yours.id, mine.id, new_id()]) == [mine]
        assert await store.get(THERE, [yours.id]) == [yours]
        assert await store.by_key(HERE, "editor") is None
        assert await store.by_key(THERE, "editor") == yours

    async def test_get_shows_every_status_and_what_has_expired(self, store: Store) -> None:
        """Until it is purged an item is read by id, whatever its status or its dates."""
        items = [
            an_item("Old", status="superseded"),
            an_item("Odd", status="quarantined"),
            an_item("Faded", at=NOW - 400 * DAY),
        ]
        await store.apply(HERE, Changes(add=tuple(items)))
        assert await store.get(HERE, [each.id for each in items]) == items

    async def test_a_key_names_one_item(self, store: Store) -> None:
        """`by_key` returns the item that carries the key, and None for a key nobody has."""
        vim, tea = an_item("Vim", key="Editor"), an_item("Tea")
        await store.apply(HERE, Changes(add=(vim, tea)))
        assert await store.by_key(HERE, "Editor") == vim
        assert await store.by_key(HERE, "editor") is None

    async def test_a_scan_is_in_rising_order_of_id(self, store: Store) -> None:
        """Every sort of row has the one total order, whatever the order of writing."""
        numbers = (3, 1, 4, 2)
        items = tuple(an_item(f"Item {n}", item_id=numbered(n)) for n in numbers)
        await store.apply(HERE, Changes(add=items))
        await store.append([an_episode("hi", episode_id=numbered(n)) for n in numbers])
        expected = [numbered(n) for n in sorted(numbers)]
        assert [each.id for each in await all_items(store, HERE)] == expected
        assert [each.id for each in await all_episodes(store, HERE)] == expected

    async def test_pages_join_without_a_seam(self, store: Store) -> None:
        """`after` resumes behind a page of at most `limit` rows; None means that was the end."""
        items = [an_item(f"Item {n}", item_id=numbered(n)) for n in range(5)]
        await store.apply(HERE, Changes(add=tuple(items)))
        page = await store.scan("items", scope=HERE, limit=2)
        assert (len(page.rows), page.after is not None) == (2, True)
        for limit in (1, 2, 5, 6):
            assert await all_items(store, HERE, limit=limit) == items

    async def test_pages_bear_with_rows_that_come_and_go(self, store: Store) -> None:
        """What is written or deleted meanwhile makes no other row appear twice or be missed."""
        items = [an_item(f"Item {n}", item_id=numbered(n * 10)) for n in range(6)]
        await store.apply(HERE, Changes(add=tuple(items)))
        first = await store.scan("items", scope=HERE, limit=3)
        late = an_item("Came late", item_id=numbered(5))
        gone = (items[0].id, items[2].id)
        await store.apply(HERE, Changes(add=(late,), remove=gone))
        second = await store.scan("items", scope=HERE, after=first.after, limit=3)
        assert [*first.rows, *second.rows] == items

    async def test_a_scan_stays_in_its_scope(self, store: Store) -> None:
        """With a scope only its rows are listed; without one the whole store is."""
        for scope in (HERE, THERE):
            tea = an_item("Likes tea", scope=scope)
            await store.append([an_episode("hi", scope=scope)])
            await store.apply(scope, Changes(add=(tea, an_item("Owns a dog", scope=scope))))
            await store.forget(Items(scope=scope, ids=(tea.id,)), at=NOW)
        for read in (all_items, all_episodes, all_tombstones):
            here, there = await read(store, HERE), await read(store, THERE)
            assert (len(here), len(there)) == (1, 1)
            whole = await read(store)
            assert sorted(each.id for each in whole) == sorted(each.id for each in here + there)
        assert await all_jobs(store) == []

    async def test_episodes_are_listed_by_their_home(self, store: Store) -> None:
        """For episodes the scope of a scan is the one that what they teach is kept under."""
        said = HERE.project("user+agent")
        await store.append([an_episode("hi", scope=said, home=HERE)])
        assert len(await all_episodes(store, HERE)) == 1
        assert await all_episodes(store, said) == []

    async def test_a_session_narrows_a_scan(self, store: Store) -> None:
        """With `session_id`: its episodes, and the items with any source in it."""
        one, two = an_episode("tea"), an_episode("dog", session_id="s-2")
        await store.append([one, two])
        tea = an_item("Tea", sources=[a_source(one)])
        both = an_item("Both", sources=[a_source(one), a_source(two)])
        await store.apply(HERE, Changes(add=(tea, both, an_item("Told"))))
        assert [each.id for each in await all_episodes(store, HERE, session_id="s-2")] == [two.id]
        assert await all_items(store, HERE, session_id="s-2") == [both]
        assert len(await all_items(store, HERE, session_id="s-1")) == 2
        assert await all_items(store, HERE, session_id="s-3") == []

    async def test_counts_are_true(self, store: Store) -> None:
        """`stats` counts items by kind, policy and status, episodes, messages, and what waits."""
        await store.append(
            [an_episode("a", "b", at=NOW - MINUTE), an_episode("c", session_id="s-2", at=NOW)]
        )
        await store.apply(
            HERE,
            Changes(
                add=(
                    an_item("Tea", kind="preference"),
                    an_item("Pinned", pinned=True),
                    an_item("Old", status="superseded"),
                    an_item("Odd", status="quarantined"),
                )
            ),
        )
        stats = await store.stats(HERE)
        assert (stats.kinds, stats.policies) == (
            {"preference": 1, "semantic": 3},
            {an_item("x").policy: 3, "never": 1},
        )
        assert (stats.superseded, stats.quarantined, stats.pinned) == (1, 1, 1)
        assert (stats.episodes, stats.messages, stats.pending, stats.dead) == (2, 3, 2, 0)
        assert (stats.scopes, stats.oldest_pending_at) == (1, NOW - MINUTE)

    async def test_counts_stay_in_their_scope(self, store: Store) -> None:
        """A scope's counts know nothing of others; without a scope all are counted."""
        assert await store.stats() == await store.stats(HERE) == Stats()
        for scope in (HERE, THERE):
            await store.append([an_episode("a", "b", scope=scope)])
            await store.apply(scope, Changes(add=(an_item("Tea", scope=scope),)))
        here, whole = await store.stats(HERE), await store.stats()
        assert (here.kinds, here.messages, here.scopes) == ({"semantic": 1}, 2, 1)
        assert (whole.kinds, whole.messages, whole.scopes) == ({"semantic": 2}, 4, 2)
        assert await store.stats(HERE.project("user")) == Stats()
