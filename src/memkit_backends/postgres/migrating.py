"""Migrations applied: in one transaction, under a lock that ends with it."""

from __future__ import annotations

from memkit.errors import SchemaTooNew
from memkit.models import Migrated
from memkit_backends.postgres.connection import Connection
from memkit_backends.postgres.naming import quoted
from memkit_backends.postgres.scripts import migrations, supported

PATIENCE = 600.0
"""Seconds that a migration may wait for another one and take itself."""

BEGIN = "BEGIN ISOLATION LEVEL READ COMMITTED"


async def version(connection: Connection, schema: str) -> int:
    """The version of a schema, 0 if it is not there; `SchemaTooNew` for one not known."""
    # Looked up before anything is created: a role with rights to rows only gets this far.
    # In the catalog itself: to_regclass() may answer from before the lock was waited for.
    tables = await connection.fetch(
        """
        SELECT 1
          FROM pg_catalog.pg_class
          JOIN pg_catalog.pg_namespace ON pg_namespace.oid = relnamespace
         WHERE nspname = $1
           AND relname = 'migration'
        """,
        schema,
        timeout=PATIENCE,
    )
    if not tables:
        return 0
    ((found,),) = await connection.fetch(
        f"SELECT coalesce(max(number), 0) FROM {quoted(schema)}.migration", timeout=PATIENCE
    )
    if found > supported():
        raise SchemaTooNew(found, supported=supported())
    return int(found)


async def migrate(connection: Connection, schema: str, *, dry_run: bool) -> Migrated:
    """Bring a schema up to date, or with `dry_run` say what that would apply."""
    found = await version(connection, schema)
    if dry_run or found == supported():
        return _report(found)
    await connection.execute(BEGIN, timeout=PATIENCE)
    # Replicas that start together: CREATE IF NOT EXISTS alone fails for all but one.
    await connection.fetch(
        "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))",
        f"memkit {schema}",
        timeout=PATIENCE,
    )
    # Others may have been faster while this one waited for the lock.
    report = _report(await version(connection, schema))
    if report.applied:
        await _create_schema(connection, schema)
    for migration in migrations()[report.found :]:
        await connection.execute(migration.within(quoted(schema)), timeout=PATIENCE)
    await connection.execute("COMMIT", timeout=PATIENCE)
    return report


async def _create_schema(connection: Connection, schema: str) -> None:
    # IF NOT EXISTS asks for the right to create even where nothing is to be created.
    found = await connection.fetch(
        "SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = $1", schema, timeout=PATIENCE
    )
    if not found:
        await connection.execute(f"CREATE SCHEMA {quoted(schema)}", timeout=PATIENCE)


def _report(found: int) -> Migrated:
    applied = tuple(migration.name for migration in migrations()[found:])
    return Migrated(found=found, now=supported(), applied=applied)
