"""What an operator wants of the database: to know its state, and to have deleted text gone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from memkit.models import Finding
from memkit_backends.postgres.connection import Connection
from memkit_backends.postgres.naming import quoted
from memkit_backends.postgres.statements import TABLES

OLDEST = 150_000
"""Postgres 15."""

PATIENCE = 6 * 3600.0
"""Seconds that rewriting one table may take."""


async def findings(connection: Connection, schema: str) -> list[Finding]:
    """See `Maintains.check`."""
    rows = await connection.fetch(
        """
        SELECT name, setting
          FROM pg_catalog.pg_settings
         WHERE name IN ('server_version_num', 'server_encoding', 'fsync', 'full_page_writes',
                        'synchronous_commit', 'transaction_read_only', 'autovacuum')
        """,
        timeout=PATIENCE,
    )
    broken = await connection.fetch(
        """
        SELECT CAST(indexrelid AS regclass)
          FROM pg_catalog.pg_index
          JOIN pg_catalog.pg_class ON pg_class.oid = indexrelid
          JOIN pg_catalog.pg_namespace ON pg_namespace.oid = relnamespace
         WHERE nspname = $1
           AND NOT (indisvalid AND indisready)
        """,
        schema,
        timeout=PATIENCE,
    )
    return [*_settings(dict(rows)), *_indexes(len(broken))]


def _settings(of: Mapping[str, str]) -> Iterator[Finding]:
    if int(of["server_version_num"]) < OLDEST:
        message = "memkit is made for Postgres 15 and later"
        yield Finding(level="error", code="postgres.version", message=message)
    if of["server_encoding"] != "UTF8":
        message = "the database is not encoded in UTF8: some texts cannot be kept"
        yield Finding(level="error", code="postgres.encoding", message=message)
    for name in ("fsync", "full_page_writes"):
        if of[name] == "off":
            message = f"{name} is off: a power cut may damage the whole database"
            yield Finding(level="error", code=f"postgres.{name}", message=message)
    if of["synchronous_commit"] == "off":
        message = "synchronous_commit is off: a crash may take what was acknowledged last"
        yield Finding(level="warning", code="postgres.synchronous-commit", message=message)
    if of["transaction_read_only"] == "on":
        message = "the server only reads: it is a standby, or was made so"
        yield Finding(level="warning", code="postgres.read-only", message=message)
    if of["autovacuum"] == "off":
        message = "autovacuum is off: what was deleted is never given back"
        yield Finding(level="warning", code="postgres.autovacuum", message=message)


def _indexes(broken: int) -> Iterator[Finding]:
    if broken:
        message = f"{broken} indexes are not valid; rebuild them with REINDEX"
        yield Finding(level="error", code="postgres.indexes", message=message)


async def erase(connection: Connection, schema: str) -> None:
    """See `Maintains.erase`. Takes a role that owns the tables; locks them one by one.

    The write-ahead log, its archive and backups keep what was deleted for as long as the
    server keeps them.
    """
    for table in TABLES:
        await connection.execute(
            f"VACUUM (FULL, ANALYZE) {quoted(schema)}.{table}", timeout=PATIENCE
        )
