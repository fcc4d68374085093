"""The databases that gates are tried on: each is one small value."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from memkit.contracts import Ledger, Maintains, Store
from memkit_backends.sqlite import open_store
from memkit_backends.sqlite.options import path_of


class GateStore(Store, Ledger, Maintains, Protocol):
    """What a gate asks of a store: everything that a SQL database offers."""


@dataclass(frozen=True, kw_only=True)
class Backend:
    """How to get at one database. A location is a URL that `open_memory` takes too."""

    name: str
    suffix: str
    """What follows the number of a gate that runs on several databases."""
    fresh: Callable[[], AbstractContextManager[str]]
    """A location at which there is no store; whatever is there afterwards goes."""
    open: Callable[..., Awaitable[GateStore]]
    """Opens the store at a location and makes it if it is new. Takes `failpoint`."""
    rows: Callable[[str, str], list[tuple[Any, ...]]]
    """The rows of a statement, asked of the database past memkit."""
    problems: Callable[[str], list[str]]
    """What the database itself finds wrong with the store at a location."""
    held: Callable[[str], list[str]]
    """Which transactions an open store holds while nobody waits for it."""
    expire: Callable[[str], object]
    """Lets every lease have run out."""
    failure: Callable[[], Exception]
    """What the database's library raises when a statement fails."""


@contextmanager
def _folder() -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="memkit-gate-") as folder:
        yield f"sqlite:///{folder}/memory.db"


def file_of(location: str) -> Path:
    """The file of an SQLite location."""
    path = path_of(location)
    assert path is not None
    return path


def _rows(location: str, sql: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(file_of(location), isolation_level=None)) as connection:
        return connection.execute(sql).fetchall()


def _problems(location: str) -> list[str]:
    found = [row[0] for row in _rows(location, "PRAGMA integrity_check") if row != ("ok",)]
    lost = _rows(location, "PRAGMA foreign_key_check")
    # The text index is no part of that check; this one raises where it is out of step.
    try:
        _rows(location, "INSERT INTO item_text (item_text) VALUES ('integrity-check')")
    except sqlite3.Error as exc:
        found.append(f"text index: {exc}")
    return found + [f"a row of {table} refers to nothing" for table, *_ in lost]


def _held(location: str) -> list[str]:
    found = []
    with closing(sqlite3.connect(file_of(location), timeout=0, isolation_level=None)) as other:
        try:
            other.execute("BEGIN IMMEDIATE")
            other.execute("ROLLBACK")
        except sqlite3.OperationalError:
            found.append("one that writes")
        else:
            # A log that cannot be cut is being read.
            if other.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
                found.append("one that reads")
    return found


def _expire(location: str) -> None:
    _rows(location, "UPDATE scope SET lease_until = 0")


def _failure() -> Exception:
    return sqlite3.OperationalError("disk I/O error")


SQLITE = Backend(
    name="sqlite",
    suffix="",
    fresh=_folder,
    open=open_store,
    rows=_rows,
    problems=_problems,
    held=_held,
    expire=_expire,
    failure=_failure,
)
