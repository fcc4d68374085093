"""The nouns' statements as Postgres takes them: numbered parameters, tables with their schema."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from memkit.decay import microseconds
from memkit_backends.postgres.naming import quoted
from memkit_backends.postgres.options import Options
from memkit_backends.relational.driver import Parameters, Value

TABLES: Final = ("scope", "session", "episode", "item", "item_source", "job", "tombstone")

_TABLE = re.compile(rf"\b(FROM|JOIN|INTO|UPDATE)(\s+)({'|'.join(TABLES)}|migration)\b")
_PARAMETER = re.compile(r"(?<![:\w]):([a-z_]+)")

LEASE_CLOCK: Final = "lease_clock"
"""The parameter that a store with a clock of its own fills in."""


@dataclass(frozen=True, slots=True)
class Statement:
    """The text that the server is sent, and the names of its parameters in their order."""

    text: str
    names: tuple[str, ...]

    def arguments(self, parameters: Parameters) -> list[Value]:
        """The values in the order of the numbers."""
        return [parameters[name] for name in self.names]


class Statements:
    """Translates each statement once. No search_path is asked where a table is."""

    def __init__(self, options: Options) -> None:
        self._schema = quoted(options.schema)
        self._clock = options.lease_clock
        self._known: dict[str, Statement] = {}

    def prepare(self, sql: str, parameters: Parameters) -> tuple[str, Sequence[Value]]:
        """What to send for `sql`: the text, and the values of its parameters."""
        statement = self._known.get(sql)
        if statement is None:
            statement = self._known[sql] = translated(sql, self._schema)
        if self._clock is not None and LEASE_CLOCK in statement.names:
            parameters = {**parameters, LEASE_CLOCK: microseconds(self._clock())}
        return statement.text, statement.arguments(parameters)


def translated(sql: str, schema: str) -> Statement:
    """`sql` with its tables in `schema`, which is quoted, and its parameters numbered."""
    numbers: dict[str, str] = {}

    def numbered(match: re.Match[str]) -> str:
        return numbers.setdefault(match[1], f"${len(numbers) + 1}")

    placed = _TABLE.sub(lambda match: f"{match[1]}{match[2]}{schema}.{match[3]}", sql)
    return Statement(_PARAMETER.sub(numbered, placed), tuple(numbers))
