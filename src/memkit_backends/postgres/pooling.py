"""The pool of a store: connections that leave nothing behind, opened by a URL."""

from __future__ import annotations

import asyncpg

from memkit.errors import ConfigError, StoreUnavailable
from memkit_backends.postgres.connection import Pool
from memkit_backends.postgres.failures import CAUGHT, failure, hushed
from memkit_backends.postgres.options import Options
from memkit_backends.postgres.reserve import IDLE

STATEMENTS = 256
"""Prepared statements that a connection keeps."""

_REFUSED = (
    asyncpg.UndefinedObjectError,
    asyncpg.InvalidParameterValueError,
    asyncpg.CantChangeRuntimeParamError,
)
"""How a connection fails to begin whose `options` are not the server's."""


class _Connection(asyncpg.Connection):  # type: ignore[misc]  # asyncpg ships no types
    """Given back as it was taken: memkit sets nothing in a session, so nothing is reset.

    An open transaction is rolled back all the same.
    """

    __slots__ = ()

    def get_reset_query(self) -> str:
        return ""


async def opened_pool(options: Options) -> Pool:
    """The pool that `options` ask for, with its first connections made."""
    if options.pool is not None:
        return options.pool
    try:
        pool: Pool = asyncpg.create_pool(
            options.location,
            min_size=options.min_size,
            max_size=options.max_size,
            max_inactive_connection_lifetime=IDLE,
            connection_class=_Connection,
            statement_cache_size=0 if options.pooler == "transaction" else STATEMENTS,
            max_cached_statement_lifetime=0,
            server_settings={"application_name": options.application_name},
            # Less than a call waits for a connection, so that it can tell why there is none.
            timeout=options.acquire_timeout / 2,
        )
        await _begun(pool)
    except (asyncpg.ClientConfigurationError, ValueError):
        # What it says may quote the URL, and so the password.
        raise ConfigError("the URL of the postgres store cannot be read") from None
    except _REFUSED as exc:
        raise ConfigError(
            f"the server refuses a setting in the URL, or its value ({exc.sqlstate})"
        ) from hushed(exc)
    except TimeoutError as exc:
        raise StoreUnavailable("the server did not answer in time") from exc
    except CAUGHT as exc:
        raise failure(exc).error from hushed(exc)
    return pool


async def _begun(pool: Pool) -> None:
    """Make a first connection, so that what is wrong with the URL is said now."""
    try:
        await pool
        await pool.release(await pool.acquire())
    except BaseException:
        pool.terminate()
        raise
