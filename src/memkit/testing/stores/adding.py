"""What `Store.apply` promises for items that are added."""

from __future__ import annotations

from datetime import timedelta, timezone

from memkit.contracts import Store
from memkit.decay import Policy
from memkit.models import Changes, Items, MemoryItem, Patch, new_id
from memkit.testing.reading import EVERY_CHANNEL, all_items, channels, contents
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
    tokens_of,
)

WHOLE = MemoryItem(
    id=numbered(1),
    scope=HERE,
    content="Prefers FastAPI,\n\tand tea at 07:30",
    kind="preference",
    importance=0.123456789012345,
    created_at=NOW - DAY,
    observed_at=NOW - timedelta(microseconds=1),
    reinforced_at=(NOW - MINUTE).astimezone(timezone(timedelta(hours=5, minutes=45))),
    policy=Policy(0.9, 0.1).name,
    fades_at=NOW + 3 * DAY,
    ends_at=NOW + 2 * DAY,
    status="quarantined",
    valid_from=NOW - 40 * DAY,
    valid_to=NOW + 400 * DAY,
    superseded_by=numbered(2),
    sources=(a_source(an_episode("a", "b", keys=["m-1"])), a_source(an_episode("a", "b"), 1)),
    origin="assistant",
    job_id=numbered(3),
    model="openai:gpt-4o",
    key="profile/editor",
    value={"π": [1, -0.5, 1e-9, 9007199254740993, True, None, "\u2028"], "": {}},
    metadata={"tags": ["a", "b"], "deep": {"er": [[]]}},
    tokens="prefer fastapi tea 07 30",
)


class AddingRules(StoreSuite):
    """Remembering: whole, once, and under the right scope."""

    async def test_an_item_comes_back_as_it_was_given(self, store: Store) -> None:
        """Every field of an item is kept exactly: dates to the microsecond, values as JSON."""
        await store.apply(HERE, Changes(add=(WHOLE,)))
        assert await store.get(HERE, [WHOLE.id]) == [WHOLE]
        assert await all_items(store, HERE) == [WHOLE]

    async def test_what_was_added_is_answered(self, store: Store) -> None:
        """`added` lists the ids of new items."""
        tea, code = an_item("Likes green tea"), an_item("Writes Python")
        applied = await store.apply(HERE, Changes(add=(tea, code)))
        assert sorted(applied.added) == sorted([tea.id, code.id])
        assert (applied.reinforced, applied.blocked, applied.missing) == ((), (), ())

    async def test_empty_changes_change_nothing(self, store: Store) -> None:
        """Nothing to do is done, in a scope nobody has used as well."""
        applied = await store.apply(HERE, Changes())
        assert applied.model_dump(exclude_defaults=True) == {}
        assert await all_items(store) == []

    async def test_an_id_that_is_there_is_left_as_it_is(self, store: Store) -> None:
        """Repeating an `add` changes nothing, whatever became of the item or of the repeat."""
        tea = an_item("Likes green tea")
        await store.apply(HERE, Changes(add=(tea,)))
        await store.apply(HERE, Changes(add=(tea,)))
        await store.apply(HERE, Changes(add=(an_item("Likes coffee", item_id=tea.id),)))
        assert await all_items(store) == [tea]

    async def test_a_key_taken_replaces_what_it_holds(self, store: Store) -> None:
        """An item whose `key` another one has gives it content and values, and the id stays."""
        old = an_item("Uses vim", key="editor", value={"name": "vim"})
        new = an_item("Uses Emacs", key="editor", value={"name": "emacs"}, kind="preference")
        await store.apply(HERE, Changes(add=(old,)))
        applied = await store.apply(HERE, Changes(add=(new,)))
        assert (applied.updated, applied.added) == ((old.id,), ())
        kept = await store.by_key(HERE, "editor")
        assert kept is not None
        assert (kept.id, kept.content, kept.value, kept.kind, kept.tokens) == (
            (old.id, new.content, new.value, new.kind, new.tokens)
        )
        assert await all_items(store) == [kept]

    async def test_a_replaced_content_is_found_by_its_new_words_only(self, store: Store) -> None:
        """Index entries follow the content that a key holds."""
        old, new = an_item("Uses vim", key="editor"), an_item("Edits with Emacs", key="editor")
        await store.apply(HERE, Changes(add=(old,)))
        assert await channels(store, old) == EVERY_CHANNEL
        await store.apply(HERE, Changes(add=(new,)))
        assert await channels(store, old, content=new.content) == EVERY_CHANNEL
        assert await channels(store, old) == {"strongest"}

    async def test_a_key_belongs_to_its_scope(self, store: Store) -> None:
        """The same key in another scope is another item."""
        mine, yours = an_item("Vim", key="editor"), an_item("Emacs", key="editor", scope=THERE)
        await store.apply(HERE, Changes(add=(mine,)))
        applied = await store.apply(THERE, Changes(add=(yours,)))
        assert applied.added == (yours.id,)
        assert await store.by_key(HERE, "editor") == mine
        assert await store.by_key(THERE, "editor") == yours

    async def test_the_same_content_reinforces_what_is_there(self, store: Store) -> None:
        """An item without key whose folded content is known makes that one fade later."""
        known = an_item("Likes green tea", at=NOW - 5 * DAY)
        again = an_item("  LIKES\tgreen  TEA ", at=NOW)
        await store.apply(HERE, Changes(add=(known,)))
        applied = await store.apply(HERE, Changes(add=(again,)))
        assert (applied.reinforced, applied.added) == ((known.id,), ())
        [kept] = await all_items(store)
        assert (kept.id, kept.content) == (known.id, known.content)
        assert (kept.fades_at, kept.expires_at) == (again.fades_at, again.expires_at)
        assert (kept.importance, kept.reinforced_at) == (again.importance, again.reinforced_at)

    async def test_the_same_content_adds_its_sources(self, store: Store) -> None:
        """What is met again keeps the sources of both meetings, each once."""
        first, second = an_episode("I like tea"), an_episode("As I said", session_id="s-2")
        for episode in (first, second, second):
            tea = an_item("Likes green tea", sources=[a_source(episode)])
            await store.apply(HERE, Changes(add=(tea,)))
        [kept] = await all_items(store)
        assert kept.sources == (a_source(first), a_source(second))

    async def test_the_same_content_is_observed_anew(self, store: Store) -> None:
        """What is met again was observed when it was said last, in whatever order that came."""
        tea = an_item("Likes green tea")
        for seen in (NOW - DAY, NOW, NOW - MINUTE):
            met = tea.model_copy(update={"id": new_id(), "observed_at": seen})
            await store.apply(HERE, Changes(add=(met,)))
        [kept] = await all_items(store)
        assert kept.observed_at == NOW

    async def test_the_same_content_twice_in_one_change_is_one_item(self, store: Store) -> None:
        """Duplicates within one `Changes` are met as duplicates are."""
        twins = (an_item("Likes green tea"), an_item("likes GREEN tea"))
        applied = await store.apply(HERE, Changes(add=twins))
        assert (applied.added, applied.reinforced) == ((twins[0].id,), (twins[0].id,))
        assert await contents(store) == ["Likes green tea"]

    async def test_of_several_duplicates_the_first_id_is_met(self, store: Store) -> None:
        """Edits may leave two items of one content: which is reinforced is no accident."""
        dog, tea = (an_item(f"Item {n}", item_id=numbered(n)) for n in (1, 2))
        await store.apply(HERE, Changes(add=(tea, dog)))
        for item in (tea, dog):
            words = {"content": "Likes tea", "tokens": tokens_of("Likes tea")}
            patch = Patch.model_validate({"id": item.id, **words})
            await store.apply(HERE, Changes(update=(patch,)))
        applied = await store.apply(HERE, Changes(add=(an_item("Likes tea"),)))
        assert applied.reinforced == (dog.id,)

    async def test_what_has_faded_absorbs_nothing(self, store: Store) -> None:
        """A duplicate of what has expired by then, though it is not purged yet, is a new item."""
        faded = an_item("Likes green tea", at=NOW - 9 * DAY, ttl=9 * DAY)
        for item in (faded, an_item("Likes green tea")):
            assert (await store.apply(HERE, Changes(add=(item,)))).added == (item.id,)

    async def test_content_in_another_scope_reinforces_nothing(self, store: Store) -> None:
        """Two users may be told the same; each keeps an item of his own."""
        mine, yours = an_item("Likes green tea"), an_item("Likes green tea", scope=THERE)
        await store.apply(HERE, Changes(add=(mine,)))
        applied = await store.apply(THERE, Changes(add=(yours,)))
        assert applied.added == (yours.id,)
        assert await all_items(store, HERE) == [mine]

    async def test_content_that_is_not_active_reinforces_nothing(self, store: Store) -> None:
        """What was superseded or quarantined does not absorb what is said anew."""
        old = an_item("Lives in Oslo", status="superseded")
        odd = an_item("Lives in Oslo", status="quarantined")
        new = an_item("Lives in Oslo")
        for item in (old, odd, new):
            applied = await store.apply(HERE, Changes(add=(item,)))
            assert applied.added == (item.id,)

    async def test_what_is_quarantined_is_met_in_quarantine(self, store: Store) -> None:
        """Quarantined twice it is one item; what says the same and is active is another."""
        tea = an_item("Likes tea")
        odd, again = (an_item("Likes tea", status="quarantined", at=NOW + n * DAY) for n in (0, 1))
        for item in (odd, tea):
            assert (await store.apply(HERE, Changes(add=(item,)))).added == (item.id,)
        applied = await store.apply(HERE, Changes(add=(again,)))
        assert (applied.added, applied.reinforced) == ((), (odd.id,))
        assert await store.get(HERE, [tea.id]) == [tea]

    async def test_an_item_with_a_key_is_no_duplicate(self, store: Store) -> None:
        """Items that carry a caller's key neither absorb others nor are absorbed."""
        plain, keyed = an_item("Likes green tea"), an_item("Likes green tea", key="drink")
        other = an_item("Likes green tea", key="taste")
        for item in (keyed, plain, other):
            assert (await store.apply(HERE, Changes(add=(item,)))).added == (item.id,)

    async def test_a_tombstone_blocks_what_was_said_before_it(self, store: Store) -> None:
        """An item whose sources were all recorded at or before the forget does not come back."""
        before = an_episode("I like tea", at=NOW)
        tea = an_item("Likes green tea", sources=[a_source(before)])
        await store.apply(HERE, Changes(add=(tea,)))
        await store.forget(Items(scope=HERE, ids=(tea.id,)), at=NOW)
        back = an_item("likes green TEA", sources=[a_source(before)])
        applied = await store.apply(HERE, Changes(add=(back, an_item("Owns a dog"))))
        assert (applied.blocked, len(applied.added)) == ((back.id,), 1)
        assert await contents(store) == ["Owns a dog"]

    async def test_a_tombstone_lets_pass_what_is_said_again(self, store: Store) -> None:
        """One source recorded after the forget is enough, and a caller who tells it needs none."""
        old, new = an_episode("I like tea"), an_episode("I do like tea", at=NOW + MINUTE)
        for content in ("Likes green tea", "Likes coffee"):
            item = an_item(content, sources=[a_source(old)])
            await store.apply(HERE, Changes(add=(item,)))
            await store.forget(Items(scope=HERE, ids=(item.id,)), at=NOW)
        said = an_item("Likes green tea", sources=[a_source(old), a_source(new)])
        told = an_item("Likes coffee")
        applied = await store.apply(HERE, Changes(add=(said, told)))
        assert sorted(applied.added) == sorted([said.id, told.id])
        assert applied.blocked == ()

    async def test_a_tombstone_belongs_to_its_scope(self, store: Store) -> None:
        """What one user had forgotten does not block another's memory."""
        mine = an_item("Likes green tea", sources=[a_source(an_episode("tea"))])
        theirs = an_episode("tea", scope=THERE)
        yours = an_item("Likes green tea", scope=THERE, sources=[a_source(theirs)])
        await store.apply(HERE, Changes(add=(mine,)))
        await store.forget(Items(scope=HERE, ids=(mine.id,)), at=NOW)
        assert (await store.apply(THERE, Changes(add=(yours,)))).added == (yours.id,)
