"""Threads that read, beside the one that writes."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

from memkit_backends.sqlite.calls import Call
from memkit_backends.sqlite.failures import known
from memkit_backends.sqlite.transaction import carried_out


class Reader:
    """Runs each call on one state of the store, and lets go of it at once.

    A reader that kept its state would keep the write-ahead log from ever being reset.
    """

    def __init__(self, open_connection: Callable[[], sqlite3.Connection]) -> None:
        self._open = open_connection

    def connect(self) -> sqlite3.Connection:
        """See `Server.connect`."""
        return self._open()

    def serve(self, connection: sqlite3.Connection, calls: list[Call]) -> None:
        """See `Server.serve`."""
        for call in calls:
            self._answer(connection, call)

    def expects(self) -> tuple[int, float]:
        """See `Server.expects`: readers share nothing, so they wait for nobody."""
        return 1, 0.0

    def part(self, connection: sqlite3.Connection) -> None:
        """See `Server.part`."""
        connection.close()

    def _answer(self, connection: sqlite3.Connection, call: Call) -> None:
        try:
            connection.execute("BEGIN")
            if call.alone:
                call.answer = call.work(connection)
            else:
                call.answer = carried_out(call.work, connection, None)
        except BaseException as exc:  # noqa: BLE001  # it belongs to whoever made the call
            call.error = known(exc)
        finally:
            if connection.in_transaction:
                connection.execute("COMMIT")
