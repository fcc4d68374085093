"""Ledgers that settle wrongly."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime
from typing import Self, Unpack

from memkit.errors import Forgotten, LeaseLost
from memkit.models import (
    Changes,
    Claim,
    Completed,
    ConsolidationJob,
    Dead,
    Failed,
    Receipt,
    Released,
    SettleOutcome,
    Skipped,
    Target,
    Usage,
    WholeScope,
)
from memkit.testing.wrong.store import Manner, Wrong


class ForgetsTheCost(Wrong):
    """Keeps no usage of a completed run."""

    breaks = "test_a_completed_run_is_carried_out"

    async def settle(
        self, claim: Claim, outcome: SettleOutcome, *, now: datetime
    ) -> ConsolidationJob:
        """Success is free."""
        if isinstance(outcome, Completed):
            outcome = outcome.model_copy(update={"usage": Usage()})
        return await super().settle(claim, outcome, now=now)


class CountsOnlyDeletions(Wrong):
    """Counts what was superseded as if it had stayed."""

    breaks = "test_a_job_counts_what_it_did"

    async def settle(
        self, claim: Claim, outcome: SettleOutcome, *, now: datetime
    ) -> ConsolidationJob:
        """Less than took place."""
        job = await super().settle(claim, outcome, now=now)
        return job.model_copy(update={"removed": min(job.removed, 1)})


class SettlesAroundTombstones(Wrong):
    """Lets a run bring back what was forgotten."""

    breaks = "test_completing_applies_changes_as_ever"

    async def settle(
        self, claim: Claim, outcome: SettleOutcome, *, now: datetime
    ) -> ConsolidationJob:
        """Has a second way to write items."""
        if isinstance(outcome, Completed):
            told = tuple(each.model_copy(update={"sources": ()}) for each in outcome.changes.add)
            changes = outcome.changes.model_copy(update={"add": told})
            outcome = outcome.model_copy(update={"changes": changes})
        return await super().settle(claim, outcome, now=now)


class SettlesAgain(Wrong):
    """Carries a run out each time that it is settled."""

    breaks = "test_settling_twice_has_the_effect_of_once"

    async def settle(
        self, claim: Claim, outcome: SettleOutcome, *, now: datetime
    ) -> ConsolidationJob:
        """After an unknown outcome everything is done once more."""
        row = self._state.jobs.get(claim.job_id)
        if row is not None and row.job.status == "completed" and isinstance(outcome, Completed):
            await self.apply(claim.scope, outcome.changes)
        return await super().settle(claim, outcome, now=now)


class CallsSkippedCompleted(Wrong):
    """Says of a skipped run that it was carried out."""

    breaks = "test_a_skipped_run_settles_its_episodes"

    async def settle(
        self, claim: Claim, outcome: SettleOutcome, *, now: datetime
    ) -> ConsolidationJob:
        """As if a model had been asked."""
        job = await super().settle(claim, outcome, now=now)
        skipped = isinstance(outcome, Skipped)
        return job.model_copy(update={"status": "completed"}) if skipped else job


class KeepsNoNextTry(Wrong):
    """Says of a failed job not when it is tried again."""

    breaks = "test_a_failed_run_leaves_its_episodes_pending"

    async def settle(
        self, claim: Claim, outcome: SettleOutcome, *, now: datetime
    ) -> ConsolidationJob:
        """An operator cannot see it."""
        job = await super().settle(claim, outcome, now=now)
        return job.model_copy(update={"retry_at": None})


class BlamesTheEpisodes(Wrong):
    """Counts an attempt for a rate limit too."""

    breaks = "test_a_fault_that_is_not_theirs_costs_no_attempt"

    async def settle(
        self, claim: Claim, outcome: SettleOutcome, *, now: datetime
    ) -> ConsolidationJob:
        """`counts` is not looked at."""
        if isinstance(outcome, Failed):
            outcome = outcome.model_copy(update={"counts": True})
        return await super().settle(claim, outcome, now=now)


class BuriesTheDead(Wrong):
    """Says of a dead job not why."""

    breaks = "test_a_dead_episode_waits_for_a_person"

    async def settle(
        self, claim: Claim, outcome: SettleOutcome, *, now: datetime
    ) -> ConsolidationJob:
        """A person has nothing to go by."""
        job = await super().settle(claim, outcome, now=now)
        return job.model_copy(update={"error": None}) if isinstance(outcome, Dead) else job


class KeepsReleasedJobs(Wrong):
    """Keeps the job of a claim that was handed back."""

    breaks = "test_a_claim_handed_back_leaves_no_trace"

    async def settle(
        self, claim: Claim, outcome: SettleOutcome, *, now: datetime
    ) -> ConsolidationJob:
        """A failure that was none."""
        row = self._state.jobs.get(claim.job_id)
        job = await super().settle(claim, outcome, now=now)
        if isinstance(outcome, Released) and row is not None:
            self._state.jobs[claim.job_id] = row
        return job


class CallsForgottenLost(Wrong):
    """Says of a claim that a forget overtook that another worker has it."""

    breaks = "test_a_forget_overtakes_what_is_in_flight"

    async def settle(
        self, claim: Claim, outcome: SettleOutcome, *, now: datetime
    ) -> ConsolidationJob:
        """The wrong reason."""
        try:
            return await super().settle(claim, outcome, now=now)
        except Forgotten:
            raise LeaseLost(claim.job_id) from None


class HoldsOnThroughAForget(Wrong):
    """Leaves a scope leased to a claim that cannot settle any more."""

    breaks = "test_what_a_forget_overtook_is_done_anew"

    async def forget(self, target: Target, **how: Unpack[Manner]) -> Receipt:
        """The next has to wait for the lease."""
        leases = {scope: ward.lease for scope, ward in self._state.wards.items()}
        receipt = await super().forget(target, **how)
        for scope, lease in leases.items():
            self._state.wards[scope].lease = lease
        return receipt


class KeepsForgottenJobs(Wrong):
    """Keeps the jobs of a scope that was forgotten whole."""

    breaks = "test_a_forgotten_scope_keeps_no_job"

    async def forget(self, target: Target, **how: Unpack[Manner]) -> Receipt:
        """Jobs are no memory, one might think."""
        jobs = dict(self._state.jobs)
        receipt = await super().forget(target, **how)
        self._state.jobs |= jobs if isinstance(target, WholeScope) else {}
        return receipt


class VouchesForTheForgotten(Wrong):
    """Keeps the checksum of a job of which an episode was forgotten."""

    breaks = "test_a_job_outlives_one_of_its_episodes"

    async def forget(self, target: Target, **how: Unpack[Manner]) -> Receipt:
        """The same words said again are skipped unread."""
        sums = {job_id: row.job.checksum for job_id, row in self._state.jobs.items()}
        receipt = await super().forget(target, **how)
        for job_id, row in self._state.jobs.items():
            row.job = row.job.model_copy(update={"checksum": sums[job_id]})
        return receipt


class RequeuesWithoutPardon(Wrong):
    """Makes dead episodes pending, with all their attempts."""

    breaks = "test_dead_episodes_are_requeued"

    async def requeue(self, job_ids: Sequence[str]) -> int:
        """They die at the next fault."""
        dead = {
            each: row.attempts for each, row in self._state.episodes.items() if row.stage == "dead"
        }
        count = await super().requeue(job_ids)
        for episode_id, attempts in dead.items():
            self._state.episodes[episode_id].attempts = attempts
        return count


class RequeuesForLater(Wrong):
    """Leaves the next try of a requeued episode where it was."""

    breaks = "test_failed_episodes_are_requeued_at_once"

    async def requeue(self, job_ids: Sequence[str]) -> int:
        """A person who asks has to wait."""
        tries = {each: row.retry_at for each, row in self._state.episodes.items()}
        count = await super().requeue(job_ids)
        for episode_id, retry_at in tries.items():
            self._state.episodes[episode_id].retry_at = retry_at
        return count


class RequeuesTheSettled(Wrong):
    """Makes the episodes of any job pending anew."""

    breaks = "test_only_what_failed_is_requeued"

    async def requeue(self, job_ids: Sequence[str]) -> int:
        """What was extracted is extracted again."""
        count = await super().requeue(job_ids)
        jobs = [self._state.jobs[each].job for each in job_ids if each in self._state.jobs]
        for job in jobs:
            for episode_id in job.episode_ids if job.status == "completed" else ():
                self._state.mark(self._state.episodes[episode_id], "pending")
        return count


class HalfSettles(Wrong):
    """Leaves the items of a settlement that is cancelled, and the episodes pending."""

    breaks = "test_a_cancelled_settlement_is_whole_or_not_at_all"

    async def settle(
        self, claim: Claim, outcome: SettleOutcome, *, now: datetime
    ) -> ConsolidationJob:
        """Two commits."""
        try:
            await asyncio.sleep(0)
        except asyncio.CancelledError:
            changes = outcome.changes if isinstance(outcome, Completed) else Changes()
            await self.apply(claim.scope, changes)
            raise
        return await super().settle(claim, outcome, now=now)


class ForgetsAttempts(Wrong):
    """Counts attempts in memory."""

    breaks = "test_the_ledger_is_there_after_reopening"

    def reopened(self) -> Self:
        """A restart resets the budget."""
        for row in self._state.episodes.values():
            row.attempts = 0
        return self
