"""Claiming: which scope has work that is due, and what of it one claim takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from memkit.contracts import MOST_CLAIMED
from memkit.decay import microseconds
from memkit.errors import StoreCorrupt
from memkit.models import Claim, Episode, Scope, new_id
from memkit_backends.relational import jobs
from memkit_backends.relational.driver import Transaction, Value
from memkit_backends.relational.episode_rows import (
    EPISODE,
    EPISODES,
    StoredEpisode,
    stored_episodes,
)
from memkit_backends.relational.noun import Noun
from memkit_backends.relational.revisions import newest_pieces, pieces_of, revised_places


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What a claim asks for, as `Ledger.claim` says it."""

    now: datetime
    budget: int
    lease: timedelta
    idle: timedelta | None
    max_wait: timedelta | None
    context: int

    @property
    def dates(self) -> dict[str, Value]:
        """The parameters of `_IS_DUE`."""
        calm = None if self.idle is None else microseconds(self.now - self.idle)
        over = None if self.max_wait is None else microseconds(self.now - self.max_wait)
        return {"now": microseconds(self.now), "calm": calm, "over": over}


# A session is calm when its last episode is old enough; or one has waited for too long.
# Indexes: episode (session_pk, position) from its end, episode_due (home_pk, recorded_at).
_IS_DUE = """
       episode.status = 'pending'
   AND episode.next_try <= :now
   AND (CAST(:calm AS BIGINT) IS NULL
        OR (SELECT last.recorded_at
              FROM episode AS last
             WHERE last.session_pk = episode.session_pk
             ORDER BY last.position DESC
             LIMIT 1) <= :calm
        OR EXISTS (SELECT 1
                     FROM episode AS waiting
                    WHERE waiting.home_pk = episode.home_pk
                      AND waiting.status = 'pending'
                      AND waiting.session_pk = episode.session_pk
                      AND waiting.recorded_at < CAST(:over AS BIGINT)))
"""


@dataclass(frozen=True, slots=True)
class _Owner:
    """The scope that is claimed, held until the end of the transaction."""

    pk: int
    scope: Scope
    epoch: int
    fence: int
    job_id: str | None


class Claims(Noun):
    """`Ledger.claim`."""

    _goes_on = False

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
        """See `Ledger.claim`."""
        terms = Terms(
            now=now, budget=budget, lease=lease, idle=idle, max_wait=max_wait, context=context
        )
        # Looked at first, so that asking in vain writes nothing and waits for nobody; whoever
        # has just been given something asks again for the next, and most often there is one.
        looks_first = not self._goes_on
        if looks_first and await self._driver.read_each(partial(self._owner, scope, terms)) is None:
            return None
        claim = await self._driver.write(partial(self._claim, scope, terms, new_id()))
        self._goes_on = claim is not None
        return claim

    async def _claim(
        self, scope: Scope | None, terms: Terms, job_id: str, tx: Transaction
    ) -> Claim | None:
        owned = await self._owned(tx, scope, terms)
        if owned is None:
            return None
        owner, taken = owned
        if owner.job_id is not None:
            await jobs.fail(tx, owner.job_id, "crashed", terms.now)
        await self._lease(tx, owner, terms, job_id)
        attempts = max(each.attempts for each in taken) + 1
        await self._open_job(tx, owner, taken, terms, job_id)
        return Claim(
            job_id=job_id,
            scope=owner.scope,
            fence=owner.fence + 1,
            epoch=owner.epoch,
            attempts=attempts,
            episodes=tuple(await newest_pieces(tx, taken)),
            context=tuple(await self._context(tx, owner, taken, terms.context)),
        )

    async def _owned(
        self, tx: Transaction, scope: Scope | None, terms: Terms
    ) -> tuple[_Owner, list[StoredEpisode]] | None:
        """The scope, locked, and what is taken of it."""
        # A late worker may settle between what a statement sees and the row it locks: then the
        # scope is ours with nothing left in it, and the next look no longer finds it.
        emptied = set[int]()
        while (owner := await self._owner(scope, terms, tx)) is not None:
            if taken := await self._taken(tx, owner, terms):
                return owner, taken
            if owner.pk in emptied:
                raise StoreCorrupt("episodes are pending in no session; restore from a backup")
            emptied.add(owner.pk)
        return None

    async def _owner(self, scope: Scope | None, terms: Terms, tx: Transaction) -> _Owner | None:
        """The scope whose oldest due episode is oldest, among those that nobody claims."""
        # Indexes: episode_oldest (recorded_at, pk); with a scope episode_due (home_pk, ...).
        of_one = "" if scope is None else "AND owner.key = :scope"
        row = await tx.fetch_one(
            f"""
            SELECT owner.pk, owner.key, owner.epoch, owner.fence, owner.job_id
              FROM episode
              JOIN scope AS owner ON owner.pk = episode.home_pk
             WHERE {_IS_DUE}
               AND owner.lease_until <= {self._dialect.store_clock}
               {of_one}
             ORDER BY episode.recorded_at, episode.pk
             LIMIT 1
             {self._dialect.take_scope}
            """,
            scope=None if scope is None else scope.key,
            **terms.dates,
        )
        if row is None:
            return None
        pk, key, epoch, fence, job_id = row
        return _Owner(pk, Scope.from_key(key), epoch, fence, job_id)

    async def _taken(self, tx: Transaction, owner: _Owner, terms: Terms) -> list[StoredEpisode]:
        """The oldest that is due, and those after it that fit."""
        # Index: episode_due (home_pk, recorded_at, pk).
        rows = await tx.fetch_all(
            f"""
            SELECT {EPISODE}
              FROM {EPISODES}
             WHERE episode.pk IN (
                       SELECT pk
                         FROM (SELECT pk,
                                      row_number() OVER oldest_first AS place,
                                      sum(tokens) OVER oldest_first AS size,
                                      max(attempts) OVER oldest_first AS tries
                                 FROM (SELECT episode.pk, episode.recorded_at, episode.tokens,
                                              episode.attempts
                                         FROM episode
                                        WHERE {_IS_DUE}
                                          AND episode.home_pk = :home
                                        ORDER BY episode.recorded_at, episode.pk
                                        LIMIT :most) AS due
                               WINDOW oldest_first AS (ORDER BY recorded_at, pk)) AS summed
                        WHERE place = 1
                           OR (size <= :budget AND tries = 0)
                   )
             ORDER BY episode.recorded_at, episode.pk
            """,
            home=owner.pk,
            most=MOST_CLAIMED,
            budget=terms.budget,
            **terms.dates,
        )
        return stored_episodes(rows)

    async def _lease(self, tx: Transaction, owner: _Owner, terms: Terms, job_id: str) -> None:
        await tx.execute(
            f"""
            UPDATE scope
               SET fence = fence + 1,
                   lease_until = {self._dialect.store_clock} + :lease,
                   job_id = :job
             WHERE pk = :pk
            """,
            pk=owner.pk,
            lease=terms.lease // timedelta(microseconds=1),
            job=job_id,
        )

    async def _open_job(
        self,
        tx: Transaction,
        owner: _Owner,
        taken: Sequence[StoredEpisode],
        terms: Terms,
        job_id: str,
    ) -> None:
        await tx.execute(
            f"""
            UPDATE episode
               SET attempts = attempts + 1
             WHERE pk {self._dialect.is_one_of_integers(":pks")}
            """,
            pks=[each.pk for each in taken],
        )
        await tx.execute(
            """
            INSERT INTO job (id, scope_pk, fence, status, episode_ids, attempts, started_at)
            VALUES (:id, :scope, :fence, 'running', :episodes, :attempts, :now)
            """,
            id=job_id,
            scope=owner.pk,
            fence=owner.fence + 1,
            episodes=jobs.dump_ids([each.id for each in taken]),
            attempts=max(each.attempts for each in taken) + 1,
            now=microseconds(terms.now),
        )

    async def _context(
        self, tx: Transaction, owner: _Owner, taken: Sequence[StoredEpisode], count: int
    ) -> list[Episode]:
        """The last `count` settled messages before what is taken, of each of its sessions."""
        first: dict[int, int] = {}
        for each in taken:
            place = each.position
            first[each.session_pk] = min(place, first.get(each.session_pk, place))
        context: list[Episode] = []
        for session, position in first.items():
            context += await self._before(tx, owner, session, position, count)
        return context

    async def _before(
        self, tx: Transaction, owner: _Owner, session: int, position: int, count: int
    ) -> list[Episode]:
        if count <= 0 or position == 0:
            return []
        # Index: episode (session_pk, position), backwards.
        rows = await tx.fetch_all(
            f"""
            SELECT {EPISODE}
              FROM {EPISODES}
             WHERE episode.session_pk = :session
               AND episode.position < :position
               AND episode.status = 'settled'
               AND episode.home_pk = :home
             ORDER BY episode.position DESC
             LIMIT :most
            """,
            session=session,
            position=position,
            home=owner.pk,
            most=count,
        )
        earlier = stored_episodes(rows[::-1])
        revised = await revised_places(tx, earlier)
        places = [
            (each, place)
            for each in earlier
            for place in each.bodies
            if (each.session_pk, place) not in revised
        ]
        return list(pieces_of(places[max(0, len(places) - count) :]))
