"""memkit on Postgres: one database, many processes on many machines."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING

from memkit.errors import PluginError
from memkit_backends.postgres.naming import DEFAULT_SCHEMA

if TYPE_CHECKING:
    from memkit_backends.postgres.connection import Pool
    from memkit_backends.postgres.options import Pooler
    from memkit_backends.postgres.store import PostgresStore

__all__ = ["ddl", "open_store"]


async def open_store(  # noqa: PLR0913  # one for each option of the store's table
    location: str | None = None,
    *,
    pool: Pool | None = None,
    schema: str = DEFAULT_SCHEMA,
    min_size: int = 0,
    max_size: int = 10,
    deadline: float = 30.0,
    acquire_timeout: float = 10.0,
    pooler: Pooler | None = None,
    auto_migrate: bool = True,
    application_name: str = "memkit",
    lease_clock: Callable[[], datetime] | None = None,
    failpoint: Callable[[str], None] | None = None,
) -> PostgresStore:
    """Open the store at a `postgresql://` URL, or over a `pool` of asyncpg that stays open.

    See `Options` for the rest.
    """
    try:
        from memkit_backends.postgres.options import Options  # noqa: PLC0415  # the driver is loaded only when asked for
        from memkit_backends.postgres.store import PostgresStore  # noqa: PLC0415  # likewise
    except ImportError as exc:
        raise PluginError(
            "the postgres store needs asyncpg; install it with: "
            "pip install 'agent-memkit[postgres]'"
        ) from exc
    options = Options(
        location=location,
        pool=pool,
        schema=schema,
        min_size=min_size,
        max_size=max_size,
        deadline=deadline,
        acquire_timeout=acquire_timeout,
        pooler=pooler,
        auto_migrate=auto_migrate,
        application_name=application_name,
        lease_clock=lease_clock,
        failpoint=failpoint,
    )
    return await PostgresStore.open(options)


def ddl(schema: str = DEFAULT_SCHEMA) -> str:
    """Everything that `migrate` would run for a new schema, to be run by other hands."""
    from memkit_backends.postgres.scripts import whole_script  # noqa: PLC0415  # only where it is asked for

    return whole_script(schema)
