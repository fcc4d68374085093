"""Claiming: which scope has work that is due, and what of it one claim takes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from memkit.contracts import MOST_CLAIMED
from memkit.inmemory.episodes import pieces
from memkit.inmemory.state import EpisodeRow, JobRow, Lease, SessionId, State
from memkit.models import Claim, ConsolidationJob, Episode, Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What a claim asks for, as `Ledger.claim` says it."""

    now: datetime
    budget: int
    lease: timedelta
    idle: timedelta | None
    max_wait: timedelta | None
    context: int


def claim(state: State, scope: Scope | None, terms: Terms, *, job_id: str) -> Claim | None:
    """See `Ledger.claim`."""
    homes = [scope] if scope is not None else list(state.pending)
    found = {home: rows for home in homes if (rows := due(state, home, terms))}
    if not found:
        return None
    home = min(found, key=lambda each: found[each][0].age)
    return grant(state, home, _taken(found[home], terms.budget), terms, job_id)


def due(state: State, home: Scope, terms: Terms) -> list[EpisodeRow]:
    """The pending episodes of `home` whose time has come, oldest first."""
    if state.is_worked_on(home):
        return []
    waiting = [state.episodes[each] for each in state.pending.get(home, ())]
    calm = {
        session
        for session in {row.session for row in waiting}
        if _is_calm(state, session, waiting, terms)
    }
    return sorted(
        (row for row in waiting if row.session in calm and _may_be_tried(row, terms.now)),
        key=lambda row: row.age,
    )


def _may_be_tried(row: EpisodeRow, now: datetime) -> bool:
    return row.retry_at is None or row.retry_at <= now


def _is_calm(state: State, session: SessionId, waiting: Sequence[EpisodeRow], terms: Terms) -> bool:
    """Whether nobody is talking in the session any more, or it has waited long enough."""
    if terms.idle is None:
        return True
    said = (state.episodes[each].skeleton for each in state.log(session).episode_ids)
    if terms.now - max(each.recorded_at for each in said) >= terms.idle:
        return True
    oldest = min(row.skeleton.recorded_at for row in waiting if row.session == session)
    return terms.max_wait is not None and terms.now - oldest > terms.max_wait


def _taken(due: Sequence[EpisodeRow], budget: int) -> list[EpisodeRow]:
    """The oldest, and those after it that fit; one that was tried before is taken alone."""
    taken = [due[0]]
    for row in due[1:MOST_CLAIMED]:
        budget -= taken[-1].skeleton.tokens
        if taken[0].attempts or row.attempts or row.skeleton.tokens > budget:
            break
        taken.append(row)
    return taken


def grant(
    state: State, home: Scope, taken: Sequence[EpisodeRow], terms: Terms, job_id: str
) -> Claim:
    """Give `taken` out under a new lease; one that ran out is a crash."""
    ward = state.ward(home)
    if ward.lease is not None:
        state.fail(ward.lease.job_id, "crashed", terms.now)
    ward.fence += 1
    ward.lease = Lease(job_id, ward.fence, state.clock() + terms.lease)
    for row in taken:
        row.attempts += 1
    job = ConsolidationJob(
        id=job_id,
        scope=home,
        status="running",
        episode_ids=tuple(row.skeleton.id for row in taken),
        attempts=max(row.attempts for row in taken),
        started_at=terms.now,
    )
    state.jobs[job_id] = JobRow(job)
    return Claim(
        job_id=job_id,
        scope=home,
        fence=ward.fence,
        epoch=ward.epoch,
        attempts=job.attempts,
        episodes=tuple(each for row in taken for each in pieces(row, _newest(state, row))),
        context=tuple(_context(state, taken, terms.context)),
    )


def _newest(state: State, row: EpisodeRow) -> list[int]:
    """Where the messages stand that no later one revises."""
    log = state.log(row.session)
    return [place for place in sorted(row.bodies) if not log.is_revised(place)]


def _context(state: State, taken: Sequence[EpisodeRow], count: int) -> Iterator[Episode]:
    """The last `count` settled messages before what is taken, of each of its sessions."""
    first: dict[SessionId, int] = {}
    for row in taken:
        first[row.session] = min(
            row.skeleton.position, first.get(row.session, row.skeleton.position)
        )
    for session, position in first.items():
        yield from _before(state, session, position, home=taken[0].skeleton.home, count=count)


def _before(
    state: State, session: SessionId, position: int, *, home: Scope, count: int
) -> Iterator[Episode]:
    rows = (state.episodes[each] for each in state.log(session).episode_ids)
    settled = [row for row in rows if row.stage == "settled" and row.skeleton.home == home]
    places = [(row, each) for row in settled for each in _newest(state, row) if each < position]
    last = {each for _, each in places[max(0, len(places) - count) :]}
    for row in settled:
        mine = last.intersection(row.positions)
        if mine:
            yield from pieces(row, mine)
