"""Postgres as a gate's database: one server for all of a run, a schema for each location."""

from __future__ import annotations

import asyncio
import atexit
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import lru_cache
from typing import Any, TypeVar

import asyncpg

from memkit_backends.postgres import open_store
from memkit_backends.postgres.naming import quoted
from memkit_backends.postgres.store import PostgresStore
from tests.gates.backends import Backend
from tests.postgres.server import drop, new_schema, parted, running, with_settings

Answer = TypeVar("Answer")


@lru_cache
def server() -> str:
    """The URL of the server, started when it is first asked for and stopped at the end."""
    stack = ExitStack()
    atexit.register(stack.close)
    return stack.enter_context(running())


def blocking(work: Callable[[], Awaitable[Answer]]) -> Answer:
    """What `work` answers, on a loop and thread of its own that are gone afterwards."""
    answers: list[Answer] = []

    async def answer() -> None:
        answers.append(await work())

    thread = threading.Thread(target=lambda: asyncio.run(answer()))
    thread.start()
    thread.join()
    return answers[0]


async def open_at(location: str, **options: Any) -> PostgresStore:
    """The store at a location, with a small pool."""
    url, settings = parted(location)
    return await open_store(url, schema=settings["schema"], **{"max_size": 4, **options})


@contextmanager
def schema_on(url: str) -> Iterator[str]:
    """A location on a server."""
    name = new_schema()
    yield with_settings(url, schema=name)
    blocking(lambda: drop(url, name))


@contextmanager
def _fresh() -> Iterator[str]:
    with schema_on(server()) as location:
        yield location


async def _asked(location: str, sql: str) -> list[tuple[Any, ...]]:
    url, settings = parted(location)
    path = {"search_path": quoted(settings["schema"])}
    connection = await asyncpg.connect(url, server_settings=path)
    try:
        return [tuple(row) for row in await connection.fetch(sql)]
    finally:
        await connection.close()


def rows(location: str, sql: str) -> list[tuple[Any, ...]]:
    """The rows of a statement, its tables found by search_path."""
    return blocking(lambda: _asked(location, sql))


def _problems(location: str) -> list[str]:
    lost = rows(
        location,
        """SELECT item_pk FROM item_source
            WHERE NOT EXISTS (SELECT 1 FROM item WHERE item.pk = item_pk)""",
    )
    broken = rows(
        location,
        """SELECT CAST(indexrelid AS regclass) FROM pg_index
             JOIN pg_class ON pg_class.oid = indrelid
            WHERE relnamespace = to_regnamespace(current_schema()::text) AND NOT indisvalid""",
    )
    return [f"{len(each)} broken" for each in (lost, broken) if each]


def _held(location: str) -> list[str]:
    found = rows(
        location,
        """SELECT state FROM pg_stat_activity
            WHERE state LIKE 'idle in transaction%' AND application_name = 'memkit'""",
    )
    locks = rows(location, "SELECT 1 FROM pg_locks WHERE locktype = 'advisory'")
    return [state for (state,) in found] + ["a lock"] * len(locks)


def _expire(location: str) -> None:
    rows(location, "UPDATE scope SET lease_until = 0")


def _failure() -> Exception:
    return asyncpg.DiskFullError("no space left on device")


POSTGRES = Backend(
    name="postgres",
    suffix="-postgres",
    fresh=_fresh,
    open=open_at,
    rows=rows,
    problems=_problems,
    held=_held,
    expire=_expire,
    failure=_failure,
)
