"""Episodes: one row for what one call added to a session.

The common append is a single statement. It trusts what this process knows of the session;
if another has added to it meanwhile, UNIQUE (session_pk, position) stores nothing, and the
append is made again, carefully, on what the rows say.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from memkit.decay import microseconds
from memkit.errors import InvalidInput
from memkit.models import Appended, Episode, Scope
from memkit.models.base import unchecked
from memkit_backends.relational import scopes
from memkit_backends.relational.dialect import Dialect
from memkit_backends.relational.driver import Driver, Transaction
from memkit_backends.relational.messages import (
    content_digests,
    dump,
    key_digests,
)
from memkit_backends.relational.noun import Noun
from memkit_backends.relational.novelty import Novelty, novelty
from memkit_backends.relational.sessions import SessionLog, Sessions
from memkit_backends.relational.verdicts import certain_novelty, row_at

Name = tuple[Scope, str]
"""A session: the scope it was recorded with, and its id."""


@dataclass(slots=True)
class _Addition:
    """An episode's row to be: what of it is new, and where it goes."""

    episode: Episode
    home: int
    position: int
    new: Novelty
    keys: bytes | None
    digests: bytes

    @classmethod
    def of(cls, episode: Episode, home: int, position: int, new: Novelty) -> _Addition:
        keys, digests = key_digests(new.messages), content_digests(new.messages)
        return cls(episode, home, position, new, keys, digests)

    @property
    def answer(self) -> Appended:
        size = len(self.new.messages)
        return unchecked(
            Appended,
            episode_id=self.episode.id,
            head=self.position + size,
            stored=size,
            skipped=self.new.skipped,
            revised=self.new.revised,
            stale=False,
        )


class Episodes(Noun):
    """`Store.append`."""

    def __init__(self, driver: Driver, dialect: Dialect) -> None:
        super().__init__(driver, dialect)
        self._sessions = Sessions()

    async def append(
        self,
        episodes: Sequence[Episode],
        *,
        expected_head: int | None = None,
        revise: bool = False,
    ) -> list[Appended]:
        """See `Store.append`."""
        if expected_head is not None and len(episodes) != 1:
            raise InvalidInput("expected_head goes with exactly one episode")
        if len(episodes) == 1:
            answer = await self._append_at_once(episodes[0], expected_head, revise=revise)
            if answer is not None:
                return [answer]
        answers, logs = await self._driver.write(
            partial(self._append_all, episodes, expected_head, revise=revise), repeatable=True
        )
        for name, log in logs.items():
            self._sessions.put(name, log)
        return answers

    async def _append_at_once(
        self, episode: Episode, expected_head: int | None, *, revise: bool
    ) -> Appended | None:
        """Add to a session that is known, in one statement; None if that cannot be done."""
        name = _name(episode)
        log = self._sessions.get(name)
        if log is None or log.home is None or expected_head not in {None, log.head}:
            return None
        home, number = log.home
        if home != episode.home:
            return None
        found = novelty(episode.messages, log, session_id=episode.session_id, revise=True)
        if found.doubts or not found.messages or (found.revised and not revise):
            return None
        addition = _Addition.of(episode, number, log.head, found)
        if not await self._driver.write_once(partial(_insert, log.pk, addition)):
            return None
        log.extend(addition.position, addition.keys, addition.digests)
        self._sessions.put(name, log)
        return addition.answer

    async def _append_all(
        self,
        episodes: Sequence[Episode],
        expected_head: int | None,
        tx: Transaction,
        *,
        revise: bool,
    ) -> tuple[list[Appended], dict[Name, SessionLog]]:
        known = {name: self._sessions.get(name) for name in map(_name, episodes)}
        unknown = {scope for (scope, _), log in known.items() if log is None}
        # In one order for everybody, so that no two callers wait for each other.
        numbers = {
            scope: await scopes.number(tx, scope)
            for scope in sorted(unknown.union(each.home for each in episodes), key=_key)
        }
        logs: dict[Name, SessionLog] = {}
        for name in sorted(known, key=lambda name: (name[0].key, name[1])):
            log = known[name]
            logs[name] = await _session(tx, name, numbers) if log is None else log.copy()
            await _read_on(tx, logs[name])
        answers: list[Appended] = []
        for episode in episodes:
            log = logs[_name(episode)]
            home = numbers[episode.home]
            answers.append(await _append(tx, episode, home, log, expected_head, revise=revise))
            log.home = episode.home, home
        return answers, logs


def _name(episode: Episode) -> Name:
    return episode.scope, episode.session_id


def _key(scope: Scope) -> str:
    return scope.key


async def _session(tx: Transaction, name: Name, numbers: Mapping[Scope, int]) -> SessionLog:
    """The session of that name, of which nothing is known; it is made if it is new."""
    scope, session_id = name
    await tx.execute(
        """
        INSERT INTO session (scope_pk, name) VALUES (:scope, :name)
            ON CONFLICT (scope_pk, name) DO NOTHING
        """,
        scope=numbers[scope],
        name=session_id,
    )
    row = await tx.fetch_one(
        "SELECT pk FROM session WHERE scope_pk = :scope AND name = :name",
        scope=numbers[scope],
        name=session_id,
    )
    if row is None:
        raise AssertionError("a session's row is never deleted")
    return SessionLog(int(row[0]))


async def _read_on(tx: Transaction, log: SessionLog) -> None:
    # Index: episode (session_pk, position).
    rows = await tx.fetch_all(
        """
        SELECT position, keys, digests
          FROM episode
         WHERE session_pk = :session
           AND position >= :head
         ORDER BY position
        """,
        session=log.pk,
        head=log.head,
    )
    for position, keys, digests in rows:
        log.extend(position, keys, digests)


async def _append(  # noqa: PLR0913  # what, where to, and how it is meant
    tx: Transaction,
    episode: Episode,
    home: int,
    log: SessionLog,
    expected_head: int | None,
    *,
    revise: bool,
) -> Appended:
    while True:
        answer = await _try_append(tx, episode, home, log, expected_head, revise=revise)
        if answer is not None:
            return answer
        await _read_on(tx, log)


async def _try_append(  # noqa: PLR0913  # likewise
    tx: Transaction,
    episode: Episode,
    home: int,
    log: SessionLog,
    expected_head: int | None,
    *,
    revise: bool,
) -> Appended | None:
    """Add to the session as `log` has it; None if another was faster."""
    before = await _answer_before(tx, episode, log)
    if before is not None:
        return before
    if expected_head not in {None, log.head}:
        return Appended(episode_id=None, head=log.head, stale=True)
    found = await certain_novelty(tx, episode, log, revise=revise)
    if not found.messages:
        holder = await _holder(tx, log, found.holder)
        return Appended(episode_id=holder, head=log.head, skipped=found.skipped)
    addition = _Addition.of(episode, home, log.head, found)
    if not await _insert(log.pk, addition, tx):
        return None
    log.extend(addition.position, addition.keys, addition.digests)
    return addition.answer


async def _answer_before(tx: Transaction, episode: Episode, log: SessionLog) -> Appended | None:
    """What was answered when this id was stored; what is gone since does not come back."""
    # Index: episode (id).
    row = await tx.fetch_one(
        """
        SELECT session_pk, position, size, skipped, revised, messages IS NOT NULL
          FROM episode
         WHERE id = :id
        """,
        id=episode.id,
    )
    if row is None:
        return None
    session, position, size, skipped, revised, has_body = row
    if session != log.pk:
        raise InvalidInput(f"episode id {episode.id} is taken by another session")
    if not has_body:
        return Appended(episode_id=episode.id, head=log.head, skipped=len(episode.messages))
    return Appended(
        episode_id=episode.id,
        head=position + size,
        stored=size,
        skipped=skipped,
        revised=revised,
    )


async def _holder(tx: Transaction, log: SessionLog, position: int | None) -> str | None:
    return None if position is None else str((await row_at(tx, log, position))[0])


async def _insert(session: int, addition: _Addition, tx: Transaction) -> bool:
    """Store the row, unless its id or place is taken; say whether."""
    episode, new = addition.episode, addition.new
    stored = await tx.execute(
        """
        INSERT INTO episode
               (id, session_pk, home_pk, position, size, skipped, revised,
                keys, digests, messages, tokens, flags, recorded_at, expires_at, status)
        VALUES (:id, :session, :home, :position, :size, :skipped, :revised,
                :keys, :digests, :messages, :tokens, :flags, :recorded_at, :expires_at, 'pending')
            ON CONFLICT DO NOTHING
        """,
        id=episode.id,
        session=session,
        home=addition.home,
        position=addition.position,
        size=len(new.messages),
        skipped=new.skipped,
        revised=new.revised,
        keys=addition.keys,
        digests=addition.digests,
        messages=dump(new.messages),
        tokens=episode.tokens,
        flags=" ".join(episode.flags),
        recorded_at=microseconds(episode.recorded_at),
        expires_at=None if episode.expires_at is None else microseconds(episode.expires_at),
    )
    return stored == 1
