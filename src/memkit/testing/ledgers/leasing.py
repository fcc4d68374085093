"""What a lease promises: one worker at a time, and nobody waits for the dead."""

from __future__ import annotations

import asyncio

import pytest

from memkit.errors import Forgotten, LeaseLost
from memkit.models import Items
from memkit.testing.around import LedgerStore
from memkit.testing.clock import ManualClock
from memkit.testing.ledgers.suite import LedgerSuite, completed, ids
from memkit.testing.reading import all_jobs, contents
from memkit.testing.suite import immediate, only_where
from memkit.testing.values import HERE, MINUTE, NOW, THERE, an_episode, an_item


class LeasingRules(LedgerSuite):
    """Leases, fences and what becomes of a worker that died."""

    async def test_a_scope_that_is_worked_on_is_not_due(self, store: LedgerStore) -> None:
        """At most one live claim per scope; other scopes are free."""
        only_where(store.capabilities.leases == "exclusive", "exclusive leases")
        await store.append([an_episode("a"), an_episode("b", scope=THERE)])
        first = await self.claimed(store)
        await store.append([an_episode("more", session_id="s-2")])
        assert await self.offered(store) is None
        assert (await self.claimed(store, None)).scope == THERE
        await store.settle(first, completed(), now=NOW)
        assert len((await self.claimed(store)).episodes) == 1

    async def test_of_many_callers_one_gets_the_claim(self, store: LedgerStore) -> None:
        """Several workers that ask at the same time do not share a scope."""
        only_where(store.capabilities.leases == "exclusive", "exclusive leases")
        immediate(store)
        await store.append([an_episode("a"), an_episode("b", session_id="s-2")])
        claims = await asyncio.gather(*(self.offered(store, None) for _ in range(6)))
        assert sum(each is not None for each in claims) == 1

    async def test_fences_grow(self, store: LedgerStore) -> None:
        """Every claim of a scope has a higher fence than the one before."""
        fences = []
        for number in range(3):
            await store.append([an_episode(str(number))])
            claim = await self.claimed(store)
            fences.append(claim.fence)
            await store.settle(claim, completed(), now=NOW)
        assert fences == sorted(set(fences))

    async def test_a_lease_that_ran_out_frees_the_scope(
        self, store: LedgerStore, clock: ManualClock
    ) -> None:
        """By the store's own clock, not by `now`; the attempt of the dead stays counted."""
        episode = an_episode("hi")
        await store.append([episode])
        await self.claimed(store)
        assert await self.offered(store, now=NOW + 2 * self.lease) is None
        await self.pass_time(clock, self.lease)
        again = await self.claimed(store)
        assert (ids(again), again.attempts) == ([episode.id], 2)

    async def test_a_dead_worker_leaves_a_failed_job(
        self, store: LedgerStore, clock: ManualClock
    ) -> None:
        """Whoever takes the scope over fails the job that crashed, and says so."""
        await store.append([an_episode("hi")])
        first = await self.claimed(store)
        await self.pass_time(clock, self.lease)
        second = await self.claimed(store)
        jobs = {each.id: each for each in await all_jobs(store)}
        crashed = jobs[first.job_id]
        assert (crashed.status, crashed.error) == ("failed", "crashed")
        assert jobs[second.job_id].status == "running"

    async def test_a_renewed_lease_holds_on(self, store: LedgerStore, clock: ManualClock) -> None:
        """`renew` counts the lease from now, and the claim stays what it was."""
        await store.append([an_episode("hi")])
        claim = await self.claimed(store)
        await self.pass_time(clock, self.lease / 2)
        renewed = await store.renew(claim, lease=self.lease * 2)
        assert (renewed.job_id, renewed.fence) == (claim.job_id, claim.fence)
        await self.pass_time(clock, self.lease)
        assert await self.offered(store) is None
        await self.pass_time(clock, self.lease)
        assert (await self.claimed(store)).job_id != claim.job_id

    async def test_a_lease_taken_over_cannot_be_renewed(
        self, store: LedgerStore, clock: ManualClock
    ) -> None:
        """`LeaseLost` for the old claim; the new one renews."""
        await store.append([an_episode("hi")])
        old = await self.claimed(store)
        await self.pass_time(clock, self.lease)
        new = await self.claimed(store)
        with pytest.raises(LeaseLost) as caught:
            await store.renew(old, lease=self.lease)
        assert caught.value.job_id == old.job_id
        assert (await store.renew(new, lease=self.lease)).fence == new.fence

    async def test_a_claim_overtaken_by_a_forget_cannot_be_renewed(
        self, store: LedgerStore
    ) -> None:
        """`Forgotten` tells a worker early that its work is in vain."""
        await store.append([an_episode("hi"), an_episode("there", scope=THERE)])
        claim, other = await self.claimed(store), await self.claimed(store, THERE)
        await store.forget(Items(scope=HERE, ids=("whichever",)), at=NOW)
        with pytest.raises(Forgotten):
            await store.renew(claim, lease=self.lease)
        await store.renew(other, lease=self.lease)

    async def test_a_late_worker_writes_nothing(
        self, store: LedgerStore, clock: ManualClock
    ) -> None:
        """The fence: when another claim was made since, `LeaseLost`, and only the newer settles."""
        await store.append([an_episode("hi")])
        old = await self.claimed(store)
        await self.pass_time(clock, self.lease)
        new = await self.claimed(store)
        with pytest.raises(LeaseLost):
            await store.settle(old, completed(an_item("From the late")), now=NOW)
        assert await contents(store) == []
        job = await store.settle(new, completed(an_item("From the newer")), now=NOW)
        assert (job.id, job.status) == (new.job_id, "completed")
        assert await contents(store) == ["From the newer"]

    async def test_a_lease_that_ran_out_alone_may_still_settle(
        self, store: LedgerStore, clock: ManualClock
    ) -> None:
        """Nobody else took over: slow work is not thrown away."""
        await store.append([an_episode("hi")])
        claim = await self.claimed(store)
        await self.pass_time(clock, self.lease + MINUTE)
        job = await store.settle(claim, completed(an_item("Slow")), now=NOW)
        assert (job.status, await contents(store)) == ("completed", ["Slow"])
