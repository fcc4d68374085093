"""A driver that writes down how Postgres means to carry out each statement."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, LiteralString, TypeVar

from memkit_backends.postgres.driver import PostgresDriver
from memkit_backends.relational.driver import Parameters, Row, Transaction, Value, Work

Answer = TypeVar("Answer")


class Planned:
    """A transaction that asks for the plan of each statement before it runs it."""

    def __init__(self, inner: Transaction, plans: list[str]) -> None:
        self._inner = inner
        self._plans = plans

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
        steps = await self._inner.fetch_all(f"EXPLAIN (COSTS OFF) {sql}", **parameters)
        self._plans += [step.strip() for (step,) in steps]


class PlannedDriver:
    """A driver whose transactions leave their plans in `plans`."""

    def __init__(self, inner: PostgresDriver) -> None:
        self._inner = inner
        self.plans: list[str] = []

    async def read(self, work: Work[Answer]) -> Answer:
        return await self._inner.read(partial(self._planned, work))

    async def read_each(self, work: Work[Answer]) -> Answer:
        return await self._inner.read_each(partial(self._planned, work))

    async def write(self, work: Work[Answer], *, repeatable: bool = False) -> Answer:
        return await self._inner.write(partial(self._planned, work), repeatable=repeatable)

    async def write_once(self, work: Work[Answer]) -> Answer:
        return await self.write(work)

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def _planned(self, work: Work[Answer], tx: Transaction) -> Any:
        return await work(Planned(tx, self.plans))
