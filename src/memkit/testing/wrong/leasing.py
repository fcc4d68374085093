"""Ledgers that lease wrongly."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from typing import Unpack

from memkit.errors import Forgotten, LeaseLost
from memkit.models import Claim, ConsolidationJob, Scope, SettleOutcome
from memkit.testing.wrong.store import Terms, Wrong


class LocksEpisodes(Wrong):
    """Gives out what was recorded since, though somebody works on the scope."""

    breaks = "test_a_scope_that_is_worked_on_is_not_due"

    async def claim(self, scope: Scope | None = None, **terms: Unpack[Terms]) -> Claim | None:
        """Locks the episodes of a claim, and not their scope."""
        ward = self._state.wards.get(scope) if scope else None
        if scope and ward and ward.lease and self._state.is_worked_on(scope):
            taken = self._state.jobs[ward.lease.job_id].job.episode_ids
            if self._state.pending.get(scope, set()) - set(taken):
                ward.lease = None
        return await super().claim(scope, **terms)


class LooksThenClaims(Wrong):
    """Looks whether a scope is free, does something else, and takes it."""

    breaks = "test_of_many_callers_one_gets_the_claim"

    async def claim(self, scope: Scope | None = None, **terms: Unpack[Terms]) -> Claim | None:
        """Check, pause, take."""
        free = [each for each in self._state.pending if not self._state.is_worked_on(each)]
        await asyncio.sleep(0)
        for home in free:
            lease = self._state.ward(home).lease
            if lease is not None:
                lease.until = min(lease.until, self._state.clock())
        return await super().claim(scope, **terms)


class StartsFencesAnew(Wrong):
    """Counts fences from one for every round of work."""

    breaks = "test_fences_grow"

    async def settle(
        self, claim: Claim, outcome: SettleOutcome, *, now: datetime
    ) -> ConsolidationJob:
        """The counter goes with the lease."""
        job = await super().settle(claim, outcome, now=now)
        self._state.wards[claim.scope].fence = 0
        return job


class LeasesByTheCaller(Wrong):
    """Measures leases with the clock of whoever asks."""

    breaks = "test_a_lease_that_ran_out_frees_the_scope"

    async def claim(self, scope: Scope | None = None, **terms: Unpack[Terms]) -> Claim | None:
        """A worker whose clock is ahead takes what another holds."""
        for ward in self._state.wards.values():
            if ward.lease and terms["now"] >= ward.lease.until:
                ward.lease.until = self._state.clock()
        return await super().claim(scope, **terms)


class LeavesTheDeadRunning(Wrong):
    """Takes a scope over, and leaves the job of the dead as it was."""

    breaks = "test_a_dead_worker_leaves_a_failed_job"

    async def claim(self, scope: Scope | None = None, **terms: Unpack[Terms]) -> Claim | None:
        """Two jobs run, one of them for ever."""
        running = {
            job_id: row.job
            for job_id, row in self._state.jobs.items()
            if row.job.status == "running"
        }
        claim = await super().claim(scope, **terms)
        for job_id, job in running.items():
            self._state.jobs[job_id].job = job
        return claim


class RenewsNothing(Wrong):
    """Answers a renewal, and leaves the lease as it was."""

    breaks = "test_a_renewed_lease_holds_on"

    async def renew(self, claim: Claim, *, lease: timedelta) -> Claim:
        """The date stays where it was."""
        ward = self._state.wards[claim.scope]
        until = ward.lease.until if ward.lease else None
        renewed = await super().renew(claim, lease=lease)
        if ward.lease and until:
            ward.lease.until = until
        return renewed


class RenewsTheLost(Wrong):
    """Renews a lease that another holds."""

    breaks = "test_a_lease_taken_over_cannot_be_renewed"

    async def renew(self, claim: Claim, *, lease: timedelta) -> Claim:
        """No look at the fence."""
        try:
            return await super().renew(claim, lease=lease)
        except LeaseLost:
            return claim


class RenewsTheForgotten(Wrong):
    """Renews a lease that a forget has ended."""

    breaks = "test_a_claim_overtaken_by_a_forget_cannot_be_renewed"

    async def renew(self, claim: Claim, *, lease: timedelta) -> Claim:
        """No look at the epoch."""
        try:
            return await super().renew(claim, lease=lease)
        except Forgotten:
            return claim


class IgnoresFences(Wrong):
    """Lets a late worker settle."""

    breaks = "test_a_late_worker_writes_nothing"

    async def settle(
        self, claim: Claim, outcome: SettleOutcome, *, now: datetime
    ) -> ConsolidationJob:
        """Whoever comes first is right."""
        fence = self._state.wards[claim.scope].fence
        return await super().settle(claim.model_copy(update={"fence": fence}), outcome, now=now)


class ThrowsSlowWorkAway(Wrong):
    """Refuses a claim whose lease ran out, though nobody took over."""

    breaks = "test_a_lease_that_ran_out_alone_may_still_settle"

    async def settle(
        self, claim: Claim, outcome: SettleOutcome, *, now: datetime
    ) -> ConsolidationJob:
        """Late is lost."""
        lease = self._state.wards[claim.scope].lease
        if lease and lease.fence == claim.fence and lease.until <= self._state.clock():
            raise LeaseLost(claim.job_id)
        return await super().settle(claim, outcome, now=now)
