"""The store's file before SQLite touches it: what is there, and how a new one appears."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from memkit.errors import SchemaTooNew, StoreCorrupt, StoreReadOnly, StoreUnavailable
from memkit_backends.sqlite.failures import unusable

APPLICATION_ID = 0x6D656D6B
"""Stands in the header of every memkit store: "memk"."""

_MAGIC = b"SQLite format 3\0"
_HEADER_BYTES = 100
_VERSION = slice(60, 64)
_APPLICATION = slice(68, 72)


def absolute(path: Path) -> Path:
    """`path` as it is meant now: a relative one begins in the working directory."""
    try:
        return path.absolute()
    except OSError as exc:
        raise unusable(exc) from exc


def resolved(path: Path) -> Path:
    """`path` without links, its directory being there."""
    try:
        whole = Path(os.path.realpath(path))
        if not whole.parent.is_dir():
            raise StoreUnavailable("the directory of the store's file does not exist; create it")
    except OSError as exc:
        raise unusable(exc) from exc
    return whole


def exists(path: Path, *, supported: int) -> bool:
    """Whether there is a store at `path`, by a look that changes nothing.

    What is there and is no store of ours is refused and left as it is: an empty file too,
    for a new store never appears as one (see `create`).
    """
    try:
        if path.exists() and not path.is_file():
            # To open a pipe would wait for somebody to write to it.
            raise StoreUnavailable("the store's path is a directory, or no file at all; name one")
        with path.open("rb") as file:
            header = file.read(_HEADER_BYTES)
    except FileNotFoundError:
        _refuse_orphans(path)
        return False
    except OSError as exc:
        raise unusable(exc) from exc
    _judge(header, supported)
    return True


def _refuse_orphans(path: Path) -> None:
    log = path.with_name(f"{path.name}-wal")
    try:
        size = log.stat().st_size
    except OSError:
        return
    if size:
        raise StoreCorrupt(
            "the store's file is gone but its log (-wal) is there; put the file back beside it, "
            "or remove the log to begin anew"
        )


def _judge(header: bytes, supported: int) -> None:
    if not header:
        raise StoreCorrupt("the file is empty; restore it, or delete it to begin anew")
    if not header.startswith(_MAGIC) or len(header) < _HEADER_BYTES:
        raise StoreCorrupt("the file is not an SQLite database; memkit leaves it as it is")
    if int.from_bytes(header[_APPLICATION]) != APPLICATION_ID:
        raise StoreCorrupt("the file is another program's database; memkit leaves it as it is")
    found = int.from_bytes(header[_VERSION])
    if found > supported:
        raise SchemaTooNew(found, supported=supported)


def refuse_unwritable(path: Path) -> None:
    """Raise `StoreReadOnly` now rather than at the first write."""
    for place in (path, path.parent):
        if os.access(place, os.F_OK) and not os.access(place, os.W_OK):
            raise StoreReadOnly("the store's file and its directory must be writable; or read_only")


def create(path: Path, fill: Callable[[Path], None]) -> None:
    """Make a store at `path`, readable by its owner alone, unless there is one.

    It is filled under another name and appears whole: nobody ever sees half of it, and of
    two processes the later finds the store of the earlier.
    """
    try:
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name}-", suffix=".new", dir=path.parent)
    except OSError as exc:
        raise unusable(exc) from exc
    os.close(descriptor)
    draft = Path(name)
    try:
        fill(draft)
        _publish(draft, path)
    except OSError as exc:
        raise unusable(exc) from exc
    finally:
        for leftover in (draft, *(draft.with_name(f"{draft.name}{end}") for end in _COMPANIONS)):
            leftover.unlink(missing_ok=True)


_COMPANIONS = ("-wal", "-shm", "-journal")


def _publish(draft: Path, path: Path) -> None:
    with suppress(FileExistsError):
        try:
            path.hardlink_to(draft)
        except PermissionError:
            # A file system without hard links. Others may see half a file for a moment, and
            # are told that it is damaged; nothing is lost.
            with path.open("xb") as file:
                path.chmod(0o600)
                file.write(draft.read_bytes())
    _persist(path.parent)


def _persist(directory: Path) -> None:
    """Let the new name survive a power cut, where directories can be synced."""
    with suppress(OSError):
        descriptor = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
