"""The one thread of a process that writes to the file, and commits for all who wait."""

from __future__ import annotations

import logging
import sqlite3
import time
from collections.abc import Callable
from itertools import groupby
from typing import LiteralString

from memkit_backends.sqlite.calls import Call
from memkit_backends.sqlite.failures import known
from memkit_backends.sqlite.transaction import Failpoint, carried_out

logger = logging.getLogger(__name__)

GROUP = 64
"""The most calls that share a commit."""


SHARE_OF_COMMIT = 0.5
LONGEST_PATIENCE = 0.002
"""Seconds that a call waits at most for others to share its commit with."""


class _UndoneError(Exception):
    """SQLite rolled the whole transaction back in the middle of it."""


class Writer:
    """Runs each call as a transaction of its own, or several that wait under one commit.

    In a group each call has a savepoint, so that one that fails undoes itself alone. If the
    group as a whole fails, every call is made again by itself: then only those that cannot
    succeed fail.
    """

    begin: LiteralString = "BEGIN IMMEDIATE"
    # A deferred BEGIN that reads first and then writes is told "locked" without any waiting.

    def __init__(
        self, open_connection: Callable[[], sqlite3.Connection], failpoint: Failpoint | None
    ) -> None:
        self._open = open_connection
        self._failpoint = failpoint
        self._group = 1
        self._seconds = 0.0

    def connect(self) -> sqlite3.Connection:
        """See `Server.connect`."""
        return self._open()

    def serve(self, connection: sqlite3.Connection, calls: list[Call]) -> None:
        """See `Server.serve`."""
        begun = time.monotonic()
        self._serve(connection, calls)
        self._group, self._seconds = len(calls), time.monotonic() - begun

    def expects(self) -> tuple[int, float]:
        """See `Server.expects`.

        Callers that were answered together come back together, a moment apart. Waiting for
        them is worth a part of what a commit of their own would cost.
        """
        return self._group, min(self._seconds * SHARE_OF_COMMIT, LONGEST_PATIENCE)

    def _serve(self, connection: sqlite3.Connection, calls: list[Call]) -> None:
        for alone, following in groupby(calls, key=lambda call: call.alone):
            together = list(following)
            if alone:
                for call in together:
                    _carry_out(connection, call)
            elif len(together) == 1 or not self._commit_together(connection, together):
                for call in together:
                    self._commit_alone(connection, call)

    def part(self, connection: sqlite3.Connection) -> None:
        """See `Server.part`. Leaves no log behind if nobody else uses the file."""
        try:
            connection.execute("PRAGMA busy_timeout = 0")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        except sqlite3.Error as exc:
            # Full, or read-only by now. What was committed is in the log and stays there.
            logger.debug("the log was not folded in on closing", exc_info=exc)
        finally:
            connection.close()

    def _commit_alone(self, connection: sqlite3.Connection, call: Call) -> None:
        call.answer = call.error = None
        try:
            self._begin(connection)
            call.answer = self._run(connection, call)
            self._commit(connection)
        except BaseException as exc:  # noqa: BLE001  # it belongs to whoever made the call
            call.error = known(exc)
            _roll_back(connection)

    def _commit_together(self, connection: sqlite3.Connection, calls: list[Call]) -> bool:
        """Whether the calls have their answers; if not, nothing of them was stored."""
        try:
            self._begin(connection)
            for call in calls:
                self._run_guarded(connection, call)
            self._commit(connection)
        except BaseException as exc:
            # Each call is made again by itself, and is told what became of it then.
            logger.debug("a group of %d calls is split up", len(calls), exc_info=exc)
            _roll_back(connection)
            return False
        return True

    def _run_guarded(self, connection: sqlite3.Connection, call: Call) -> None:
        connection.execute("SAVEPOINT one_call")
        try:
            call.answer = self._run(connection, call)
        except BaseException as exc:
            if not connection.in_transaction:
                raise _UndoneError from exc
            call.error = known(exc)
            connection.execute("ROLLBACK TO one_call")
        connection.execute("RELEASE one_call")

    def _begin(self, connection: sqlite3.Connection) -> None:
        self._pass("before begin")
        connection.execute(self.begin)
        self._pass("after begin")

    def _run(self, connection: sqlite3.Connection, call: Call) -> object:
        return carried_out(call.work, connection, self._failpoint)

    def _commit(self, connection: sqlite3.Connection) -> None:
        self._pass("before commit")
        connection.execute("COMMIT")
        self._pass("after commit")

    def _pass(self, point: str) -> None:
        if self._failpoint is not None:
            self._failpoint(point)


def _carry_out(connection: sqlite3.Connection, call: Call) -> None:
    try:
        call.answer = call.work(connection)
    except BaseException as exc:  # noqa: BLE001  # it belongs to whoever made the call
        call.error = known(exc)
        _roll_back(connection)


def _roll_back(connection: sqlite3.Connection) -> None:
    # After "disk full" SQLite has done so itself, and ROLLBACK would be an error.
    if connection.in_transaction:
        connection.execute("ROLLBACK")
