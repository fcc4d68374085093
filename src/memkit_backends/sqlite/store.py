"""The SQLite store: the relational nouns on one file, and its upkeep."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from functools import partial

from memkit.models import Capabilities, Finding, Migrated
from memkit_backends.relational.store import RelationalStore
from memkit_backends.sqlite import upkeep
from memkit_backends.sqlite.connecting import Connector
from memkit_backends.sqlite.dialect import SQLITE
from memkit_backends.sqlite.driver import SqliteDriver
from memkit_backends.sqlite.migrating import migrate, report
from memkit_backends.sqlite.options import Options
from memkit_backends.sqlite.reader import Reader
from memkit_backends.sqlite.writer import Writer

logger = logging.getLogger(__name__)


class SQLiteStore(RelationalStore):
    """A `Store`, a `Ledger`, and what `Maintains` itself."""

    auto_migrate: bool = True
    """Whether `open_memory` calls `migrate`; False where only operators may."""

    def __init__(self, driver: SqliteDriver, connector: Connector, *, durable: bool = True) -> None:
        super().__init__(driver, SQLITE)
        self._file = driver
        self._connector = connector
        self.capabilities = Capabilities(
            name="sqlite",
            durable=durable,
            transactions=True,
            consistency="immediate",
            leases="exclusive",
        )

    @classmethod
    async def open(cls, options: Options) -> SQLiteStore:
        """Open the store that `options` describe; with `auto_migrate` a new one is made.

        Without, one that is not there is opened at the first call that finds it.
        """
        if upkeep.may_lose_commits(sqlite3.sqlite_version_info):
            logger.info("%s", upkeep.WAL_RESET)
        connector = Connector(options)
        driver = unopened(connector, options)
        if options.auto_migrate or options.read_only or await asyncio.to_thread(connector.is_made):
            await driver.connect()
        return cls(driver, connector, durable=options.path is not None)

    async def migrate(self, *, dry_run: bool = False) -> Migrated:
        """See `Maintains.migrate`."""
        if not await asyncio.to_thread(self._connector.is_made):
            if not dry_run:
                await asyncio.to_thread(self._connector.make)
            return report(0)
        if dry_run:
            return await self._file.inspect(partial(migrate, dry_run=True))
        return await self._file.run(migrate)

    async def check(self) -> list[Finding]:
        """See `Maintains.check`."""
        return await self._file.inspect(upkeep.findings)

    async def erase(self) -> None:
        """See `Maintains.erase`."""
        await self._file.run(upkeep.erase)


def unopened(connector: Connector, options: Options) -> SqliteDriver:
    """The driver that `options` ask for."""
    if options.path is None:
        return SqliteDriver(Writer(connector.writer, options.failpoint), [])
    if options.read_only:
        return SqliteDriver(None, [Reader(connector.inspector) for _ in range(options.readers)])
    readers = [Reader(connector.reader) for _ in range(options.readers)]
    return SqliteDriver(Writer(connector.writer, options.failpoint), readers)
