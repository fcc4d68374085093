"""Connections as the store needs them: settings, the store's clock, the schema in place."""

from __future__ import annotations

import logging
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from memkit.decay import microseconds
from memkit.errors import StoreReadOnly, StoreUnavailable
from memkit_backends.sqlite import files
from memkit_backends.sqlite.migrating import migrate, supported, version
from memkit_backends.sqlite.mounts import refuse_shared
from memkit_backends.sqlite.options import Options

logger = logging.getLogger(__name__)

LOG_BYTES = 64 * 1024 * 1024
"""To what size the write-ahead log is cut back after it was reset."""

LOG_PAGES = 2000
"""After so many pages the log is folded in: 8 MiB, so that no writer waits a tenth of a second
for it even where the pages lie far apart, and half as often as by default. The pages that every
commit writes anew are then copied once."""

CACHE_KIBIBYTES = 16 * 1024
STATEMENTS = 256
"""Prepared statements that a connection keeps."""

_ABSENT = "there is no store yet, and it was not to be made; `memkit migrate` makes it"


class Connector:
    """Opens the connections of one store."""

    def __init__(self, options: Options) -> None:
        self._options = options
        # Connections are made later too: wherever the process has gone by then.
        self._given = None if options.path is None else files.absolute(options.path)
        self._path = self._given

    def is_made(self) -> bool:
        """Whether there is a store, by a look that changes nothing. In memory there always is."""
        if self._given is None:
            return True
        return files.exists(self._whole(self._given), supported=supported())

    def make(self) -> None:
        """Make the store, unless there is one."""
        path = self._whole(self._given or Path())
        files.refuse_unwritable(path)
        if not files.exists(path, supported=supported()):
            files.create(path, _fill)

    def writer(self) -> sqlite3.Connection:
        """The connection that writes; the store is made if that is wanted."""
        if self._given is None:
            return self._settled(":memory:")
        if self._options.auto_migrate:
            self.make()
        elif not self.is_made():
            raise StoreUnavailable(_ABSENT)
        self._path = self._whole(self._given)
        files.refuse_unwritable(self._path)
        return self._settled(str(self._path))

    def reader(self) -> sqlite3.Connection:
        """A connection that only reads, beside a writer."""
        with closed_on_failure(self._connect(str(self._path))) as connection:
            self._configure(connection)
            # Readers never fold the log in: on most versions of SQLite that may lose commits
            # if another connection writes at that moment.
            connection.execute("PRAGMA wal_autocheckpoint = 0")
            connection.execute("PRAGMA query_only = ON")
        return connection

    def inspector(self) -> sqlite3.Connection:
        """A connection that only reads, of a store that nobody here writes."""
        path = self._whole(self._given or Path())
        if not files.exists(path, supported=supported()):
            raise StoreReadOnly("there is no store to be read; open it once without read_only")
        database = f"{path.as_uri()}?{_reading(path)}"
        with closed_on_failure(self._connect(database, uri=True)) as connection:
            self._configure(connection)
            if version(connection) < supported():
                raise StoreReadOnly("the store has an older schema; open it without read_only")
        return connection

    def _whole(self, path: Path) -> Path:
        whole = files.resolved(path)
        refuse_shared(whole, self._options.mounts)
        return whole

    def _settled(self, database: str) -> sqlite3.Connection:
        with closed_on_failure(self._connect(database)) as connection:
            version(connection)
            self._configure(connection)
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute(f"PRAGMA journal_size_limit = {LOG_BYTES}")
            connection.execute(f"PRAGMA wal_autocheckpoint = {LOG_PAGES}")
            connection.execute(f"PRAGMA synchronous = {self._options.synchronous}")
            connection.execute("PRAGMA foreign_keys = ON")
            if self._options.auto_migrate or self._options.path is None:
                migrate(connection)
        return connection

    def _connect(self, database: str, *, uri: bool = False) -> sqlite3.Connection:
        return sqlite3.connect(
            database,
            timeout=self._options.busy_timeout,
            isolation_level=None,
            cached_statements=STATEMENTS,
            uri=uri,
        )

    def _configure(self, connection: sqlite3.Connection) -> None:
        connection.execute(f"PRAGMA cache_size = -{CACHE_KIBIBYTES}")
        connection.create_function("memkit_clock", 0, self._clock)

    def _clock(self) -> int:
        clock = self._options.lease_clock
        return time.time_ns() // 1000 if clock is None else microseconds(clock())


@contextmanager
def closed_on_failure(connection: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """Let go of a connection that turns out to be of no use."""
    try:
        yield connection
    except BaseException:
        connection.close()
        raise


def _fill(draft: Path) -> None:
    connection = sqlite3.connect(draft, isolation_level=None)
    try:
        migrate(connection)
        connection.execute("PRAGMA journal_mode = WAL")
    finally:
        connection.close()


def _reading(path: Path) -> str:
    """How to open a file that may lie where nothing can be created beside it."""
    try:
        files.refuse_unwritable(path)
    except StoreReadOnly:
        if not path.with_name(f"{path.name}-wal").exists():
            return "mode=ro&immutable=1"
    return "mode=ro"
