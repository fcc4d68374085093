"""The SQLite store: the relational nouns on one file, and its upkeep."""

from __future__ import annotations

import logging
import sqlite3
from functools import partial

from memkit.models import Capabilities, Finding, Migrated
from memkit_backends.relational.store import RelationalStore
from memkit_backends.sqlite import upkeep
from memkit_backends.sqlite.connecting import Connector
from memkit_backends.sqlite.dialect import SQLITE
from memkit_backends.sqlite.driver import SqliteDriver
from memkit_backends.sqlite.migrating import migrate
from memkit_backends.sqlite.options import Options
from memkit_backends.sqlite.reader import Reader
from memkit_backends.sqlite.writer import Writer

logger = logging.getLogger(__name__)


class SQLiteStore(RelationalStore):
    """A `Store`, a `Ledger`, and what `Maintains` itself."""

    def __init__(self, driver: SqliteDriver, *, durable: bool = True) -> None:
        super().__init__(driver, SQLITE)
        self._file = driver
        self.capabilities = Capabilities(
            name="sqlite",
            durable=durable,
            transactions=True,
            consistency="immediate",
            leases="exclusive",
        )

    @classmethod
    async def open(cls, options: Options) -> SQLiteStore:
        """Open the store that `options` describe; a new file gets its schema."""
        if upkeep.may_lose_commits(sqlite3.sqlite_version_info):
            logger.info("%s", upkeep.WAL_RESET)
        return cls(await opened(options), durable=options.path is not None)

    async def migrate(self, *, dry_run: bool = False) -> Migrated:
        """See `Maintains.migrate`."""
        return await self._file.run(partial(migrate, dry_run=dry_run))

    async def check(self) -> list[Finding]:
        """See `Maintains.check`."""
        return await self._file.inspect(upkeep.findings)

    async def erase(self) -> None:
        """See `Maintains.erase`."""
        await self._file.run(upkeep.erase)


async def opened(options: Options) -> SqliteDriver:
    """The driver that `options` ask for."""
    connector = Connector(options)
    if options.path is None:
        return await SqliteDriver.open(Writer(connector.writer, options.failpoint), [])
    if options.read_only:
        readers = [Reader(connector.inspector) for _ in range(options.readers)]
        return await SqliteDriver.open(None, readers)
    readers = [Reader(connector.reader) for _ in range(options.readers)]
    return await SqliteDriver.open(Writer(connector.writer, options.failpoint), readers)
