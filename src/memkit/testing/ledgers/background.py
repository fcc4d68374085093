"""What `Ledger.background` promises: what is known already, before anything is read."""

from __future__ import annotations

from memkit.models import Changes
from memkit.testing.around import LedgerStore
from memkit.testing.ledgers.suite import LedgerSuite, a_claim, completed
from memkit.testing.reading import everything
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


class BackgroundRules(LedgerSuite):
    """What a claim is about is looked up in one call, which leaves no trace."""

    async def test_a_background_finds_what_finding_finds(self, store: LedgerStore) -> None:
        """The candidates of the query, as `find` has them; and nothing is written."""
        await store.apply(HERE, Changes(add=(an_item("Likes green tea"), an_item("Owns a dog"))))
        query = a_query("tea", strongest=5, exact=[an_item("owns a DOG").content_hash])
        before = await everything(store)
        background = await store.background(a_claim(), query, checksum="c-1")
        assert not background.settled
        expected = await store.find(query)
        for mine, theirs in (
            (background.found.strongest, expected.strongest),
            (background.found.text, expected.text),
            (background.found.exact, expected.exact),
        ):
            assert {each.id for each in mine} == {each.id for each in theirs} != set()
        assert background.found.population == expected.population
        assert await everything(store) == before

    async def test_what_says_the_same_is_given_whole(self, store: LedgerStore) -> None:
        """Behind each exact candidate stands its item, in quarantine too, by rising id."""
        tea = an_item("Likes tea", item_id=numbered(2), sources=[a_source(an_episode("tea"))])
        odd = an_item("Likes tea", item_id=numbered(1), status="quarantined")
        await store.apply(HERE, Changes(add=(tea, odd, an_item("Owns a dog"))))
        await store.apply(THERE, Changes(add=(an_item("Likes tea", scope=THERE),)))
        query = a_query(exact=[tea.content_hash])
        assert (await store.background(a_claim(), query, checksum="c-1")).items == (odd, tea)

    async def test_what_came_from_a_revised_message_is_given_whole(
        self, store: LedgerStore
    ) -> None:
        """No word in common, and still it is known: the message that it rests on reads anew."""
        old = an_episode("I live in Oslo", "I like tea", keys=["m-1", "m-2"])
        away = an_episode("I live in Oslo", keys=["m-1"], scope=THERE)
        await store.append([old, away])
        oslo, gone, faded, odd = (
            an_item("Lives in Oslo", item_id=numbered(3), sources=[a_source(old)]),
            an_item("Lived in Rome", sources=[a_source(old)], status="superseded"),
            an_item("Is in Oslo", sources=[a_source(old)], at=NOW - 9 * DAY, ttl=DAY),
            an_item("Oslo", item_id=numbered(4), sources=[a_source(old)], status="quarantined"),
        )
        tea = an_item("Likes tea", sources=[a_source(old, 1)])
        await store.apply(HERE, Changes(add=(odd, oslo, gone, faded, tea)))
        yours = an_item("Lives in Oslo", scope=THERE, sources=[a_source(away)])
        await store.apply(THERE, Changes(add=(yours,)))
        await self.settle_all(store)
        new = an_episode("We moved", "And I like it", keys=["m-1", "m-3"], at=NOW + MINUTE)
        await store.append([new], revise=True)
        claim = await self.claimed(store, now=NOW + DAY)
        background = await store.background(claim, a_query(), checksum="c-1")
        assert background.items == (oslo, odd)

    async def test_what_a_claim_came_to_before_is_no_revision(self, store: LedgerStore) -> None:
        """Items of the very episodes that are claimed are not what these revise."""
        said = an_episode("I live in Oslo", keys=["m-1"])
        await store.append([said])
        await store.apply(HERE, Changes(add=(an_item("In Oslo", sources=[a_source(said)]),)))
        claim = await self.claimed(store)
        assert (await store.background(claim, a_query(), checksum="c-1")).items == ()

    async def settle_all(self, store: LedgerStore) -> None:
        """Read all that is due to the end."""
        while (claim := await self.offered(store, None)) is not None:
            await store.settle(claim, completed(checksum=claim.job_id), now=NOW)
