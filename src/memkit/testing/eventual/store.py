"""The double itself: it reads what can be seen, answers by that, and writes one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from anyio.lowlevel import checkpoint

from memkit.contracts import Clock
from memkit.errors import Closed
from memkit.inmemory import InMemoryStore, items, ledger
from memkit.inmemory.claims import Terms, claim, due, grant
from memkit.inmemory.episodes import append
from memkit.inmemory.forgetting import forget
from memkit.inmemory.purging import purge
from memkit.inmemory.state import State
from memkit.models import (
    Appended,
    Applied,
    Capabilities,
    Changes,
    Claim,
    Completed,
    ConsolidationJob,
    Episode,
    Purged,
    Receipt,
    Scope,
    SettleOutcome,
    Target,
    new_id,
    utcnow,
)
from memkit.testing.eventual.service import Service
from memkit.testing.eventual.view import View, ids
from memkit.testing.eventual.writes import (
    Changed,
    Claimed,
    Decided,
    Ended,
    Erased,
    Event,
    Expired,
    Renewed,
    Requeued,
    Said,
    one_by_one,
)

LAG = timedelta(seconds=90)


class EventualStore(InMemoryStore):
    """A store as a remote service makes it: eventual, without transactions, ids of its own.

    * A write is seen once `lag` has passed on `clock`, the writer's own ones too. Answers go
      by what could be seen.
    * A call writes one thing after the other and may stop in between: `before_write` is
      called with the name of each and stops the call by raising.
    * An item lies in the service under a minted id; the caller's is in its metadata, and
      reading merges by it (see `Record`).
    * Leases are advisory. Of the claims made before any could be seen the lowest wins. What
      a run decided is journaled whole before any of it is carried out; the lowest decision
      about an episode wins, and whoever claims it next is given that as `Claim.decision`.

    Stores that share a `service` are several workers on the same memory. It reads as the
    in-memory store does, of the writes it sees. Forgotten text stays in the service's log.
    """

    capabilities = Capabilities(
        name="eventual", transactions=False, consistency="eventual", leases="advisory"
    )

    def __init__(
        self,
        *,
        clock: Clock = utcnow,
        lag: timedelta = LAG,
        service: Service | None = None,
        make_id: Callable[[], str] = new_id,
        before_write: Callable[[str], None] = lambda name: None,  # noqa: ARG005  # called by position
    ) -> None:
        super().__init__(lease_clock=clock, make_id=make_id)
        self.service = service or Service(clock=clock, lag=lag)
        self._before_write = before_write

    @property
    def _state(self) -> State:
        return self._view().state

    def _view(self, *, also: int | None = None) -> View:
        if self._open_state is None:
            raise Closed("eventual store")
        return View(self.service.visible(also=also), now=self.service.clock())

    async def _write(self, event: Event) -> int:
        self._before_write(type(event).__name__)
        number = self.service.write(event)
        # Others may come between any two writes of one call, and so may its cancellation.
        await checkpoint()
        return number

    async def append(
        self,
        episodes: Sequence[Episode],
        *,
        expected_head: int | None = None,
        revise: bool = False,
    ) -> list[Appended]:
        """See `Store.append`."""
        state = self._state
        known = set(state.episodes)
        answers = append(state, episodes, expected_head=expected_head, revise=revise)
        for episode in episodes:
            if episode.id in state.episodes and episode.id not in known:
                await self._write(Said(episode))
        return answers

    async def apply(self, scope: Scope, changes: Changes, *, epoch: int | None = None) -> Applied:
        """See `Store.apply`; what stopped in between is finished by a repetition."""
        applied = items.apply(self._state, scope, changes, epoch=epoch)
        for change in one_by_one(changes):
            await self._write(Changed(scope=scope, change=change, epoch=epoch))
        return applied

    async def forget(
        self, target: Target, *, at: datetime, replacement: str | None = None
    ) -> Receipt:
        """See `Store.forget`."""
        receipt = forget(self._state, target, at=at, replacement=replacement)
        await self._write(Erased(target, at, replacement))
        return receipt

    async def purge(
        self, *, now: datetime, limit: int = 1000, dry_run: bool = False, force: bool = False
    ) -> Purged:
        """See `Store.purge`."""
        purged = purge(self._state, now=now, limit=limit, dry_run=dry_run, force=force)
        if not dry_run:
            for item_id in purged.item_ids:
                await self._write(Expired(item_id=item_id))
            for episode_id in purged.episode_ids:
                await self._write(Expired(episode_id=episode_id))
        return purged

    async def claim(  # noqa: PLR0913  # the contract's signature
        self,
        scope: Scope | None = None,
        *,
        now: datetime,
        budget: int,
        lease: timedelta,
        idle: timedelta | None = None,
        max_wait: timedelta | None = None,
        context: int = 8,
    ) -> Claim | None:
        """See `Ledger.claim`; what was decided and not carried out comes first."""
        terms = Terms(
            now=now, budget=budget, lease=lease, idle=idle, max_wait=max_wait, context=context
        )
        view, job_id = self._view(), self._make_id()
        found = _undone(view, scope, terms, job_id) or claim(
            view.state, scope, terms, job_id=job_id
        )
        if found is None:
            return None
        asked = Claimed(
            scope=found.scope,
            epoch=found.epoch,
            episode_ids=tuple(dict.fromkeys(each.id for each in found.episodes)),
            terms=terms,
            job_id=job_id,
        )
        return found.model_copy(update={"fence": await self._write(asked)})

    async def renew(self, claim: Claim, *, lease: timedelta) -> Claim:
        """See `Ledger.renew`."""
        ledger.renew(self._view(also=claim.fence).state, claim, lease=lease)
        await self._write(Renewed(claim, lease))
        return claim

    async def settle(
        self, claim: Claim, outcome: SettleOutcome, *, now: datetime
    ) -> ConsolidationJob:
        """See `Ledger.settle`; a decision that won already is carried out instead."""
        view = self._view(also=claim.fence)
        row = view.state.jobs.get(claim.job_id)
        if row is not None and row.outcome == outcome.type:
            return row.job
        if not isinstance(outcome, Completed):
            job = ledger.settle(view.state, claim, outcome, now=now)
            await self._write(Ended(claim=claim, outcome=outcome, job=job, now=now))
            return job
        known = view.decision_about(claim)
        if known is not None:
            outcome = outcome.model_copy(update={"changes": known[1].changes})
        job = ledger.settle(view.state, claim, outcome, now=now)
        decision = known[0] if known else await self._write(Decided(claim, outcome.changes))
        await self._carry_out(claim, outcome.changes, decision)
        await self._write(Ended(claim=claim, outcome=outcome, job=job, now=now, decision=decision))
        return job

    async def _carry_out(self, claim: Claim, changes: Changes, decision: int) -> None:
        for part, change in enumerate(one_by_one(changes)):
            await self._write(
                Changed(
                    scope=claim.scope,
                    change=change,
                    epoch=claim.epoch,
                    decision=decision,
                    part=part,
                )
            )

    async def requeue(self, job_ids: Sequence[str]) -> int:
        """See `Ledger.requeue`."""
        count = ledger.requeue(self._state, job_ids)
        await self._write(Requeued(tuple(job_ids)))
        return count


def _undone(view: View, scope: Scope | None, terms: Terms, job_id: str) -> Claim | None:
    """A claim to carry out what a run decided and then stopped."""
    at_once = replace(terms, idle=None)
    for _, decided in view.undone():
        home = decided.claim.scope
        if scope not in {None, home}:
            continue
        about = ids(decided.claim)
        rows = [row for row in due(view.state, home, at_once) if row.skeleton.id in about]
        if rows:
            found = grant(view.state, home, rows, terms, job_id)
            return found.model_copy(update={"decision": decided.changes})
    return None
