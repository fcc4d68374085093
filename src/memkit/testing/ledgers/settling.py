"""What `Ledger.settle` promises of each outcome: items, episodes and job in one step."""

from __future__ import annotations

import asyncio

import pytest

from memkit.contracts import Ledger
from memkit.errors import Forgotten
from memkit.models import (
    Changes,
    Completed,
    Dead,
    Episodes,
    Failed,
    Items,
    Released,
    Skipped,
    Supersession,
    Usage,
    WholeScope,
)
from memkit.testing.around import LedgerStore
from memkit.testing.clock import ManualClock
from memkit.testing.ledgers.suite import LedgerSuite, completed, ids, was_settled
from memkit.testing.reading import EVERY_CHANNEL, all_items, all_jobs, channels, contents
from memkit.testing.suite import immediate, only_where
from memkit.testing.values import (
    DAY,
    HERE,
    MINUTE,
    NOW,
    THERE,
    a_reinforcement,
    a_source,
    an_episode,
    an_item,
)

USAGE = Usage(calls=2, input_tokens=900, output_tokens=70)


class SettlingRules(LedgerSuite):
    """How a claim ends: exactly once, and nothing half."""

    async def test_a_completed_run_is_carried_out(self, store: LedgerStore) -> None:
        """Its items are found, its episodes are no work any more, its job says what happened."""
        episode, tea = an_episode("I like tea"), an_item("Likes tea")
        await store.append([episode])
        outcome = Completed(changes=Changes(add=(tea,)), checksum="c-1", usage=USAGE)
        claim = await self.claimed(store)
        job = await store.settle(claim, outcome, now=NOW + MINUTE)
        assert (job.id, job.scope, job.status) == (claim.job_id, HERE, "completed")
        assert (job.episode_ids, job.checksum, job.usage) == ((episode.id,), "c-1", USAGE)
        assert (job.started_at, job.finished_at) == (NOW, NOW + MINUTE)
        assert await channels(store, tea) == EVERY_CHANNEL
        assert await self.offered(store, None, now=NOW + DAY) is None
        assert await all_jobs(store) == [job]

    async def test_a_job_counts_what_it_did(self, store: LedgerStore) -> None:
        """Added, updated, removed with superseded, and reinforced: as the changes took place."""
        old, dull, met = an_item("Lives in Oslo"), an_item("Dull"), an_item("Met", importance=0.2)
        await store.apply(HERE, Changes(add=(old, dull, met, an_item("Vim", key="editor"))))
        await store.append([an_episode("hi")])
        new = an_item("Lives in Rome")
        changes = Changes(
            add=(new, an_item("Tea"), an_item("met"), an_item("Emacs", key="editor")),
            supersede=(Supersession(id=old.id, by=new.id, at=NOW),),
            remove=(dull.id, "nobody"),
            reinforce=(a_reinforcement(met, importance=0.8, at=NOW + DAY),),
        )
        outcome = Completed(changes=changes, checksum="c-1")
        job = await store.settle(await self.claimed(store), outcome, now=NOW)
        assert (job.added, job.updated, job.removed, job.reinforced) == (2, 1, 2, 1)

    async def test_completing_applies_changes_as_ever(self, store: LedgerStore) -> None:
        """Duplicates reinforce and tombstones block, as in `Store.apply`."""
        said = an_episode("I like tea")
        gone = an_item("Likes coffee", sources=[a_source(said)])
        await store.append([said])
        await store.apply(HERE, Changes(add=(an_item("Likes tea", at=NOW - DAY), gone)))
        await store.forget(Items(scope=HERE, ids=(gone.id,)), at=NOW + MINUTE)
        back = an_item("likes COFFEE", sources=[a_source(said)])
        outcome = completed(an_item("likes TEA"), back)
        job = await store.settle(await self.claimed(store), outcome, now=NOW)
        assert (job.added, job.reinforced) == (0, 1)
        assert await contents(store) == ["Likes tea"]

    async def test_settling_twice_has_the_effect_of_once(self, store: LedgerStore) -> None:
        """After an unknown outcome the same is settled again: the job answers as it stands."""
        await store.append([an_episode("hi")])
        claim, outcome = await self.claimed(store), completed(an_item("Tea"))
        first = await store.settle(claim, outcome, now=NOW)
        await store.apply(HERE, Changes(remove=tuple(each.id for each in await all_items(store))))
        assert await store.settle(claim, outcome, now=NOW + DAY) == first
        assert await contents(store) == []

    async def test_a_skipped_run_settles_its_episodes(self, store: LedgerStore) -> None:
        """The same input was settled before: no items, no work left, a job that says so."""
        await store.append([an_episode("hi")])
        job = await store.settle(await self.claimed(store), Skipped(checksum="c-1"), now=NOW)
        assert (job.status, job.checksum, job.added) == ("skipped", "c-1", 0)
        assert await self.offered(store, now=NOW + DAY) is None

    async def test_a_checksum_is_settled_once_its_job_completed(self, store: LedgerStore) -> None:
        """A background is `settled` by a completed job of its scope, and by no other."""
        await store.append([an_episode("hi"), an_episode("yours", scope=THERE)])
        assert not await was_settled(store, HERE, "c-1")
        failed = Failed(error="timeout", retry_at=NOW)
        await store.settle(await self.claimed(store), failed, now=NOW)
        assert not await was_settled(store, HERE, "c-1")
        await store.settle(await self.claimed(store), completed(checksum="c-1"), now=NOW)
        assert await was_settled(store, HERE, "c-1")
        assert not await was_settled(store, HERE, "c-2")
        assert not await was_settled(store, THERE, "c-1")

    async def test_a_failed_run_leaves_its_episodes_pending(self, store: LedgerStore) -> None:
        """Nothing is lost: the attempt counts, the reason is kept, the next try has its date."""
        await store.append([an_episode("hi")])
        failed = Failed(error="unreadable", retry_at=NOW + DAY, usage=USAGE)
        job = await store.settle(await self.claimed(store), failed, now=NOW)
        assert (job.status, job.error, job.retry_at) == ("failed", "unreadable", NOW + DAY)
        assert (job.usage, job.attempts, job.finished_at) == (USAGE, 1, NOW)
        assert (await store.stats(HERE)).pending == 1
        assert (await self.claimed(store, now=NOW + DAY)).attempts == 2

    async def test_a_fault_that_is_not_theirs_costs_no_attempt(self, store: LedgerStore) -> None:
        """With `counts` False the attempt is given back, and the batch stays together."""
        await store.append([an_episode("a"), an_episode("b", session_id="s-2")])
        limited = Failed(error="rate_limited", retry_at=NOW + MINUTE, counts=False)
        for _ in range(3):
            await store.settle(await self.claimed(store, now=NOW + MINUTE), limited, now=NOW)
        assert await self.offered(store) is None
        claim = await self.claimed(store, now=NOW + MINUTE)
        assert (claim.attempts, len(claim.episodes)) == (1, 2)

    async def test_a_dead_episode_waits_for_a_person(self, store: LedgerStore) -> None:
        """It is no work any more, is counted as dead, and its evidence stays."""
        await store.append([an_episode("poison")])
        dead = Dead(error="refused", usage=USAGE)
        job = await store.settle(await self.claimed(store), dead, now=NOW)
        assert (job.status, job.error, job.usage) == ("dead", "refused", USAGE)
        assert await self.offered(store, None, now=NOW + 400 * DAY) is None
        stats = await store.stats(HERE)
        assert (stats.dead, stats.pending, stats.episodes) == (1, 0, 1)

    async def test_a_claim_handed_back_leaves_no_trace(self, store: LedgerStore) -> None:
        """`Released`: due at once, its attempt given back, no job kept."""
        await store.append([an_episode("a"), an_episode("b", session_id="s-2")])
        await store.settle(await self.claimed(store), Released(), now=NOW)
        assert await all_jobs(store) == []
        claim = await self.claimed(store)
        assert (claim.attempts, len(claim.episodes)) == (1, 2)

    async def test_a_forget_overtakes_what_is_in_flight(self, store: LedgerStore) -> None:
        """The epoch: a run begun before a forget raises `Forgotten`, writes nothing, has failed."""
        said = an_episode("I like tea")
        await store.append([said])
        await store.apply(HERE, Changes(add=(an_item("Owns a dog"),)))
        claim = await self.claimed(store)
        await store.forget(Items(scope=HERE, ids=("whichever",)), at=NOW)
        with pytest.raises(Forgotten):
            await store.settle(claim, completed(an_item("Likes tea")), now=NOW)
        assert await contents(store) == ["Owns a dog"]
        [job] = await all_jobs(store)
        assert (job.id, job.status) == (claim.job_id, "failed")

    async def test_what_a_forget_overtook_is_done_anew(self, store: LedgerStore) -> None:
        """Evidence that was not forgotten is due again at once, under the new epoch."""
        said = an_episode("I like tea")
        await store.append([said])
        old = await self.claimed(store)
        await store.forget(Items(scope=HERE, ids=("whichever",)), at=NOW)
        new = await self.claimed(store)
        assert (ids(new), new.epoch > old.epoch) == ([said.id], True)
        await store.settle(new, completed(an_item("Likes tea")), now=NOW)
        assert await contents(store) == ["Likes tea"]

    async def test_a_forgotten_scope_keeps_no_job(self, store: LedgerStore) -> None:
        """Forgetting a scope whole deletes its jobs, and counts them; others keep theirs."""
        await store.append([an_episode("hi"), an_episode("yours", scope=THERE)])
        for scope in (HERE, THERE):
            claim = await self.claimed(store, scope)
            await store.settle(claim, completed(checksum=scope.key), now=NOW)
        receipt = await store.forget(WholeScope(scope=HERE), at=NOW)
        assert receipt.jobs == 1
        assert [each.scope for each in await all_jobs(store)] == [THERE]
        assert not await was_settled(store, HERE, HERE.key)

    async def test_a_job_outlives_one_of_its_episodes(self, store: LedgerStore) -> None:
        """A job of other episodes too keeps those, and vouches for its checksum no more."""
        episodes = [an_episode("a"), an_episode("b", session_id="s-2", at=NOW + MINUTE)]
        await store.append(episodes)
        await store.settle(await self.claimed(store), completed(checksum="c-1"), now=NOW)
        assert await was_settled(store, HERE, "c-1")
        for gone, left in ((episodes[0], [episodes[1].id]), (episodes[1], None)):
            await store.forget(Episodes(scope=HERE, ids=(gone.id,)), at=NOW)
            jobs = await all_jobs(store)
            assert [list(each.episode_ids) for each in jobs] == ([] if left is None else [left])
            assert not await was_settled(store, HERE, "c-1")

    async def test_dead_episodes_are_requeued(self, store: LedgerStore) -> None:
        """`requeue` makes the episodes of dead jobs pending anew, all attempts forgiven."""
        await store.append([an_episode("a"), an_episode("b", session_id="s-2")])
        job = await store.settle(await self.claimed(store), Dead(error="refused"), now=NOW)
        assert await store.requeue([job.id]) == 2
        claim = await self.claimed(store)
        assert (claim.attempts, len(claim.episodes)) == (1, 2)
        assert (await store.stats(HERE)).dead == 0

    async def test_failed_episodes_are_requeued_at_once(self, store: LedgerStore) -> None:
        """The episodes of a failed job need not wait for their next try any more."""
        await store.append([an_episode("hi")])
        failed = Failed(error="timeout", retry_at=NOW + DAY)
        job = await store.settle(await self.claimed(store), failed, now=NOW)
        assert await store.requeue([job.id]) == 1
        assert (await self.claimed(store)).attempts == 1

    async def test_only_what_failed_is_requeued(self, store: LedgerStore) -> None:
        """Completed jobs and unknown ids are left alone: nothing is extracted twice."""
        await store.append([an_episode("hi")])
        job = await store.settle(await self.claimed(store), completed(), now=NOW)
        assert await store.requeue([job.id, "nobody"]) == 0
        assert await self.offered(store) is None

    async def test_a_cancelled_settlement_is_whole_or_not_at_all(self, store: LedgerStore) -> None:
        """Cancelled at any moment, items and episodes agree; settling again completes it."""
        only_where(store.capabilities.transactions, "transactions")
        immediate(store)
        for ticks in range(12):
            await store.append([an_episode(f"Said {ticks}")])
            claim, item = await self.claimed(store), an_item(f"Item {ticks}")
            call = asyncio.ensure_future(store.settle(claim, completed(item), now=NOW))
            for _ in range(ticks):
                await asyncio.sleep(0)
            call.cancel()
            await asyncio.wait([call])
            # What had begun may still be under way, and one who writes comes after it.
            await store.requeue([])
            kept, pending = await store.get(HERE, [item.id]), (await store.stats(HERE)).pending
            assert len(kept) + pending == 1
            await store.settle(claim, completed(item), now=NOW)
            assert await store.get(HERE, [item.id]) == [item]

    async def test_the_ledger_is_there_after_reopening(
        self, store: LedgerStore, clock: ManualClock
    ) -> None:
        """Jobs, attempts and next tries are durable: a restart resets no budget."""
        await store.append([an_episode("hi")])
        failed = Failed(error="timeout", retry_at=NOW + DAY)
        await store.settle(await self.claimed(store), failed, now=NOW)
        jobs = await all_jobs(store)
        again = await self.reopen(store, clock)
        assert await all_jobs(again) == jobs
        assert isinstance(again, Ledger)
        claim = await again.claim(HERE, now=NOW + DAY, budget=100, lease=self.lease)
        assert claim is not None
        assert claim.attempts == 2
        await again.aclose()
