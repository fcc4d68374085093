"""A driver that writes down how Postgres means to carry out each statement.

For the values at hand, as it does with the first few; or for any, as it may do from then on.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, LiteralString, TypeVar

import asyncpg

from memkit_backends.postgres.driver import PostgresDriver
from memkit_backends.postgres.naming import quoted
from memkit_backends.postgres.statements import translated
from memkit_backends.relational.driver import Parameters, Row, Transaction, Value, Work

Answer = TypeVar("Answer")

Explain = Callable[[Transaction, LiteralString, Parameters], Awaitable[list[str]]]
"""The steps of a statement."""


async def for_these(tx: Transaction, sql: LiteralString, parameters: Parameters) -> list[str]:
    """As Postgres would carry it out for these values."""
    steps = await tx.fetch_all(f"EXPLAIN (COSTS OFF) {sql}", **parameters)
    return [step for (step,) in steps]


class ForAny:
    """As it would carry it out for any values: what a prepared statement comes to be."""

    def __init__(self, connection: asyncpg.Connection, schema: str) -> None:
        self._connection = connection
        self._schema = quoted(schema)

    async def __call__(self, _tx: Transaction, sql: str, _parameters: Parameters) -> list[str]:
        """See `Explain`."""
        statement = translated(sql, self._schema)
        nulls = ", ".join(["NULL"] * len(statement.names))
        values = f"({nulls})" if nulls else ""
        tell = self._connection.execute
        await tell("SET plan_cache_mode = force_generic_plan")
        await tell(f"PREPARE asked AS {statement.text}")
        steps = await self._connection.fetch(f"EXPLAIN (COSTS OFF) EXECUTE asked{values}")
        await tell("DEALLOCATE asked")
        return [step for (step,) in steps]


class Planned:
    """A transaction that asks for the plan of each statement before it runs it."""

    def __init__(self, inner: Transaction, explain: Explain, plans: list[str]) -> None:
        self._inner = inner
        self._explain_it = explain
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
        steps = await self._explain_it(self._inner, sql, parameters)
        self._plans += [step.strip() for step in steps]


class PlannedDriver:
    """A driver whose transactions leave their plans in `plans`."""

    def __init__(self, inner: PostgresDriver, explain: Explain) -> None:
        self._inner = inner
        self._explain = explain
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
        return await work(Planned(tx, self._explain, self.plans))
