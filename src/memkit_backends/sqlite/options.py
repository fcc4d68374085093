"""Where an SQLite store is, and how it is to be used."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final, Literal
from urllib.parse import unquote, urlsplit

from memkit.errors import ConfigError

Synchronous = Literal["full", "normal"]

IN_MEMORY = ":memory:"

SETTINGS: Final = ("synchronous", "busy_timeout", "read_only", "readers", "auto_migrate")
"""What a configuration may say beside the file: in the store's table or its URL."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """`path` of None is a database in memory, which is one connection and lives as long."""

    path: Path | None
    synchronous: Synchronous = "full"
    """`full` survives a power cut. `normal` survives the end of the process, however sudden,
    and may lose the last moments before a power cut; it writes several times faster."""
    busy_timeout: float = 30.0
    """Seconds to wait for other processes before `StoreBusy`."""
    read_only: bool = False
    """Refuse to write, and to make or change a store: `StoreReadOnly`."""
    readers: int = 2
    """Connections that read beside the one that writes."""
    auto_migrate: bool = True
    """Make the store on opening, and bring its schema up to date."""
    lease_clock: Callable[[], datetime] | None = None
    """The store's own time, for tests; the system's if it is not given."""
    failpoint: Callable[[str], None] | None = None
    """Called at every step of a transaction with its name, for tests of crashes."""
    mounts: Path = Path("/proc/mounts")
    """Where the system lists its file systems."""

    def __post_init__(self) -> None:
        if self.synchronous not in {"full", "normal"}:
            raise ConfigError(f"synchronous is full or normal, not {self.synchronous!r}")
        if self.busy_timeout < 0:
            raise ConfigError(f"busy_timeout is at least 0 seconds, not {self.busy_timeout}")
        if self.readers < 1:
            raise ConfigError(f"readers is at least 1, not {self.readers}")
        if self.read_only and self.path is None:
            raise ConfigError("a database in memory cannot be read_only: it begins empty")


def path_of(location: str) -> Path | None:
    """The file that a URL or a plain path names, None for a database in memory.

    `sqlite:///relative.db`, `sqlite:////absolute.db`, `sqlite://:memory:`.
    """
    if not location.startswith("sqlite:"):
        return _file(location)
    parts = urlsplit(location)
    if parts.query or parts.fragment:
        raise ConfigError("a path of SQLite takes no settings; give them beside it")
    if parts.netloc == IN_MEMORY and parts.path in {"", "/"}:
        return None
    if parts.netloc:
        raise ConfigError("an SQLite URL names no host: sqlite:///relative.db, sqlite:////abs.db")
    return _file(unquote(parts.path.removeprefix("/")))


def _file(name: str) -> Path | None:
    if name == IN_MEMORY:
        return None
    if not name or "\0" in name:
        raise ConfigError("the SQLite store needs the path of a file, as sqlite:///memory.db")
    return Path(name)
