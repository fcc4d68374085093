"""The seam between the shared nouns and a database library."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, LiteralString, Protocol, TypeAlias, TypeVar

Answer = TypeVar("Answer")

Value: TypeAlias = str | int | float | bytes | list[str] | list[int] | None
"""What a parameter may be. Dates cross as microseconds; a list is for `Dialect.is_one_of_*`."""

Parameters: TypeAlias = Mapping[str, Value]

Row: TypeAlias = tuple[Any, ...]
"""One row, its columns in the order the statement names them. Their types are the schema's."""


class Transaction(Protocol):
    """An open transaction. Statements use `:name` parameters on every database."""

    async def execute(self, sql: LiteralString, **parameters: Value) -> int:
        """Run one statement; return how many rows it changed."""
        ...

    async def execute_many(self, sql: LiteralString, rows: Sequence[Parameters]) -> None:
        """Run one statement once per mapping."""
        ...

    async def fetch_all(self, sql: LiteralString, **parameters: Value) -> list[Row]:
        """Run one statement; return all its rows."""
        ...

    async def fetch_one(self, sql: LiteralString, **parameters: Value) -> Row | None:
        """Run one statement; return its first row, or None."""
        ...


Work: TypeAlias = Callable[[Transaction], Coroutine[Any, Any, Answer]]
"""What happens inside one transaction. It awaits nothing but that transaction's methods.

A driver may run it again from its beginning, so it changes nothing but rows.
"""


class Driver(Protocol):
    """Runs work in transactions. The only place that sees the library's own exceptions.

    A call that is cancelled leaves all of its work or none.
    """

    async def read(self, work: Work[Answer]) -> Answer:
        """Run work that only reads, on one state of the store."""
        ...

    async def read_each(self, work: Work[Answer]) -> Answer:
        """`read` where a later statement may see a newer state than the one before it."""
        ...

    async def write(self, work: Work[Answer], *, repeatable: bool = False) -> Answer:
        """Run work and commit, or roll back on any exception, which is passed on.

        `repeatable`: to run it again after it was committed changes nothing and answers the
        same. A driver that lost the answer to a commit does so; else it is `OutcomeUnknown`.
        """
        ...

    async def write_once(self, work: Work[Answer]) -> Answer:
        """`write` for repeatable work of one statement, which is a transaction by itself."""
        ...

    async def aclose(self) -> None:
        """Let go of every connection. Twice is fine; other calls afterwards raise `Closed`."""
        ...
