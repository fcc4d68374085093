"""What asyncpg's own exceptions mean to memkit: translated once, here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import asyncpg

from memkit.errors import (
    Closed,
    ConfigError,
    InvalidInput,
    MemkitError,
    StoreBusy,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreReadOnly,
    StoreUnavailable,
)

Sort = Literal["conflict", "lost", "standby", "final"]
"""Others were in the way; the connection or the server is gone; the server has become one
that only reads; or the same again would fail again."""

CAUGHT = (
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    OSError,
    EOFError,
)
"""Everything the driver raises. A timeout is an OSError."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A driver's exception as memkit says it."""

    error: MemkitError
    sort: Sort


_BUSY = "others were in the way; try again"
_GONE = "the server cannot be reached or is restarting; try again"
_NOT_LET_IN = "the server refused the role, its password or the database; see the URL"
_SCHEMA = (
    "tables are missing or are not what memkit made; run `memkit migrate`, or name another schema"
)
_POOLER = (
    "a prepared statement was lost: if a pooler such as pgbouncer stands between, "
    'set pooler = "transaction"'
)

_MEANINGS: dict[str, tuple[type[MemkitError], str, Sort]] = {
    "08": (StoreUnavailable, _GONE, "lost"),
    "22": (InvalidInput, "a value that Postgres cannot keep", "final"),
    "23": (InvalidInput, "a value that the schema refuses", "final"),
    "25006": (StoreReadOnly, "the server only reads: it is a standby, or was made so", "standby"),
    "25P03": (StoreBusy, "the transaction was left alone for too long; try again", "lost"),
    "26": (StoreError, _POOLER, "final"),
    "28": (ConfigError, _NOT_LET_IN, "final"),
    "3D": (ConfigError, _NOT_LET_IN, "final"),
    "3F": (StoreCorrupt, _SCHEMA, "final"),
    "40": (StoreBusy, _BUSY, "conflict"),
    "42": (StoreCorrupt, _SCHEMA, "final"),
    "42501": (StoreReadOnly, "the role may not do that; grant it rights to the schema", "final"),
    "42P05": (StoreError, _POOLER, "final"),
    "53": (StoreBusy, "the server is short of memory or connections; try again", "lost"),
    "53100": (StoreFull, "no space is left on the server's disk; make room and go on", "final"),
    "54": (InvalidInput, "a value too large for Postgres", "final"),
    "55000": (ConfigError, _NOT_LET_IN, "final"),
    "55P03": (StoreBusy, _BUSY, "final"),
    "57": (StoreUnavailable, _GONE, "lost"),
    "57014": (StoreBusy, "the statement took longer than it may", "final"),
    "58": (StoreUnavailable, "the server failed to read or write its files", "final"),
    "XX001": (StoreCorrupt, "the server found damaged data; restore a backup", "final"),
    "XX002": (StoreCorrupt, "the server found a damaged index; rebuild it", "final"),
}
"""By SQLSTATE, or by its class of two characters."""


class NoneFreeError(TimeoutError):
    """All connections of the pool were in use for too long."""


def failure(error: BaseException) -> Failure:  # noqa: PLR0911  # one for each sort
    """What an exception of the driver means."""
    match error:
        case asyncpg.PostgresError():
            return _refusal(error)
        case asyncpg.DataError():
            return Failure(InvalidInput("a value that Postgres cannot keep"), "final")
        case asyncpg.OutdatedSchemaCacheError():
            return Failure(StoreBusy(_BUSY), "conflict")
        case NoneFreeError():
            advice = "no connection became free in time; try again, or raise max_size"
            return Failure(StoreBusy(advice), "final")
        case TimeoutError():
            return Failure(StoreBusy("the server did not answer in time"), "final")
        case asyncpg.InterfaceError() if "pool is clos" in str(error):
            return Failure(Closed("pool"), "final")
        case _:
            return Failure(StoreUnavailable(_GONE), "lost")


def _refusal(error: asyncpg.PostgresError) -> Failure:
    # The server's text may quote what was asked, so none of it is repeated.
    state: str = error.sqlstate or "XX000"
    if isinstance(error, asyncpg.InvalidCachedStatementError):
        return Failure(StoreBusy(f"the schema has changed meanwhile ({state})"), "conflict")
    kind, advice, sort = (
        _MEANINGS.get(state)
        or _MEANINGS.get(state[:2])
        or (StoreError, "Postgres refused the statement", "final")
    )
    return Failure(kind(f"{advice} ({state})"), sort)


def hushed(error: BaseException) -> BaseException | None:
    """`error`, to be chained, without what the server quotes of rows; None if it is all quote."""
    if isinstance(error, asyncpg.DataError) and not isinstance(error, asyncpg.PostgresError):
        return None
    for name in ("detail", "hint", "query", "internal_query", "context"):
        if getattr(error, name, None) is not None:
            setattr(error, name, None)
    return error
