"""A driver that writes down how SQLite means to carry out each statement."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, LiteralString, TypeVar

from memkit_backends.relational.driver import Parameters, Row, Transaction, Value, Work
from memkit_backends.sqlite.driver import SqliteDriver

Answer = TypeVar("Answer")


class Planned:
    """A transaction that asks for the plan of each statement before it runs it."""

    def __init__(self, inner: Transaction, plans: list[str], tables: set[str]) -> None:
        self._inner = inner
        self._plans = plans
        self._tables = tables

    async def execute(self, sql: LiteralString, **parameters: Value) -> int:
        await self._explain(sql, parameters)
        return await self._inner.execute(sql, **parameters)

    async def execute_many(self, sql: LiteralString, rows: Sequence[Parameters]) -> None:
        if rows:
            await self._explain(sql, rows[0])
        await self._inner.execute_many(sql, rows)

    async def fetch_all(self, sql: LiteralString, **parameters: Value) -> list[Row]:
        await self._explain(sql, parameters)
        return await self._inner.fetch_all(sql, **parameters)

    async def fetch_one(self, sql: LiteralString, **parameters: Value) -> Row | None:
        await self._explain(sql, parameters)
        return await self._inner.fetch_one(sql, **parameters)

    async def _explain(self, sql: LiteralString, parameters: Parameters) -> None:
        steps = await self._inner.fetch_all(f"EXPLAIN QUERY PLAN {sql}", **parameters)
        self._plans += [detail for *_, detail in steps]
        roots = dict(
            await self._inner.fetch_all(
                "SELECT rootpage, name FROM sqlite_master WHERE type = 'table'"
            )
        )
        # A plan calls no partial index covering, though no row may be looked up for it.
        code = [step[1:4] for step in await self._inner.fetch_all(f"EXPLAIN {sql}", **parameters)]
        opened = {cursor: roots.get(page) for name, cursor, page in code if name == "OpenRead"}
        read = {opened.get(cursor) for name, cursor, _ in code if name == "Column"}
        self._tables |= {table for table in read if table is not None}


class PlannedDriver:
    """A driver whose transactions leave their plans in `plans`.

    In `tables` is whose rows they look at; what they find in an index is not counted.
    """

    def __init__(self, inner: SqliteDriver) -> None:
        self._inner = inner
        self.plans: list[str] = []
        self.tables: set[str] = set()

    async def read(self, work: Work[Answer]) -> Answer:
        return await self._inner.read(partial(self._planned, work))

    async def read_each(self, work: Work[Answer]) -> Answer:
        return await self.read(work)

    async def write(self, work: Work[Answer], *, repeatable: bool = False) -> Answer:
        return await self._inner.write(partial(self._planned, work), repeatable=repeatable)

    async def write_once(self, work: Work[Answer]) -> Answer:
        return await self.write(work)

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def _planned(self, work: Work[Answer], tx: Transaction) -> Any:
        return await work(Planned(tx, self.plans, self.tables))
