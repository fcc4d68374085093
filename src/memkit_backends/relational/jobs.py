"""Jobs: what is kept of each run of consolidation."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from functools import partial
from typing import Final, LiteralString

from memkit.decay import from_microseconds, microseconds
from memkit.models import ConsolidationJob, Scope, Usage
from memkit_backends.relational.damage import reads_a_row
from memkit_backends.relational.driver import Parameters, Row, Transaction
from memkit_backends.relational.noun import Noun

JOB: Final[LiteralString] = """
       job.id, scope.key, job.status, job.episode_ids, job.added, job.updated, job.removed,
       job.reinforced, job.checksum, job.calls, job.input_tokens, job.output_tokens,
       job.attempts, job.error, job.retry_at, job.started_at, job.finished_at
"""
"""The columns of a job, of `job` joined to its `scope`."""


@reads_a_row
def job_of(row: Row) -> ConsolidationJob:
    """The job that a row of JOB columns makes."""
    (job_id, scope, status, episode_ids, added, updated, removed, reinforced, *rest) = row
    (checksum, calls, input_tokens, output_tokens, attempts, error, *dates) = rest
    (retry_at, started_at, finished_at) = dates
    return ConsolidationJob(
        id=job_id,
        scope=Scope.from_key(scope),
        status=status,
        episode_ids=tuple(json.loads(episode_ids)),
        added=added,
        updated=updated,
        removed=removed,
        reinforced=reinforced,
        checksum=checksum,
        usage=Usage(calls=calls, input_tokens=input_tokens, output_tokens=output_tokens),
        attempts=attempts,
        error=error,
        retry_at=None if retry_at is None else from_microseconds(retry_at),
        started_at=from_microseconds(started_at),
        finished_at=None if finished_at is None else from_microseconds(finished_at),
    )


def columns_of(job: ConsolidationJob) -> Parameters:
    """What the end of a job writes, by column."""
    return {
        "id": job.id,
        "status": job.status,
        "added": job.added,
        "updated": job.updated,
        "removed": job.removed,
        "reinforced": job.reinforced,
        "checksum": job.checksum,
        "calls": job.usage.calls,
        "input_tokens": job.usage.input_tokens,
        "output_tokens": job.usage.output_tokens,
        "error": job.error,
        "retry_at": None if job.retry_at is None else microseconds(job.retry_at),
        "finished_at": None if job.finished_at is None else microseconds(job.finished_at),
    }


def dump_ids(ids: Sequence[str]) -> str:
    """Episode ids as a job keeps them."""
    return json.dumps(list(ids), separators=(",", ":"))


async def fail(tx: Transaction, job_id: str, error: str, now: datetime) -> None:
    """End a running job that nobody settled."""
    # Index: job (id).
    await tx.execute(
        """
        UPDATE job
           SET status = 'failed', error = :error, finished_at = :now
         WHERE id = :id
           AND status = 'running'
        """,
        id=job_id,
        error=error,
        now=microseconds(now),
    )


class Jobs(Noun):
    """`Ledger.requeue`."""

    async def requeue(self, job_ids: Sequence[str]) -> int:
        """See `Ledger.requeue`. What was settled, purged or forgotten since stays as it is."""
        return await self._driver.write(partial(self._requeue, job_ids), repeatable=True)

    async def _requeue(self, job_ids: Sequence[str], tx: Transaction) -> int:
        # Index: job (id).
        rows = await tx.fetch_all(
            f"""
            SELECT episode_ids
              FROM job
             WHERE id {self._dialect.is_one_of_texts(":ids")}
               AND status IN ('dead', 'failed')
            """,
            ids=list(job_ids),
        )
        # In order, so that no two callers wait for each other.
        ids = sorted({each for (episode_ids,) in rows for each in json.loads(episode_ids)})
        # Index: episode (id).
        return await tx.execute(
            f"""
            UPDATE episode
               SET status = 'pending', attempts = 0, next_try = 0
             WHERE id {self._dialect.is_one_of_texts(":ids")}
               AND status IN ('dead', 'pending')
            """,
            ids=ids,
        )
