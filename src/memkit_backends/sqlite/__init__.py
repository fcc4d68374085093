"""memkit on SQLite: one file, no server."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from memkit.errors import PluginError

if TYPE_CHECKING:
    from memkit_backends.sqlite.options import Synchronous
    from memkit_backends.sqlite.store import SQLiteStore

__all__ = ["open_store"]


async def open_store(  # noqa: PLR0913  # one for each option of the store's table
    location: str | os.PathLike[str],
    *,
    synchronous: Synchronous = "full",
    busy_timeout: float = 30.0,
    read_only: bool = False,
    readers: int = 2,
    auto_migrate: bool = True,
    lease_clock: Callable[[], datetime] | None = None,
    failpoint: Callable[[str], None] | None = None,
    mounts: str | os.PathLike[str] = "/proc/mounts",
) -> SQLiteStore:
    """Open the store at a URL or path; see `Options` for the rest.

    `sqlite:///relative.db`, `sqlite:////absolute.db`, `sqlite://:memory:`, or a plain path.
    """
    try:
        from memkit_backends.sqlite.options import Options, path_of  # noqa: PLC0415  # the driver is loaded only when asked for
        from memkit_backends.sqlite.store import SQLiteStore  # noqa: PLC0415  # likewise
    except ImportError as exc:
        raise PluginError("this Python was built without sqlite3; use another store") from exc
    options = Options(
        path=path_of(os.fspath(location)),
        synchronous=synchronous,
        busy_timeout=busy_timeout,
        read_only=read_only,
        readers=readers,
        auto_migrate=auto_migrate,
        lease_clock=lease_clock,
        failpoint=failpoint,
        mounts=Path(mounts),
    )
    return await SQLiteStore.open(options)
