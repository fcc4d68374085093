"""How a claim goes on and how it ends."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import assert_never

from memkit.errors import Forgotten, LeaseLost
from memkit.inmemory.candidates import find
from memkit.inmemory.items import apply, get
from memkit.inmemory.state import EpisodeRow, JobRow, Lease, Stage, State
from memkit.models import (
    Applied,
    Background,
    Claim,
    Completed,
    ConsolidationJob,
    Dead,
    Episode,
    Failed,
    Query,
    Released,
    Scope,
    SettleOutcome,
    Skipped,
)


def renew(state: State, claim: Claim, *, lease: timedelta) -> Claim:
    """See `Ledger.renew`."""
    _held(state, claim).until = state.clock() + lease
    return claim


def _held(state: State, claim: Claim) -> Lease:
    """The lease of `claim`, also one that ran out if nobody took the scope since."""
    ward = state.ward(claim.scope)
    if claim.epoch != ward.epoch:
        raise Forgotten(f"job {claim.job_id}")
    if ward.lease is None or ward.lease.fence != claim.fence:
        raise LeaseLost(claim.job_id)
    return ward.lease


def settle(
    state: State, claim: Claim, outcome: SettleOutcome, *, now: datetime
) -> ConsolidationJob:
    """See `Ledger.settle`.

    A claim that is not held needs nothing done: whatever ended it has failed its job.
    """
    row = state.jobs.get(claim.job_id)
    if row is not None and row.outcome == outcome.type:
        return row.job
    if row is None and isinstance(outcome, Released) and claim.epoch == state.epoch(claim.scope):
        return claim.lost("released", at=now)
    _held(state, claim)
    if isinstance(outcome, Released):
        _give_back(state, claim)
        return claim.lost("released", at=now)
    return _close(state, state.jobs[claim.job_id], outcome, now)


def _give_back(state: State, claim: Claim) -> None:
    for row in _waiting(state, state.jobs.pop(claim.job_id).job):
        row.attempts = max(0, row.attempts - 1)
    state.ward(claim.scope).lease = None


def _waiting(state: State, job: ConsolidationJob) -> list[EpisodeRow]:
    """The episodes of `job` that are still pending: none was purged or settled since."""
    rows = (state.episodes[each] for each in job.episode_ids)
    return [row for row in rows if row.stage == "pending"]


def _close(
    state: State,
    row: JobRow,
    outcome: Completed | Skipped | Failed | Dead,
    now: datetime,
) -> ConsolidationJob:
    job = row.job
    values: dict[str, object] = {"status": outcome.type, "finished_at": now}
    match outcome:
        case Completed():
            # First, because it is what may refuse; nothing else is written if it does.
            values |= _figures(apply(state, job.scope, outcome.changes, epoch=None))
            values |= {"checksum": outcome.checksum, "usage": outcome.usage}
            _move(state, job, "settled")
        case Skipped():
            values |= {"checksum": outcome.checksum}
            _move(state, job, "settled")
        case Failed():
            values |= {"error": outcome.error, "retry_at": outcome.retry_at}
            values |= {"usage": outcome.usage}
            _put_off(state, job, outcome)
        case Dead():
            values |= {"error": outcome.error, "usage": outcome.usage}
            _move(state, job, "dead")
        case _:
            assert_never(outcome)
    state.ward(job.scope).lease = None
    row.job, row.outcome = job.model_copy(update=values), outcome.type
    return row.job


def _figures(applied: Applied) -> dict[str, int]:
    return {
        "added": len(applied.added),
        "updated": len(applied.updated),
        "removed": len(applied.removed) + len(applied.superseded),
        "reinforced": len(applied.reinforced),
    }


def _move(state: State, job: ConsolidationJob, stage: Stage) -> None:
    for row in _waiting(state, job):
        state.mark(row, stage)


def _put_off(state: State, job: ConsolidationJob, outcome: Failed) -> None:
    for row in _waiting(state, job):
        row.retry_at = outcome.retry_at
        row.attempts = max(0, row.attempts - (not outcome.counts))


def background(state: State, claim: Claim, query: Query, checksum: str) -> Background:
    """See `Ledger.background`."""
    found = find(state, query)
    ids = {each.id for each in found.exact} | set(_revised(state, claim, query.now))
    return Background(
        settled=_is_settled(state, claim.scope, checksum),
        found=found,
        items=tuple(get(state, claim.scope, sorted(ids))),
    )


def _is_settled(state: State, scope: Scope, checksum: str) -> bool:
    jobs = (row.job for row in state.jobs.values())
    return any(
        job.scope == scope and job.checksum == checksum and job.status == "completed"
        for job in jobs
    )


def _revised(state: State, claim: Claim, now: datetime) -> Iterator[str]:
    """Ids of the items with a source that a message of the claim revises."""
    said: dict[tuple[Scope, str, str | None], Episode] = {
        (each.scope, each.session_id, message.key): each
        for each in claim.episodes
        for message in each.messages
        if message.key is not None
    }
    for item_id in state.shelf(claim.scope).ids if said else ():
        item = state.items[item_id]
        if item.status != "superseded" and item.expires_at > now:
            earlier = ((state.episodes.get(each.episode_id), each.key) for each in item.sources)
            if any(row and _precedes(row, said.get((*row.session, key))) for row, key in earlier):
                yield item_id


def _precedes(row: EpisodeRow, later: Episode | None) -> bool:
    earlier = row.skeleton
    return later is not None and earlier.id != later.id and earlier.position < later.position


def requeue(state: State, job_ids: Sequence[str]) -> int:
    """See `Ledger.requeue`. What was settled, purged or forgotten since stays as it is."""
    jobs = (state.jobs[each].job for each in job_ids if each in state.jobs)
    ids = {each for job in jobs if job.status in {"dead", "failed"} for each in job.episode_ids}
    rows = [row for each in ids if (row := state.episodes[each]).stage in {"dead", "pending"}]
    for row in rows:
        row.attempts, row.retry_at = 0, None
        state.mark(row, "pending")
    return len(rows)
