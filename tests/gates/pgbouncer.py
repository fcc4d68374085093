"""A pgbouncer in transaction mode between memkit and a server, where it is installed."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

POOL = 3
"""Sessions of the server that all clients share."""

SETTINGS = """
[databases]
postgres = host={host} dbname=postgres user=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = {pool}
max_client_conn = 200
ignore_startup_parameters = extra_float_digits
logfile = {folder}/log
pidfile = {folder}/pid
"""


def is_installed() -> bool:
    """Whether there is one to be tried."""
    return program() is not None


def program() -> str | None:
    """Where it is; a daemon's folder need not be on the path."""
    return shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin")


@contextmanager
def pooled(host: str, user: str | None) -> Iterator[str]:
    """The URL of a pooler, run by `user`, before the server whose socket lies in `host`."""
    where = program()
    assert where is not None
    with tempfile.TemporaryDirectory(prefix="memkit-pgbouncer-") as folder:
        port = _free_port()
        settings = Path(folder, "settings.ini")
        settings.write_text(
            SETTINGS.format(host=host, port=port, pool=POOL, folder=folder), encoding="utf-8"
        )
        if user is not None:
            owner = pwd.getpwnam(user)
            os.chown(folder, owner.pw_uid, owner.pw_gid)
        process = subprocess.Popen([where, "-q", str(settings)], user=user)
        try:
            _answering(port)
            yield f"postgresql://postgres@127.0.0.1:{port}/postgres"
        finally:
            process.terminate()
            process.wait()


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def _answering(port: int) -> None:
    until = time.monotonic() + 10
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.05)
        else:
            return
