"""What an operator wants of the file: to know its state, and to have deleted text gone."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from memkit.errors import StoreBusy
from memkit.models import Finding

Version = tuple[int, int, int]

_FIRST: Version = (3, 7, 0)
_MENDED: tuple[tuple[Version, Version], ...] = (
    ((3, 44, 6), (3, 45, 0)),
    ((3, 50, 7), (3, 51, 0)),
)
"""Ranges of versions that have the correction, besides everything from `_SOUND` on."""
_SOUND: Version = (3, 51, 3)

WAL_RESET = (
    f"SQLite {sqlite3.sqlite_version} may lose commits when several processes write to one file "
    "and fold its log in at the same moment (corrected in 3.51.3, 3.50.7 and 3.44.6); one "
    "process is safe. A distribution may have corrected it without a new number"
)


def may_lose_commits(version: Version) -> bool:
    """Whether this version of SQLite has the race between a writer and a reset of the log."""
    is_mended = any(first <= version < last for first, last in _MENDED)
    return _FIRST <= version < _SOUND and not is_mended


def findings(connection: sqlite3.Connection) -> list[Finding]:
    """See `Maintains.check`."""
    return [*_damage(connection), *_settings(connection)]


def _damage(connection: sqlite3.Connection) -> Iterator[Finding]:
    for (problem,) in connection.execute("PRAGMA integrity_check").fetchall():
        if problem != "ok":
            message = "the file is damaged; restore it from a backup"
            yield Finding(level="error", code="sqlite.damaged", message=message)
            return
    lost = connection.execute("PRAGMA foreign_key_check").fetchall()
    if lost:
        message = f"{len(lost)} rows refer to rows that are not there"
        yield Finding(level="error", code="sqlite.references", message=message)


def _settings(connection: sqlite3.Connection) -> Iterator[Finding]:
    if may_lose_commits(sqlite3.sqlite_version_info):
        yield Finding(level="warning", code="sqlite.wal-reset", message=WAL_RESET)
    mode = connection.execute("PRAGMA journal_mode").fetchone()[0]
    if mode not in {"wal", "memory"}:
        message = f"the journal mode is {mode}, not wal: reads and writes wait for each other"
        yield Finding(level="warning", code="sqlite.journal-mode", message=message)
    free, pages = (
        connection.execute(f"PRAGMA {name}").fetchone()[0]
        for name in ("freelist_count", "page_count")
    )
    if free * 4 > pages:
        message = f"{free} of {pages} pages are free; `erase` gives them back"
        yield Finding(level="info", code="sqlite.free-pages", message=message)


def erase(connection: sqlite3.Connection) -> None:
    """See `Maintains.erase`."""
    # Deleted words stay in the segments of the text index until they are merged, deleted
    # rows in free pages until the file is rewritten, and both in the log until it is cut.
    connection.execute("PRAGMA secure_delete = ON")
    connection.execute("INSERT INTO item_text (item_text) VALUES ('optimize')")
    connection.execute("VACUUM")
    is_busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    if is_busy:
        raise StoreBusy("others read the file, so that its log could not be cut; erase again")
