"""Where a Postgres store is, and how it is to be used."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from memkit.errors import ConfigError
from memkit_backends.postgres.connection import Pool
from memkit_backends.postgres.naming import DEFAULT_SCHEMA, quoted

Pooler = Literal["transaction"]

SCHEMES = ("postgresql://", "postgres://")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """A location or a pool, and how to work with it.

    The location is a URL as libpq has it. It carries a password, so it is never shown.
    """

    location: str | None = field(default=None, repr=False)
    pool: Pool | None = field(default=None, repr=False)
    """A pool of asyncpg that somebody else opened on this loop, and closes."""
    schema: str = DEFAULT_SCHEMA
    min_size: int = 0
    max_size: int = 10
    """Connections. Reads gain little past four; writes, which wait for the disk, do."""
    deadline: float = 30.0
    """Seconds that a call may take in all, waiting and retries included."""
    acquire_timeout: float = 10.0
    """Seconds of these to wait for a free connection before `StoreBusy`."""
    pooler: Pooler | None = None
    """`transaction` behind a pooler that gives each transaction another session (pgbouncer):
    then no statement is kept prepared. Nothing else of memkit is bound to a session."""
    auto_migrate: bool = True
    """Bring the schema up to date on opening. Without, a role needs rights to rows only."""
    application_name: str = "memkit"
    lease_clock: Callable[[], datetime] | None = None
    """The store's own time, for tests; the database's if it is not given."""
    failpoint: Callable[[str], None] | None = None
    """Called at every step of a transaction that writes with its name, for tests of crashes."""

    def __post_init__(self) -> None:
        quoted(self.schema)
        if (self.location is None) == (self.pool is None):
            raise ConfigError("the postgres store needs a URL, or a pool instead of it")
        if self.location is not None and not self.location.startswith(SCHEMES):
            raise ConfigError("the postgres store needs a URL: postgresql://user@host/database")
        if self.pooler not in {None, "transaction"}:
            raise ConfigError(f"pooler is transaction or left out, not {self.pooler!r}")
        if not 0 <= self.min_size <= self.max_size or self.max_size < 1:
            raise ConfigError(
                "min_size is at least 0, max_size at least 1, and min_size not above it"
            )
        if self.deadline <= 0 or self.acquire_timeout <= 0:
            raise ConfigError("deadline and acquire_timeout are above 0 seconds")
