"""A transaction on a connection, or one statement that is a transaction by itself."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import LiteralString

from memkit_backends.postgres.connection import Connection
from memkit_backends.postgres.statements import Statements
from memkit_backends.relational.driver import Parameters, Row, Value

Failpoint = Callable[[str], None]
"""Called with the name of each point that is passed; tests let it raise or kill."""


class Deadline:
    """When a call has to be over."""

    __slots__ = ("_ends",)

    def __init__(self, seconds: float) -> None:
        self._ends = time.monotonic() + seconds

    @property
    def left(self) -> float:
        """Seconds until then; a moment at least, so that what waits fails by itself."""
        return max(self._ends - time.monotonic(), 0.001)


class PostgresTransaction:
    """`relational.driver.Transaction` over a connection."""

    __slots__ = ("_connection", "_deadline", "_failpoint", "_statements")

    def __init__(
        self,
        connection: Connection,
        statements: Statements,
        deadline: Deadline,
        failpoint: Failpoint | None,
    ) -> None:
        self._connection = connection
        self._statements = statements
        self._deadline = deadline
        self._failpoint = failpoint

    async def execute(self, sql: LiteralString, **parameters: Value) -> int:
        """See `Transaction.execute`."""
        text, values = self._statements.prepare(sql, parameters)
        self._pass("before statement")
        tag = await self._connection.execute(text, *values, timeout=self._deadline.left)
        self._pass("after statement")
        # As "UPDATE 3", or "INSERT 0 3".
        count = tag.rpartition(" ")[2]
        return int(count) if count.isdecimal() else 0

    async def execute_many(self, sql: LiteralString, rows: Sequence[Parameters]) -> None:
        """See `Transaction.execute_many`."""
        if not rows:
            return
        prepared = [self._statements.prepare(sql, row) for row in rows]
        self._pass("before statement")
        await self._connection.executemany(
            prepared[0][0], [values for _, values in prepared], timeout=self._deadline.left
        )
        self._pass("after statement")

    async def fetch_all(self, sql: LiteralString, **parameters: Value) -> list[Row]:
        """See `Transaction.fetch_all`."""
        text, values = self._statements.prepare(sql, parameters)
        self._pass("before statement")
        rows: list[Row] = await self._connection.fetch(text, *values, timeout=self._deadline.left)
        self._pass("after statement")
        return rows

    async def fetch_one(self, sql: LiteralString, **parameters: Value) -> Row | None:
        """See `Transaction.fetch_one`."""
        rows = await self.fetch_all(sql, **parameters)
        return rows[0] if rows else None

    def _pass(self, point: str) -> None:
        if self._failpoint is not None:
            self._failpoint(point)
