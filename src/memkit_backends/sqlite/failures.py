"""What SQLite's own exceptions mean to memkit: translated once, here."""

from __future__ import annotations

import errno
import sqlite3

from memkit.errors import (
    StoreBusy,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreReadOnly,
    StoreUnavailable,
)

_PRIMARY = 0xFF
"""The low byte of an extended result code is its class."""

_MEANINGS: dict[int, tuple[type[StoreError], str]] = {
    sqlite3.SQLITE_BUSY: (StoreBusy, "others held the file for too long; try again"),
    sqlite3.SQLITE_LOCKED: (StoreBusy, "others held the tables for too long; try again"),
    sqlite3.SQLITE_FULL: (StoreFull, "no space is left on the disk; make room and go on"),
    sqlite3.SQLITE_READONLY: (StoreReadOnly, "the file or its directory may not be written"),
    sqlite3.SQLITE_PERM: (StoreReadOnly, "the file may not be accessed"),
    sqlite3.SQLITE_CORRUPT: (StoreCorrupt, "the file is damaged; restore it from a backup"),
    sqlite3.SQLITE_NOTADB: (StoreCorrupt, "the file is not an SQLite database"),
    sqlite3.SQLITE_CANTOPEN: (StoreUnavailable, "the file cannot be opened"),
    sqlite3.SQLITE_IOERR: (StoreUnavailable, "the disk failed to read or write"),
}


_NOT_OURS = ("no such table", "no such column", "no such index", "has no column", "invalid fts5")
"""Parts of what SQLite says of tables that are not those our statements were written for."""


_SCHEMA = (
    "tables are missing or are not what memkit made; run `memkit migrate`, or restore a backup"
)


def translated(error: sqlite3.Error) -> StoreError:
    """`error` as memkit says it, with SQLite's name for it and none of its text."""
    # Text of SQLite may quote what was asked, so it stays in the chained exception.
    code: int | None = getattr(error, "sqlite_errorcode", None)
    name: str = getattr(error, "sqlite_errorname", type(error).__name__)
    if code is None and isinstance(error, sqlite3.OperationalError):
        # Raised by Python itself, for text that is not UTF-8.
        code = sqlite3.SQLITE_CORRUPT
    if code == sqlite3.SQLITE_ERROR and any(sign in str(error) for sign in _NOT_OURS):
        return StoreCorrupt(f"{_SCHEMA} ({name})")
    kind, advice = _MEANINGS.get(
        (code or 0) & _PRIMARY, (StoreError, "SQLite refused the statement")
    )
    return kind(f"{advice} ({name})")


def known(error: BaseException) -> BaseException:
    """`error` itself, or, where it is SQLite's own, its translation chained to it."""
    if isinstance(error, UnicodeDecodeError):
        # What SQLite says of a damaged schema quotes it, and sqlite3 fails to decode that.
        meaning: StoreError = StoreCorrupt("the file is damaged; restore it from a backup")
    elif isinstance(error, sqlite3.Error):
        meaning = translated(error)
    else:
        return error
    meaning.__cause__ = error
    return meaning


_SYSTEM: dict[int, tuple[type[StoreError], str]] = {
    errno.ENOSPC: (StoreFull, "no space is left on the disk; make room and go on"),
    errno.EDQUOT: (StoreFull, "the disk quota is used up; make room and go on"),
    errno.EROFS: (StoreReadOnly, "the file system is mounted read-only"),
    errno.EACCES: (StoreReadOnly, "the file or its directory may not be accessed"),
    errno.EPERM: (StoreReadOnly, "the file or its directory may not be accessed"),
}


def unusable(error: OSError) -> StoreError:
    """A failure of the file system on the way to the store's file."""
    kind, advice = _SYSTEM.get(
        error.errno or 0, (StoreUnavailable, "the store's file cannot be reached")
    )
    return kind(f"{advice} ({errno.errorcode.get(error.errno or 0, 'unknown error')})")
