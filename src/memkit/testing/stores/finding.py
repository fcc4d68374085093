"""What `Store.find` promises."""

from __future__ import annotations

from memkit.contracts import Store
from memkit.decay import NEVER, Policy, microseconds
from memkit.models import Candidate, Changes, MemoryItem
from memkit.testing.reading import EVERY_CHANNEL, NO_CHANNEL, channels, everything
from memkit.testing.suite import StoreSuite
from memkit.testing.values import (
    DAY,
    HERE,
    MINUTE,
    NOW,
    THERE,
    a_query,
    a_source,
    an_episode,
    an_item,
    numbered,
)


def ids(candidates: tuple[Candidate, ...]) -> list[str]:
    """The ids of these rows, in their order."""
    return [each.id for each in candidates]


async def keep(store: Store, *items: MemoryItem) -> tuple[MemoryItem, ...]:
    """Add each item to its own scope; the items, for the test to name."""
    for item in items:
        await store.apply(item.scope, Changes(add=(item,)))
    return items


class FindingRules(StoreSuite):
    """Recall: only what is live and one's own, each channel by itself, nothing ranked."""

    async def test_an_empty_store_finds_nothing(self, store: Store) -> None:
        """No candidates, no population, nothing truncated."""
        found = await store.find(
            a_query("tea", strongest=5, exact=[an_item("Likes tea").content_hash])
        )
        assert (found.strongest, found.text, found.exact) == ((), (), ())
        assert (found.population, found.truncated) == (0, False)

    async def test_a_channel_that_is_not_asked_for_is_empty(self, store: Store) -> None:
        """Each channel answers for itself."""
        [tea] = await keep(store, an_item("Likes green tea"))
        strongest = await store.find(a_query(strongest=5))
        assert (ids(strongest.strongest), strongest.text, strongest.exact) == ([tea.id], (), ())
        text = await store.find(a_query("tea"))
        assert (text.strongest, ids(text.text), text.exact) == ((), [tea.id], ())
        exact = await store.find(a_query(exact=[tea.content_hash]))
        assert (exact.strongest, exact.text, ids(exact.exact)) == ((), (), [tea.id])

    async def test_a_candidate_carries_its_item(self, store: Store) -> None:
        """A row states its item's values, dates as microseconds, and the first source's place."""
        episode = an_episode("hm", "I like tea", "really", session_id="s-9", at=NOW - DAY)
        sources = [a_source(episode, 1, position=41), a_source(episode, 2, position=42)]
        [tea] = await keep(store, an_item("Likes green tea", kind="preference", sources=sources))
        found = await store.find(a_query("tea", strongest=1, exact=[tea.content_hash]))
        expected = Candidate(
            id=tea.id,
            scope=HERE,
            content="Likes green tea",
            kind="preference",
            origin="user",
            policy=tea.policy,
            fades_at=microseconds(tea.fades_at),
            observed_at=microseconds(tea.observed_at),
            session_id="s-9",
            position=41,
        )
        assert (found.strongest, found.exact) == ((expected,), (expected,))
        [text] = found.text
        assert text.tokens is not None
        assert sorted(text.tokens.split()) == sorted(tea.tokens.split())
        assert text._replace(tokens=None) == expected

    async def test_an_item_without_sources_names_no_place(self, store: Store) -> None:
        """What was told has neither session nor position."""
        await keep(store, an_item("Likes green tea"))
        [row] = (await store.find(a_query(strongest=1))).strongest
        assert (row.session_id, row.position) == (None, None)

    async def test_the_strongest_fade_last(self, store: Store) -> None:
        """`strongest` is in falling order of `fades_at`, then rising id, and cut to its limit."""
        weak, strong = an_item("Weak", importance=0.3), an_item("Strong", importance=0.9)
        twins = [an_item(f"Twin {n}", item_id=numbered(n), importance=0.6) for n in (3, 1, 2)]
        await keep(store, weak, *twins, strong)
        expected = [strong.id, numbered(1), numbered(2), numbered(3), weak.id]
        assert ids((await store.find(a_query(strongest=9))).strongest) == expected
        assert ids((await store.find(a_query(strongest=3))).strongest) == expected[:3]

    async def test_the_strongest_cover_every_policy(self, store: Store) -> None:
        """The limit holds per policy, for pinned items and for policies nobody configured."""
        policies = (Policy(), Policy(0.5, 0.2), NEVER)
        for policy in policies:
            for n in range(3):
                content = f"{policy.name} number {n}"
                await keep(store, an_item(content, policy=policy, importance=0.9 - n / 10))
        await keep(store, an_item("Pinned", pinned=True, importance=0.1))
        found = (await store.find(a_query(strongest=2))).strongest
        assert {
            name: [each.content for each in found if each.policy == name]
            for name in {each.policy for each in found}
        } == {policy.name: [f"{policy.name} number {n}" for n in range(2)] for policy in policies}

    async def test_words_are_whole_and_any_of_them_will_do(self, store: Store) -> None:
        """`text` holds the items with at least one of the tokens, and no other."""
        tea, dog, _ = await keep(
            store,
            an_item("Likes green tea"),
            an_item("Owns a dog"),
            an_item("Has a teapot and a dogma"),
        )
        found = await store.find(a_query("tea dog zebra"))
        assert sorted(ids(found.text)) == sorted([tea.id, dog.id])
        assert (await store.find(a_query("zebra"))).text == ()

    async def test_an_item_is_one_candidate_of_a_channel(self, store: Store) -> None:
        """However many tokens, hashes or scopes lead to it, an item is listed once."""
        [tea] = await keep(store, an_item("green green tea Tea"))
        query = a_query("green tea tea", HERE, HERE, strongest=5, exact=[tea.content_hash] * 2)
        found = await store.find(query)
        assert [ids(each) for each in (found.strongest, found.text, found.exact)] == [[tea.id]] * 3

    async def test_the_text_channel_is_cut_and_says_so(self, store: Store) -> None:
        """At most `text` candidates, with `truncated` if there were more."""
        await keep(store, *(an_item(f"Tea of kind {number}") for number in range(4)))
        whole, cut = [await store.find(a_query("tea", cap=cap)) for cap in (4, 3)]
        assert (len(whole.text), whole.truncated) == (4, False)
        assert (len(cut.text), cut.truncated) == (3, True)

    async def test_the_population_counts_what_is_live(self, store: Store) -> None:
        """`population` is how many items the text could have matched, for rarity."""
        await keep(
            store,
            an_item("Likes green tea"),
            an_item("Owns a dog", kind="preference"),
            an_item("Faded", at=NOW - 400 * DAY),
            an_item("Odd", status="quarantined"),
            an_item("Yours", scope=THERE),
        )
        assert (await store.find(a_query("tea"))).population == 2
        assert (await store.find(a_query("tea", kinds=["preference"]))).population == 1
        assert (await store.find(a_query("tea", HERE, THERE))).population == 3

    async def test_equal_content_is_found_by_its_hash(self, store: Store) -> None:
        """`exact` holds the items of these content hashes, which fold case and blanks."""
        tea, _ = await keep(store, an_item("Likes green tea"), an_item("Likes green tea too"))
        hashes = [an_item(" likes GREEN tea").content_hash, an_item("nobody").content_hash]
        assert ids((await store.find(a_query(exact=hashes))).exact) == [tea.id]

    async def test_kinds_narrow_every_channel(self, store: Store) -> None:
        """With `kinds`, items of other kinds are in no channel."""
        tea, _ = await keep(store, an_item("Tea", kind="preference"), an_item("Tea time"))
        hashes = [an_item(each).content_hash for each in ("Tea", "Tea time")]
        query = a_query("tea", strongest=5, exact=hashes, kinds=["preference", "summary"])
        found = await store.find(query)
        assert [ids(each) for each in (found.strongest, found.text, found.exact)] == [[tea.id]] * 3

    async def test_several_scopes_answer_together(self, store: Store) -> None:
        """Items of all the scopes asked, each row with its own scope, and of no other."""
        mine, yours, _ = await keep(
            store,
            an_item("Tea here"),
            an_item("Tea there", scope=THERE),
            an_item("Tea elsewhere", scope=HERE.project("user")),
        )
        hashes = [an_item(f"Tea {where}").content_hash for where in ("here", "there", "elsewhere")]
        found = await store.find(a_query("tea", HERE, THERE, strongest=5, exact=hashes))
        for rows in (found.strongest, found.text, found.exact):
            assert {each.id: each.scope for each in rows} == {mine.id: HERE, yours.id: THERE}

    async def test_what_has_expired_is_absent_before_it_is_purged(self, store: Store) -> None:
        """An item is found until its `expires_at`, and at that very moment no more."""
        [tea] = await keep(store, an_item("Likes green tea", ttl=MINUTE))
        hashes = [tea.content_hash]
        for now, expected in ((NOW + MINUTE / 2, [tea.id]), (NOW + MINUTE, []), (NOW + DAY, [])):
            found = await store.find(a_query("tea", strongest=5, exact=hashes, now=now))
            channels = (found.strongest, found.text, found.exact)
            assert [ids(each) for each in channels] == [expected] * 3

    async def test_what_is_not_active_is_absent(self, store: Store) -> None:
        """Superseded items are in no channel, quarantined ones in none that is recalled from."""
        live, old, odd = await keep(
            store,
            an_item("Live tea"),
            an_item("Old tea", status="superseded"),
            an_item("Odd tea", status="quarantined"),
        )
        assert await channels(store, live) == EVERY_CHANNEL
        assert await channels(store, old) == NO_CHANNEL
        assert await channels(store, odd) <= {"exact"}

    async def test_what_is_quarantined_is_found_by_its_hash(self, store: Store) -> None:
        """`exact` tells whether something is known, in quarantine too: it shall not pile up."""
        odd, faded = await keep(
            store,
            an_item("Odd tea", status="quarantined"),
            an_item("Faded tea", status="quarantined", at=NOW - 9 * DAY, ttl=DAY),
        )
        hashes = [odd.content_hash, faded.content_hash]
        assert ids((await store.find(a_query(exact=hashes))).exact) == [odd.id]

    async def test_finding_writes_nothing(self, store: Store) -> None:
        """Recall leaves no trace: no date, no count, no row."""
        [tea] = await keep(store, an_item("Likes green tea", at=NOW - DAY))
        before = await everything(store)
        assert await channels(store, tea) == EVERY_CHANNEL
        assert await everything(store) == before
