"""The Postgres store: the relational nouns over a pool, and its upkeep."""

from __future__ import annotations

from dataclasses import replace

from memkit.models import Capabilities, Finding, Migrated
from memkit_backends.postgres import upkeep
from memkit_backends.postgres.dialect import POSTGRES
from memkit_backends.postgres.driver import PostgresDriver
from memkit_backends.postgres.options import Options
from memkit_backends.postgres.pooling import opened_pool
from memkit_backends.postgres.scripts import whole_script
from memkit_backends.postgres.statements import LEASE_CLOCK
from memkit_backends.relational.store import RelationalStore


class PostgresStore(RelationalStore):
    """A `Store`, a `Ledger`, and what `Maintains` itself."""

    capabilities = Capabilities(
        name="postgres", transactions=True, consistency="immediate", leases="exclusive"
    )

    auto_migrate: bool = True
    """Whether `open_memory` calls `migrate`; False where only operators may."""

    def __init__(self, driver: PostgresDriver, options: Options) -> None:
        dialect = POSTGRES
        if options.lease_clock is not None:
            dialect = replace(dialect, store_clock=f"CAST(:{LEASE_CLOCK} AS BIGINT)")
        super().__init__(driver, dialect)
        self._server = driver
        self._schema = options.schema

    @classmethod
    async def open(cls, options: Options) -> PostgresStore:
        """Open the store that `options` describe; with `auto_migrate` it gets its schema."""
        driver = PostgresDriver(await opened_pool(options), options)
        try:
            await driver.settle_schema()
        except BaseException:
            await driver.aclose()
            raise
        return cls(driver, options)

    def ddl(self) -> str:
        """What `migrate` would run for a new schema of this name, to be run by other hands."""
        return whole_script(self._schema)

    async def migrate(self, *, dry_run: bool = False) -> Migrated:
        """See `Maintains.migrate`."""
        return await self._server.migrate(dry_run=dry_run)

    async def check(self) -> list[Finding]:
        """See `Maintains.check`."""
        return await self._server.inspect(upkeep.findings)

    async def erase(self) -> None:
        """See `Maintains.erase`."""
        await self._server.inspect(upkeep.erase)
