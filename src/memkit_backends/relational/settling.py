"""How a claim goes on and how it ends: guarded by fence and epoch, in one step."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from functools import partial
from typing import assert_never

from memkit.decay import microseconds
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
from memkit_backends.relational.jobs import JOB, job_of
from memkit_backends.relational.noun import Noun
from memkit_backends.relational.scopes import Held

NOTHING = Applied()


class Settling(Noun):
    """`Ledger.renew` and `Ledger.settle`."""

    async def renew(self, claim: Claim, *, lease: timedelta) -> Claim:
        """See `Ledger.renew`."""
        await self._driver.write(partial(self._renew, claim, lease), repeatable=True)
        return claim

    async def _renew(self, claim: Claim, lease: timedelta, tx: Transaction) -> None:
        held = await scopes.hold(tx, self._dialect, claim.scope)
        await self._guard(tx, claim, held)
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
        known = await _settled_before(tx, claim, outcome)
        if known is not None:
            return known
        if isinstance(outcome, Released):
            return await self._release(tx, claim, held, now)
        await self._guard(tx, claim, held)
        applied = NOTHING
        if isinstance(outcome, Completed):
            applied = await carry_out(tx, self._dialect, held.pk, outcome.changes)
        await self._mark(tx, claim, outcome)
        await self._close(tx, claim, outcome, applied, now)
        await _let_go(tx, held)
        return await _job(tx, claim.job_id)

    async def _guard(self, tx: Transaction, claim: Claim, held: Held) -> None:
        """Raise unless the claim is held, be it by a lease that ran out with nobody after it."""
        if held.epoch != claim.epoch:
            raise Forgotten(f"job {claim.job_id}")
        row = await tx.fetch_one(
            "SELECT 1 FROM scope WHERE pk = :pk AND fence = :fence AND job_id = :job",
            pk=held.pk,
            fence=claim.fence,
            job=claim.job_id,
        )
        if row is None:
            raise LeaseLost(claim.job_id)

    async def _release(
        self, tx: Transaction, claim: Claim, held: Held, now: datetime
    ) -> ConsolidationJob:
        """Undo the claim; a second time nothing is left to be undone."""
        row = await tx.fetch_one("SELECT 1 FROM job WHERE id = :id", id=claim.job_id)
        if row is not None or held.epoch != claim.epoch:
            await self._guard(tx, claim, held)
            await self._give_back(tx, claim)
            await tx.execute("DELETE FROM job WHERE id = :id", id=claim.job_id)
            await _let_go(tx, held)
        return claim.lost("released", at=now)

    async def _mark(
        self, tx: Transaction, claim: Claim, outcome: Completed | Skipped | Failed | Dead
    ) -> None:
        match outcome:
            case Completed() | Skipped():
                await self._move(tx, claim, "settled")
            case Dead():
                await self._move(tx, claim, "dead")
            case Failed(retry_at=retry_at, counts=counts):
                await self._put_off(tx, claim, retry_at)
                if not counts:
                    await self._give_back(tx, claim)
            case _:
                assert_never(outcome)

    async def _move(self, tx: Transaction, claim: Claim, status: str) -> None:
        """Mark the episodes of the claim that are still pending: not purged, not forgotten."""
        # Index: episode (id).
        await tx.execute(
            f"""
            UPDATE episode
               SET status = :status
             WHERE id {self._dialect.is_one_of_texts(":ids")}
               AND status = 'pending'
            """,
            ids=await _episode_ids(tx, claim),
            status=status,
        )

    async def _put_off(self, tx: Transaction, claim: Claim, retry_at: datetime) -> None:
        # Index: episode (id).
        await tx.execute(
            f"""
            UPDATE episode
               SET next_try = :retry_at
             WHERE id {self._dialect.is_one_of_texts(":ids")}
               AND status = 'pending'
            """,
            ids=await _episode_ids(tx, claim),
            retry_at=microseconds(retry_at),
        )

    async def _give_back(self, tx: Transaction, claim: Claim) -> None:
        # Index: episode (id).
        await tx.execute(
            f"""
            UPDATE episode
               SET attempts = CASE WHEN attempts > 0 THEN attempts - 1 ELSE 0 END
             WHERE id {self._dialect.is_one_of_texts(":ids")}
               AND status = 'pending'
            """,
            ids=await _episode_ids(tx, claim),
        )

    async def _close(
        self,
        tx: Transaction,
        claim: Claim,
        outcome: Completed | Skipped | Failed | Dead,
        applied: Applied,
        now: datetime,
    ) -> None:
        usage = Usage() if isinstance(outcome, Skipped) else outcome.usage
        # Index: job (id).
        await tx.execute(
            """
            UPDATE job
               SET status = :status, outcome = :status, finished_at = :now,
                   added = :added, updated = :updated, removed = :removed,
                   reinforced = :reinforced, checksum = :checksum, calls = :calls,
                   input_tokens = :input_tokens, output_tokens = :output_tokens,
                   error = :error, retry_at = :retry_at
             WHERE id = :id
            """,
            id=claim.job_id,
            status=outcome.type,
            now=microseconds(now),
            added=len(applied.added),
            updated=len(applied.updated),
            removed=len(applied.removed) + len(applied.superseded),
            reinforced=len(applied.reinforced),
            checksum=outcome.checksum if isinstance(outcome, Completed | Skipped) else None,
            calls=usage.calls,
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            error=outcome.error if isinstance(outcome, Failed | Dead) else None,
            retry_at=microseconds(outcome.retry_at) if isinstance(outcome, Failed) else None,
        )


async def _let_go(tx: Transaction, held: Held) -> None:
    await tx.execute("UPDATE scope SET lease_until = 0, job_id = NULL WHERE pk = :pk", pk=held.pk)


async def _settled_before(
    tx: Transaction, claim: Claim, outcome: SettleOutcome
) -> ConsolidationJob | None:
    """The job, if it was ended by this kind of outcome already."""
    # Index: job (id).
    row = await tx.fetch_one(
        "SELECT 1 FROM job WHERE id = :id AND outcome = :type",
        id=claim.job_id,
        type=outcome.type,
    )
    return None if row is None else await _job(tx, claim.job_id)


async def _episode_ids(tx: Transaction, claim: Claim) -> list[str]:
    row = await tx.fetch_one("SELECT episode_ids FROM job WHERE id = :id", id=claim.job_id)
    # In order, so that no two callers wait for each other.
    return [] if row is None else sorted(json.loads(row[0]))


async def _job(tx: Transaction, job_id: str) -> ConsolidationJob:
    row = await tx.fetch_one(
        f"SELECT {JOB} FROM job JOIN scope ON scope.pk = job.scope_pk WHERE job.id = :id",
        id=job_id,
    )
    if row is None:
        raise LeaseLost(job_id)
    return job_of(row)
