"""The store of the bug no-shield: its transactions live in the task of whoever calls."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, LiteralString, TypeVar

from memkit_backends.relational.driver import Parameters, Row, Value, Work
from memkit_backends.sqlite.connecting import Connector
from memkit_backends.sqlite.driver import SqliteDriver
from memkit_backends.sqlite.options import Options
from memkit_backends.sqlite.reader import Reader
from memkit_backends.sqlite.store import SQLiteStore
from memkit_backends.sqlite.transaction import SqliteTransaction, completed
from memkit_backends.sqlite.writer import Writer
from tests.gates.backends import GateStore, file_of

Answer = TypeVar("Answer")


class HoppingTransaction:
    """Each statement is awaited by itself: a cancelled caller never comes to the next."""

    def __init__(self, run: Callable[[Callable[[sqlite3.Connection], Any]], Any]) -> None:
        self._run = run

    async def execute(self, sql: LiteralString, **parameters: Value) -> int:
        """See `Transaction.execute`."""
        return await self._run(lambda bare: completed(_on(bare).execute(sql, **parameters)))

    async def execute_many(self, sql: LiteralString, rows: Sequence[Parameters]) -> None:
        """See `Transaction.execute_many`."""
        await self._run(lambda bare: completed(_on(bare).execute_many(sql, rows)))

    async def fetch_all(self, sql: LiteralString, **parameters: Value) -> list[Row]:
        """See `Transaction.fetch_all`."""
        return await self._run(lambda bare: completed(_on(bare).fetch_all(sql, **parameters)))

    async def fetch_one(self, sql: LiteralString, **parameters: Value) -> Row | None:
        """See `Transaction.fetch_one`."""
        return await self._run(lambda bare: completed(_on(bare).fetch_one(sql, **parameters)))


def _on(connection: sqlite3.Connection) -> SqliteTransaction:
    return SqliteTransaction(connection, None)


class UnshieldedDriver(SqliteDriver):
    """Errors are rolled back; a cancellation is no `Exception`, and is forgotten."""

    def __init__(self, *threads: Any) -> None:
        super().__init__(*threads)
        self._one_at_a_time = asyncio.Lock()

    async def write(self, work: Work[Answer], *, repeatable: bool = False) -> Answer:  # noqa: ARG002  # it is never repeated
        """See `Driver.write`."""
        async with self._one_at_a_time:
            await self.run(partial(_say, "BEGIN IMMEDIATE"))
            try:
                answer = await work(HoppingTransaction(self.run))
            except Exception:
                await self.run(partial(_say, "ROLLBACK"))
                raise
            await self.run(partial(_say, "COMMIT"))
            return answer


def _say(sql: str, connection: sqlite3.Connection) -> None:
    connection.execute(sql)


async def open_unshielded(location: str) -> GateStore:
    """A store on that driver."""
    connector = Connector(Options(path=file_of(location)))
    writer = Writer(connector.writer, None)
    driver = UnshieldedDriver(writer, [Reader(connector.reader)])
    await driver.connect()
    return SQLiteStore(driver, connector)
