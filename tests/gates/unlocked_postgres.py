"""The store of the bug no-lock on Postgres: whoever finds no tables makes them, as best he can."""

from __future__ import annotations

from memkit_backends.postgres import ddl
from memkit_backends.postgres.store import PostgresStore
from tests.gates.postgres import open_at
from tests.postgres.server import ask, parted, tell


async def open_unlocked_postgres(location: str) -> PostgresStore:
    """Looks, and then makes, without a lock between."""
    url, settings = parted(location)
    schema = settings["schema"]
    if not await ask(url, "SELECT 1 FROM pg_namespace WHERE nspname = $1", schema):
        await tell(url, ddl(schema))
    return await open_at(location, auto_migrate=False)
