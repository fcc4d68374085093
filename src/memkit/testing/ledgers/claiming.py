"""What `Ledger.claim` promises of what is due, and of what one claim takes."""

from __future__ import annotations

from memkit.contracts import MOST_CLAIMED
from memkit.models import Episodes, Failed
from memkit.testing.around import LedgerStore
from memkit.testing.ledgers.suite import PLENTY, LedgerSuite, completed, ids
from memkit.testing.reading import all_jobs
from memkit.testing.values import DAY, HERE, MINUTE, NOW, THERE, an_episode


class ClaimingRules(LedgerSuite):
    """Finding work: all of it, the oldest first, never too much, never too soon."""

    async def test_nothing_is_due_where_nothing_waits(self, store: LedgerStore) -> None:
        """An empty scope, and an empty store, offer no claim."""
        assert await self.offered(store) is None
        assert await self.offered(store, None) is None

    async def test_a_claim_holds_the_pending_episodes(self, store: LedgerStore) -> None:
        """Whole, of this scope only, oldest first, with the first attempt counted."""
        late, early = (
            an_episode("late", at=NOW),
            an_episode("early", at=NOW - DAY, session_id="s-2"),
        )
        await store.append([late, early, an_episode("yours", scope=THERE)])
        claim = await self.claimed(store)
        assert (claim.scope, claim.episodes) == (HERE, (early, late))
        assert (claim.attempts, claim.context, claim.decision) == (1, (), None)

    async def test_a_claim_is_a_running_job(self, store: LedgerStore) -> None:
        """The job is listed with its episodes from the moment of the claim."""
        episode = an_episode("hi")
        await store.append([episode])
        claim = await self.claimed(store)
        [job] = await all_jobs(store, HERE)
        assert (job.id, job.scope, job.status) == (claim.job_id, HERE, "running")
        assert (job.episode_ids, job.attempts) == ((episode.id,), 1)
        assert (job.started_at, job.finished_at) == (NOW, None)

    async def test_episodes_are_claimed_by_their_home(self, store: LedgerStore) -> None:
        """Sessions of several scopes that share a home are one scope's work."""
        home = HERE.project("user")
        await store.append([an_episode("a", home=home), an_episode("b", scope=home)])
        assert await self.offered(store, HERE) is None
        claim = await self.claimed(store, home)
        assert (claim.scope, len(claim.episodes)) == (home, 2)

    async def test_without_a_scope_the_oldest_work_comes_first(self, store: LedgerStore) -> None:
        """Every scope with something due is found, the one whose oldest waits longest first."""
        await store.append(
            [
                an_episode("young", at=NOW),
                an_episode("old", scope=THERE, at=NOW - DAY),
                an_episode("oldest", scope=HERE.project("user"), at=NOW - 2 * DAY),
            ]
        )
        claims = [await self.claimed(store, None) for _ in range(3)]
        assert [each.scope for each in claims] == [HERE.project("user"), THERE, HERE]
        assert await self.offered(store, None) is None

    async def test_a_budget_bounds_a_claim(self, store: LedgerStore) -> None:
        """Episodes are taken oldest first while their tokens fit."""
        episodes = [an_episode(str(n), at=NOW + n * MINUTE, tokens=40) for n in range(4)]
        await store.append(episodes)
        claim = await self.claimed(store, budget=80, now=NOW + DAY)
        assert ids(claim) == [each.id for each in episodes[:2]]

    async def test_small_episodes_are_claimed_in_parts(self, store: LedgerStore) -> None:
        """However many would fit, a claim takes `MOST_CLAIMED`, and the next one the rest."""
        most = [an_episode(str(n), at=NOW + n * MINUTE, tokens=1) for n in range(MOST_CLAIMED)]
        last = an_episode("last", at=NOW + MOST_CLAIMED * MINUTE, tokens=1)
        await store.append([*most, last])
        claim = await self.claimed(store, now=NOW + DAY)
        assert ids(claim) == [each.id for each in most]
        await store.settle(claim, completed(), now=NOW)
        assert ids(await self.claimed(store, now=NOW + DAY)) == [last.id]

    async def test_a_budget_never_starves_an_episode(self, store: LedgerStore) -> None:
        """One episode is taken though it alone is larger than the budget."""
        big = an_episode("big", tokens=500, at=NOW - DAY)
        await store.append([big, an_episode("small", tokens=1)])
        assert ids(await self.claimed(store, budget=80)) == [big.id]

    async def test_an_episode_is_not_due_before_its_next_try(self, store: LedgerStore) -> None:
        """After a failure it waits until `retry_at`, and is due at that very moment."""
        await store.append([an_episode("hi")])
        failed = Failed(error="timeout", retry_at=NOW + DAY)
        await store.settle(await self.claimed(store), failed, now=NOW)
        assert await self.offered(store, now=NOW + DAY - MINUTE) is None
        assert await self.offered(store, None, now=NOW + DAY - MINUTE) is None
        assert len((await self.claimed(store, now=NOW + DAY)).episodes) == 1

    async def test_what_waits_for_its_next_try_holds_nobody_up(self, store: LedgerStore) -> None:
        """Newer episodes of the scope are claimed meanwhile."""
        await store.append([an_episode("poison", at=NOW - DAY)])
        failed = Failed(error="timeout", retry_at=NOW + DAY)
        await store.settle(await self.claimed(store), failed, now=NOW)
        fresh = an_episode("fresh", session_id="s-2")
        await store.append([fresh])
        assert ids(await self.claimed(store)) == [fresh.id]

    async def test_what_was_tried_before_is_claimed_alone(self, store: LedgerStore) -> None:
        """One poison episode harms no other: each of a failed batch is retried by itself."""
        episodes = [an_episode(str(n), at=NOW + n * MINUTE) for n in range(3)]
        await store.append(episodes[:2])
        failed = Failed(error="unreadable", retry_at=NOW)
        await store.settle(await self.claimed(store), failed, now=NOW)
        await store.append(episodes[2:])
        for episode, attempts in zip(episodes, (2, 2, 1), strict=True):
            claim = await self.claimed(store, now=NOW + DAY)
            assert (ids(claim), claim.attempts) == ([episode.id], attempts)
            await store.settle(claim, completed(), now=NOW)

    async def test_what_was_tried_before_ends_a_batch(self, store: LedgerStore) -> None:
        """Episodes are taken up to the first that was tried before: their order is kept."""
        tried = an_episode("tried", at=NOW)
        await store.append([tried])
        failed = Failed(error="unreadable", retry_at=NOW)
        await store.settle(await self.claimed(store), failed, now=NOW)
        older, newer = an_episode("older", at=NOW - DAY), an_episode("newer", at=NOW + MINUTE)
        await store.append([older, newer])
        for episode in (older, tried, newer):
            claim = await self.claimed(store, now=NOW + DAY)
            assert ids(claim) == [episode.id]
            await store.settle(claim, completed(), now=NOW)

    async def test_a_session_that_talks_is_left_in_peace(self, store: LedgerStore) -> None:
        """With `idle`, a session is due once its newest episode is that old; without, at once."""
        busy = [an_episode("a", at=NOW - 9 * MINUTE), an_episode("b", at=NOW - 2 * MINUTE)]
        calm = an_episode("c", session_id="s-2", at=NOW - 6 * MINUTE)
        await store.append([*busy, calm])
        claim = await store.claim(HERE, now=NOW, budget=PLENTY, lease=self.lease, idle=5 * MINUTE)
        assert claim is not None
        assert ids(claim) == [calm.id]
        await store.settle(claim, completed(), now=NOW)
        assert ids(await self.claimed(store)) == [each.id for each in busy]

    async def test_a_session_that_never_stops_is_due_in_the_end(self, store: LedgerStore) -> None:
        """With `max_wait`, a busy session is due once its oldest pending episode is older."""
        await store.append([an_episode("a", at=NOW - 50 * MINUTE), an_episode("b", at=NOW)])
        for now, due in ((NOW, 0), (NOW + 11 * MINUTE, 2)):
            await store.append([an_episode("still talking", session_id="s-1", at=now)])
            claim = await store.claim(
                HERE,
                now=now,
                budget=PLENTY,
                lease=self.lease,
                idle=5 * MINUTE,
                max_wait=60 * MINUTE,
            )
            assert (claim is not None) == bool(due)

    async def test_only_the_newest_of_a_revised_message_is_claimed(
        self, store: LedgerStore
    ) -> None:
        """What was revised before it was extracted is extracted once, as it now reads."""
        await store.append([an_episode("Hi", "My dog is Rex", "Bye", keys=["m-0", "m-1", "m-2"])])
        await store.append([an_episode("My dog is Max", keys=["m-1"])], revise=True)
        claim = await self.claimed(store)
        told = [
            (each.position + place, message.text)
            for each in claim.episodes
            for place, message in enumerate(each.messages)
        ]
        assert told == [(0, "Hi"), (2, "Bye"), (3, "My dog is Max")]

    async def test_what_is_gone_is_not_claimed(self, store: LedgerStore) -> None:
        """Forgotten and purged episodes are no work any more."""
        forgotten, purged = an_episode("forgotten"), an_episode("purged", expires_at=NOW)
        await store.append([forgotten, purged])
        await store.forget(Episodes(scope=HERE, ids=(forgotten.id,)), at=NOW)
        await store.purge(now=NOW)
        assert await self.offered(store, None) is None
        fresh = an_episode("fresh")
        await store.append([fresh])
        assert ids(await self.claimed(store)) == [fresh.id]

    async def test_the_settled_end_of_a_session_comes_along(self, store: LedgerStore) -> None:
        """`context` is what was settled before in the same sessions, to be understood only."""
        old = [an_episode(f"a-{n}", f"b-{n}", at=NOW + n * MINUTE) for n in range(2)]
        other = an_episode("other", session_id="s-2")
        await store.append([*old, other])
        await store.settle(await self.claimed(store, now=NOW + DAY), completed(), now=NOW)
        await store.append([an_episode("new", at=NOW + DAY), an_episode("newer", at=NOW + DAY)])
        claim = await store.claim(HERE, now=NOW + DAY, budget=PLENTY, lease=self.lease, context=3)
        assert claim is not None
        assert [message.text for each in claim.context for message in each.messages] == (
            ["b-0", "a-1", "b-1"]
        )
        assert sorted(m.text for each in claim.episodes for m in each.messages) == ["new", "newer"]

    async def test_no_context_is_given_that_was_not_asked_for(self, store: LedgerStore) -> None:
        """With `context` of 0, and for what is not settled, nothing comes along."""
        await store.append([an_episode("a", tokens=90), an_episode("b", tokens=90)])
        claim = await self.claimed(store, budget=90)
        assert claim.context == ()
        await store.settle(claim, completed(), now=NOW)
        bare = await store.claim(HERE, now=NOW, budget=PLENTY, lease=self.lease, context=0)
        assert bare is not None
        assert bare.context == ()
