"""Postgres as a driver for the relational nouns: one connection for each call, and deadlines."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from typing import TypeAlias, TypeVar

from memkit.errors import (
    Closed,
    Forked,
    MemkitError,
    OutcomeUnknown,
    StoreUnavailable,
    WrongLoop,
)
from memkit.models import Migrated
from memkit_backends.postgres.connection import Connection, Pool
from memkit_backends.postgres.failures import CAUGHT, Failure, NoneFreeError, failure, hushed
from memkit_backends.postgres.migrating import migrate, version
from memkit_backends.postgres.options import Options
from memkit_backends.postgres.patience import Patience
from memkit_backends.postgres.reserve import Reserve, is_lost
from memkit_backends.postgres.scripts import supported
from memkit_backends.postgres.statements import Statements
from memkit_backends.postgres.transaction import Deadline, PostgresTransaction
from memkit_backends.relational.driver import Work

Answer = TypeVar("Answer")

Attempt: TypeAlias = Callable[[Connection, Deadline], Awaitable[Answer]]
"""One try at a call, on a connection that is its own for that long."""

PARTING = 0.5
"""Seconds that a connection has to become usable again before it is cut."""


class _InDoubtError(Exception):
    """The answer to a commit was lost."""

    def __init__(self, reason: BaseException) -> None:
        self.reason = reason
        super().__init__()


class PostgresDriver:
    """`relational.driver.Driver` over a pool. Bound to the loop on which it was made.

    What fails because others were in the way, or because the connection was lost before
    anything could be kept, is tried again within the deadline. Where a commit may have
    happened, only what may be repeated is tried again; the rest is `OutcomeUnknown`.
    """

    def __init__(self, pool: Pool, options: Options) -> None:
        self._pool = pool
        self._options = options
        self._statements = Statements(options)
        self._is_ours = options.pool is None
        self._reserve = Reserve(pool, keeps=self._is_ours)
        self._loop = asyncio.get_running_loop()
        self._pid = os.getpid()
        self._is_closed = False
        self._is_behind = False
        self._begin_reading = _begin("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", options)
        # Whatever a role or database has for its default, the nouns take locks for this level.
        self._begin_writing = _begin("BEGIN ISOLATION LEVEL READ COMMITTED", options)

    async def read(self, work: Work[Answer]) -> Answer:
        """See `Driver.read`."""

        async def attempt(connection: Connection, deadline: Deadline) -> Answer:
            async with _undone_on_failure(connection):
                await connection.execute(self._begin_reading, timeout=deadline.left)
                answer = await work(self._reading(connection, deadline))
                await connection.execute("COMMIT", timeout=deadline.left)
            return answer

        return await self._call(attempt, repeatable=True)

    async def read_each(self, work: Work[Answer]) -> Answer:
        """See `Driver.read_each`."""

        async def attempt(connection: Connection, deadline: Deadline) -> Answer:
            return await work(self._reading(connection, deadline))

        return await self._call(attempt, repeatable=True)

    async def write(self, work: Work[Answer], *, repeatable: bool = False) -> Answer:
        """See `Driver.write`."""

        async def attempt(connection: Connection, deadline: Deadline) -> Answer:
            async with _undone_on_failure(connection):
                self._pass("before begin")
                await connection.execute(self._begin_writing, timeout=deadline.left)
                self._pass("after begin")
                answer = await work(self._writing(connection, deadline))
                self._pass("before commit")
                await _commit(connection, deadline)
            self._pass("after commit")
            return answer

        return await self._call(attempt, repeatable=repeatable)

    async def write_once(self, work: Work[Answer]) -> Answer:
        """See `Driver.write_once`."""

        async def attempt(connection: Connection, deadline: Deadline) -> Answer:
            with _doubts():
                return await work(self._writing(connection, deadline))

        return await self._call(attempt, repeatable=True)

    async def settle_schema(self) -> None:
        """See to it that the schema is there, or remember that it is not yet."""
        if self._options.auto_migrate:
            await self.migrate(dry_run=False)
        else:
            await self.version()

    async def version(self) -> int:
        """The version of the schema; `SchemaTooNew` if this memkit does not know it."""
        found = await self.inspect(version)
        self._is_behind = found < supported()
        return found

    async def migrate(self, *, dry_run: bool) -> Migrated:
        """See `Maintains.migrate`."""
        report = await self.inspect(partial(migrate, dry_run=dry_run))
        self._is_behind = dry_run and bool(report.applied)
        return report

    async def inspect(self, work: Callable[[Connection, str], Awaitable[Answer]]) -> Answer:
        """Run `work` on a bare connection, with the name of the schema."""

        async def attempt(connection: Connection, _: Deadline) -> Answer:
            async with _undone_on_failure(connection):
                return await work(connection, self._options.schema)

        return await self._run(attempt, repeatable=True)

    async def _call(self, attempt: Attempt[Answer], *, repeatable: bool) -> Answer:
        if self._is_behind and await self.version() < supported():
            raise StoreUnavailable(
                f"the schema {self._options.schema} is not at version {supported()}; "
                "run `memkit migrate`, or open the store with auto_migrate = true"
            )
        return await self._run(attempt, repeatable=repeatable)

    async def _run(self, attempt: Attempt[Answer], *, repeatable: bool) -> Answer:
        """Carry a call out, in as many attempts as it may have."""
        self._refuse_misuse()
        deadline = Deadline(self._options.deadline)
        patience = Patience(deadline)
        in_doubt = False
        while True:
            try:
                return await self._try(attempt, deadline)
            except _InDoubtError as exc:
                found, cause, in_doubt = failure(exc.reason), exc.reason, True
            except CAUGHT as exc:
                found, cause = failure(exc), exc
            goes_on = (repeatable or not in_doubt) and await self._goes_on(found, patience)
            if not goes_on:
                raise (_unknown() if in_doubt else found.error) from hushed(cause)

    async def aclose(self) -> None:
        """See `Driver.aclose`. A pool that was handed in stays open."""
        if self._is_closed or os.getpid() != self._pid:
            # The parent's connections: a word on them here would break its own.
            return
        self._refuse_misuse()
        self._is_closed = True
        if not self._is_ours:
            return
        # The pool waits for each of its connections, those of calls that still run among them.
        self._reserve.close()
        try:
            async with asyncio.timeout(self._options.deadline):
                while (connection := self._reserve.take()) is not None:
                    await self._release(connection)
                await self._pool.close()
        except CAUGHT:
            self._pool.terminate()

    def _refuse_misuse(self) -> None:
        if os.getpid() != self._pid:
            raise Forked("store")
        if self._is_closed:
            raise Closed("store")
        if asyncio.get_running_loop() is not self._loop:
            raise WrongLoop

    async def _try(self, attempt: Attempt[Answer], deadline: Deadline) -> Answer:
        connection = self._reserve.take() or await self._acquired(deadline)
        is_kept = False
        try:
            answer = await attempt(connection, deadline)
            is_kept = self._reserve.keep(connection)
            return answer
        finally:
            if not is_kept:
                await self._release(connection)

    async def _acquired(self, deadline: Deadline) -> Connection:
        try:
            async with asyncio.timeout(min(self._options.acquire_timeout, deadline.left)) as wait:
                return await self._reserve.acquire()
        except TimeoutError as exc:
            if wait.expired():
                raise NoneFreeError from exc
            # It was free to be made, and the server did not answer.
            raise ConnectionError from exc

    async def _release(self, connection: Connection) -> None:
        try:
            await self._pool.release(connection, timeout=PARTING)
        except CAUGHT:
            # It has cut the connection instead, and makes another one when it needs it.
            return

    async def _goes_on(self, found: Failure, patience: Patience) -> bool:
        """Whether it makes sense to try again; then it is time to."""
        if found.sort == "standby":
            # After a failover the old connections lead to what is a standby now.
            self._reserve.drop()
            await self._pool.expire_connections()
        return await patience.lasts(found.sort)

    def _reading(self, connection: Connection, deadline: Deadline) -> PostgresTransaction:
        return PostgresTransaction(connection, self._statements, deadline, None)

    def _writing(self, connection: Connection, deadline: Deadline) -> PostgresTransaction:
        return PostgresTransaction(connection, self._statements, deadline, self._options.failpoint)

    def _pass(self, point: str) -> None:
        if self._options.failpoint is not None:
            self._options.failpoint(point)


async def _commit(connection: Connection, deadline: Deadline) -> None:
    with _doubts():
        tag = await connection.execute("COMMIT", timeout=deadline.left)
    if tag == "ROLLBACK":
        raise AssertionError("a statement had failed, and its work went on")


@contextmanager
def _doubts() -> Iterator[None]:
    """What fails in here may have been carried out, unless the server says otherwise."""
    try:
        yield
    except CAUGHT as exc:
        if failure(exc).sort == "lost" or isinstance(exc, TimeoutError):
            raise _InDoubtError(exc) from exc
        raise


@asynccontextmanager
async def _undone_on_failure(connection: Connection) -> AsyncIterator[None]:
    """Leave no transaction open, whatever it costs the connection."""
    try:
        yield
    except BaseException:
        if not is_lost(connection):
            await _roll_back(connection)
        raise


async def _roll_back(connection: Connection) -> None:
    try:
        # A caller cancelled in BEGIN has a transaction that asyncpg does not know of yet.
        await connection.execute("ROLLBACK", timeout=PARTING)
    except BaseException as exc:
        connection.terminate()
        if not isinstance(exc, CAUGHT):
            raise


def _begin(begin: str, options: Options) -> str:
    """Opens a transaction that the server ends by itself when its client is gone.

    In one message, and for this transaction only: behind a pooler a session is somebody
    else's a moment later.
    """
    most = int(options.deadline * 1000)
    return (
        f"{begin}; SET LOCAL statement_timeout = {most}; SET LOCAL lock_timeout = {most}; "
        f"SET LOCAL idle_in_transaction_session_timeout = {most}"
    )


def _unknown() -> MemkitError:
    return OutcomeUnknown(
        "the connection was lost while the server may have carried this out; "
        "look, or repeat it: every write of memkit may be repeated"
    )
