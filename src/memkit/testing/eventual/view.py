"""What the writes amount to that can be seen: each carried out in the order of its number.

Two readers that see the same writes see the same memory, doubles merged and rivals judged,
whatever each of them believed while it wrote.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import datetime
from typing import assert_never

from memkit.decay import EPOCH
from memkit.errors import Forgotten, InvalidInput, LeaseLost
from memkit.inmemory import items, ledger
from memkit.inmemory.claims import grant
from memkit.inmemory.episodes import append, let_go
from memkit.inmemory.forgetting import forget
from memkit.inmemory.state import EpisodeRow, JobRow, State
from memkit.models import Changes, Claim
from memkit.testing.eventual.service import Write
from memkit.testing.eventual.writes import (
    Changed,
    Claimed,
    Decided,
    Ended,
    Erased,
    Expired,
    Renewed,
    Requeued,
    Said,
)


class View:
    """The in-memory store's state, made anew from writes, and the decisions about it."""

    def __init__(self, writes: Iterable[Write], *, now: datetime) -> None:
        self._moment = EPOCH
        self.state = State(clock=lambda: self._moment)
        self.decisions: dict[int, Decided] = {}
        self._open: set[int] = set()
        self._carried_out: set[tuple[int, int]] = set()
        for write in writes:
            # Leases are judged by the time at which each was asked for.
            self._moment = write.at
            self._carry_out(write)
        self._moment = now

    def undone(self) -> Iterator[tuple[int, Decided]]:
        """The decisions that won and were not carried out to the end, lowest first."""
        for number in sorted(self._open):
            decided = self.decisions[number]
            if self._holds(decided.claim):
                yield number, decided

    def decision_about(self, claim: Claim) -> tuple[int, Decided] | None:
        """The decision that won about any of these episodes."""
        wanted = ids(claim)
        found = (each for each in self.undone() if not wanted.isdisjoint(ids(each[1].claim)))
        return next(found, None)

    def _rows(self, episode_ids: Iterable[str]) -> list[EpisodeRow]:
        known = self.state.episodes
        return [known[each] for each in episode_ids if each in known]

    def _holds(self, claim: Claim) -> bool:
        return claim.epoch == self.state.epoch(claim.scope)

    def _carry_out(self, write: Write) -> None:
        match write.event:
            case Said(episode=episode):
                # A conflict that nobody could see in time is kept as a revision; the same
                # id in another session is a caller's error, and the first one stays.
                with suppress(InvalidInput):
                    append(self.state, [episode], expected_head=None, revise=True)
            case Changed() as changed:
                self._change(changed)
            case Erased(target=target, at=at, replacement=replacement):
                forget(self.state, target, at=at, replacement=replacement)
            case Expired(item_id=item_id, episode_id=episode_id):
                self._expire(item_id, episode_id)
            case Claimed() as asked:
                self._claim(asked, write.number)
            case Renewed(claim=claim, lease=lease):
                with suppress(Forgotten, LeaseLost):
                    ledger.renew(self.state, claim, lease=lease)
            case Decided() as decided:
                self._decide(decided, write.number)
            case Ended() as ended:
                self._end(ended)
            case Requeued(job_ids=job_ids):
                ledger.requeue(self.state, job_ids)
            case _:
                assert_never(write.event)

    def _change(self, changed: Changed) -> None:
        if changed.decision is not None and not self._is_next_part(changed):
            return
        record = changed.record
        change = changed.change if record is None else Changes(add=(record.named,))
        with suppress(Forgotten):
            items.apply(self.state, changed.scope, change, epoch=changed.epoch)

    def _is_next_part(self, changed: Changed) -> bool:
        """Whether this part of a decision that won was not carried out by another before."""
        if changed.decision is None or changed.decision not in self.decisions:
            return False
        part = (changed.decision, changed.part)
        is_next = part not in self._carried_out
        self._carried_out.add(part)
        return is_next

    def _expire(self, item_id: str | None, episode_id: str | None) -> None:
        if item_id is not None:
            self.state.drop(item_id)
        row = None if episode_id is None else self.state.episodes.get(episode_id)
        if row is not None and row.bodies:
            let_go(self.state, row, row.positions, forgotten=False)

    def _claim(self, asked: Claimed, number: int) -> None:
        """The lowest claim wins: one that comes while another is live has lost."""
        taken = [row for row in self._rows(asked.episode_ids) if row.stage == "pending"]
        is_void = asked.epoch != self.state.epoch(asked.scope)
        if is_void or not taken or self.state.is_worked_on(asked.scope):
            return
        grant(self.state, asked.scope, taken, asked.terms, asked.job_id)
        ward = self.state.ward(asked.scope)
        ward.fence = number
        if ward.lease is not None:
            ward.lease.fence = number

    def _decide(self, decided: Decided, number: int) -> None:
        """The lowest decision wins, whoever of its rivals held the lease."""
        is_late = any(row.stage == "settled" for row in self._rows(ids(decided.claim)))
        is_beaten = self.decision_about(decided.claim) is not None
        if self._holds(decided.claim) and not is_late and not is_beaten:
            self.decisions[number] = decided
            self._open.add(number)

    def _end(self, ended: Ended) -> None:
        if ended.decision is None:
            with suppress(Forgotten, LeaseLost):
                ledger.settle(self.state, ended.claim, ended.outcome, now=ended.now)
            return
        self._let_go_of_lease(ended.claim)
        if ended.decision in self._open and self._holds(ended.claim):
            self._close(ended, self.decisions[ended.decision])
            self._open.discard(ended.decision)
        else:
            self.state.fail(ended.claim.job_id, "lost", ended.now)

    def _close(self, ended: Ended, decided: Decided) -> None:
        for row in self._rows(ids(decided.claim)):
            if row.stage == "pending":
                self.state.mark(row, "settled")
        self.state.jobs[ended.claim.job_id] = JobRow(ended.job, ended.outcome.type)

    def _let_go_of_lease(self, claim: Claim) -> None:
        ward = self.state.ward(claim.scope)
        if ward.lease is not None and ward.lease.fence == claim.fence:
            ward.lease = None


def ids(claim: Claim) -> frozenset[str]:
    """The episodes of a claim, each once."""
    return frozenset(each.id for each in claim.episodes)
