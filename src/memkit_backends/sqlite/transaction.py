"""A transaction on the thread that owns the connection."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, LiteralString, TypeVar

from memkit.errors import MemkitError, StoreCorrupt
from memkit_backends.relational.driver import Parameters, Row, Value, Work

Answer = TypeVar("Answer")

Failpoint = Callable[[str], None]
"""Called with the name of each point that is passed; tests let it raise or kill."""


def completed(work: Coroutine[Any, Any, Answer]) -> Answer:
    """Run a coroutine to its end, here and now.

    The nouns are written once, as coroutines. On SQLite a statement is a plain call on this
    thread, so nothing they await ever waits, and a whole transaction is one hop of threads.
    """
    try:
        work.send(None)
    except StopIteration as end:
        answer: Answer = end.value
        return answer
    work.close()
    raise RuntimeError("work in a transaction awaited something else than its statements")


def carried_out(
    work: Work[Answer], connection: sqlite3.Connection, failpoint: Failpoint | None
) -> Answer:
    """What `work` comes to in the transaction that is open on `connection`.

    Rows that memkit cannot have written may make any work stumble; that is `StoreCorrupt`.
    """
    try:
        return completed(work(SqliteTransaction(connection, failpoint)))
    except (MemkitError, sqlite3.Error):
        raise
    except Exception:
        if connection.execute("PRAGMA integrity_check(1)").fetchall() == [("ok",)]:
            raise
        # Not chained: the reason may quote a row.
        raise StoreCorrupt("the file is damaged; restore it from a backup") from None


class SqliteTransaction:
    """`relational.driver.Transaction` over a connection with BEGIN behind it."""

    __slots__ = ("_connection", "_failpoint")

    def __init__(self, connection: sqlite3.Connection, failpoint: Failpoint | None) -> None:
        self._connection = connection
        self._failpoint = failpoint

    async def execute(self, sql: LiteralString, **parameters: Value) -> int:
        """See `Transaction.execute`."""
        return max(self._run(sql, parameters)[1], 0)

    async def execute_many(self, sql: LiteralString, rows: Sequence[Parameters]) -> None:
        """See `Transaction.execute_many`."""
        for row in rows:
            self._run(sql, row)

    async def fetch_all(self, sql: LiteralString, **parameters: Value) -> list[Row]:
        """See `Transaction.fetch_all`."""
        return self._run(sql, parameters)[0]

    async def fetch_one(self, sql: LiteralString, **parameters: Value) -> Row | None:
        """See `Transaction.fetch_one`."""
        rows = self._run(sql, parameters)[0]
        return rows[0] if rows else None

    def _run(self, sql: LiteralString, parameters: Parameters) -> tuple[list[Row], int]:
        """The rows, and how many were changed.

        All rows are fetched at once: a statement left half-read would hold its state of the
        store, and one that writes would let nobody commit.
        """
        if self._failpoint is not None:
            self._failpoint("before statement")
        cursor = self._connection.execute(sql, _adapted(parameters))
        rows = cursor.fetchall()
        if self._failpoint is not None:
            self._failpoint("after statement")
        return rows, cursor.rowcount


def _adapted(parameters: Parameters) -> Mapping[str, Value]:
    """The parameters as SQLite takes them: a list is its JSON."""
    if list not in map(type, parameters.values()):
        return parameters
    return {
        name: json.dumps(value) if isinstance(value, list) else value
        for name, value in parameters.items()
    }
