"""How a claim goes on and how it ends: guarded by fence and epoch, in one step."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import partial
from typing import assert_never

from memkit.decay import from_microseconds, microseconds
from memkit.errors import Forgotten, LeaseLost
from memkit.models import (
    Applied,
    Claim,
    Completed,
    ConsolidationJob,
    Dead,
    Failed,
    Released,
    SettleOutcome,
    Skipped,
    Usage,
)
from memkit_backends.relational import scopes
from memkit_backends.relational.driver import Transaction
from memkit_backends.relational.items import carry_out
from memkit_backends.relational.jobs import JOB, columns_of, job_of
from memkit_backends.relational.noun import Noun
from memkit_backends.relational.scopes import Held


class Settling(Noun):
    """`Ledger.renew` and `Ledger.settle`."""

    async def renew(self, claim: Claim, *, lease: timedelta) -> Claim:
        """See `Ledger.renew`."""
        await self._driver.write(partial(self._renew, claim, lease), repeatable=True)
        return claim

    async def _renew(self, claim: Claim, lease: timedelta, tx: Transaction) -> None:
        held = await scopes.hold(tx, self._dialect, claim.scope)
        self._guard(claim, held)
        await tx.execute(
            f"""
            UPDATE scope
               SET lease_until = {self._dialect.store_clock} + :lease
             WHERE pk = :scope
            """,
            scope=held.pk,
            lease=lease // timedelta(microseconds=1),
        )

    async def settle(
        self, claim: Claim, outcome: SettleOutcome, *, now: datetime
    ) -> ConsolidationJob:
        """See `Ledger.settle`.

        A claim that is not held needs nothing done: whatever ended it has failed its job.
        """
        if isinstance(outcome, Completed):
            outcome.changes.require_keepable_in(claim.scope)
        return await self._driver.write(partial(self._settle, claim, outcome, now), repeatable=True)

    async def _settle(
        self, claim: Claim, outcome: SettleOutcome, now: datetime, tx: Transaction
    ) -> ConsolidationJob:
        held = await scopes.hold(tx, self._dialect, claim.scope)
        job, ended_as = await _job(tx, claim.job_id)
        if job is not None and ended_as == outcome.type:
            return job
        if job is None and isinstance(outcome, Released) and held.epoch == claim.epoch:
            return claim.lost("released", at=now)
        self._guard(claim, held)
        if job is None:
            raise LeaseLost(claim.job_id)
        if isinstance(outcome, Released):
            return await self._release(tx, claim, job, held, now)
        applied = Applied()
        if isinstance(outcome, Completed):
            applied = await carry_out(tx, self._dialect, held.pk, outcome.changes)
        await self._mark(tx, job, outcome)
        job = _ended(job, outcome, applied, now)
        await _close(tx, job)
        await _let_go(tx, held)
        return job

    def _guard(self, claim: Claim, held: Held) -> None:
        """Raise unless the claim is held, be it by a lease that ran out with nobody after it."""
        if held.epoch != claim.epoch:
            raise Forgotten(f"job {claim.job_id}")
        if (held.fence, held.job_id) != (claim.fence, claim.job_id):
            raise LeaseLost(claim.job_id)

    async def _release(
        self, tx: Transaction, claim: Claim, job: ConsolidationJob, held: Held, now: datetime
    ) -> ConsolidationJob:
        """Undo the claim; a second time nothing is left to be undone."""
        await self._give_back(tx, job)
        await tx.execute("DELETE FROM job WHERE id = :id", id=job.id)
        await _let_go(tx, held)
        return claim.lost("released", at=now)

    async def _mark(
        self, tx: Transaction, job: ConsolidationJob, outcome: Completed | Skipped | Failed | Dead
    ) -> None:
        match outcome:
            case Completed() | Skipped():
                await self._move(tx, job, "settled")
            case Dead():
                await self._move(tx, job, "dead")
            case Failed(retry_at=retry_at, counts=counts):
                await self._put_off(tx, job, retry_at)
                if not counts:
                    await self._give_back(tx, job)
            case _:
                assert_never(outcome)

    async def _move(self, tx: Transaction, job: ConsolidationJob, status: str) -> None:
        """Mark the episodes of the job that are still pending: not purged, not forgotten."""
        # Index: episode (id).
        await tx.execute(
            f"""
            UPDATE episode
               SET status = :status
             WHERE id {self._dialect.is_one_of_texts(":ids")}
               AND status = 'pending'
            """,
            ids=_in_order(job),
            status=status,
        )

    async def _put_off(self, tx: Transaction, job: ConsolidationJob, retry_at: datetime) -> None:
        # Index: episode (id).
        await tx.execute(
            f"""
            UPDATE episode
               SET next_try = :retry_at
             WHERE id {self._dialect.is_one_of_texts(":ids")}
               AND status = 'pending'
            """,
            ids=_in_order(job),
            retry_at=microseconds(retry_at),
        )

    async def _give_back(self, tx: Transaction, job: ConsolidationJob) -> None:
        # Index: episode (id).
        await tx.execute(
            f"""
            UPDATE episode
               SET attempts = CASE WHEN attempts > 0 THEN attempts - 1 ELSE 0 END
             WHERE id {self._dialect.is_one_of_texts(":ids")}
               AND status = 'pending'
            """,
            ids=_in_order(job),
        )


def _in_order(job: ConsolidationJob) -> list[str]:
    # So that no two callers wait for each other.
    return sorted(job.episode_ids)


def _ended(
    job: ConsolidationJob,
    outcome: Completed | Skipped | Failed | Dead,
    applied: Applied,
    now: datetime,
) -> ConsolidationJob:
    """The job as `outcome` ends it."""
    values: dict[str, object] = {
        "status": outcome.type,
        "finished_at": from_microseconds(microseconds(now)),
        "added": len(applied.added),
        "updated": len(applied.updated),
        "removed": len(applied.removed) + len(applied.superseded),
        "reinforced": len(applied.reinforced),
        "usage": Usage() if isinstance(outcome, Skipped) else outcome.usage,
    }
    if isinstance(outcome, Completed | Skipped):
        values["checksum"] = outcome.checksum
    if isinstance(outcome, Failed | Dead):
        values["error"] = outcome.error
    if isinstance(outcome, Failed):
        values["retry_at"] = from_microseconds(microseconds(outcome.retry_at))
    return job.model_copy(update=values)


async def _close(tx: Transaction, job: ConsolidationJob) -> None:
    # Index: job (id).
    await tx.execute(
        """
        UPDATE job
           SET status = :status, outcome = :status, finished_at = :finished_at,
               added = :added, updated = :updated, removed = :removed,
               reinforced = :reinforced, checksum = :checksum, calls = :calls,
               input_tokens = :input_tokens, output_tokens = :output_tokens,
               error = :error, retry_at = :retry_at
         WHERE id = :id
        """,
        **columns_of(job),
    )


async def _let_go(tx: Transaction, held: Held) -> None:
    await tx.execute("UPDATE scope SET lease_until = 0, job_id = NULL WHERE pk = :pk", pk=held.pk)


async def _job(tx: Transaction, job_id: str) -> tuple[ConsolidationJob | None, str | None]:
    """The job, and the kind of outcome that ended it, if one has."""
    # Index: job (id).
    row = await tx.fetch_one(
        f"SELECT {JOB}, job.outcome FROM job JOIN scope ON scope.pk = job.scope_pk"
        " WHERE job.id = :id",
        id=job_id,
    )
    return (None, None) if row is None else (job_of(row[:-1]), row[-1])
