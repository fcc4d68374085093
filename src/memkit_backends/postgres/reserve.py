"""Connections at hand: between two calls they need not go back to the pool."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import asyncpg

from memkit_backends.postgres.connection import Connection, Pool

IDLE = 240.0
"""Seconds after which an unused connection is closed, before a proxy between does so."""


@dataclass(slots=True)
class _Kept:
    connection: Connection
    since: float


class Reserve:
    """The connections of a pool, the last one given back being the first to be taken again.

    The pool of asyncpg makes a task for each that is given back, which takes longer than a
    small read. Nothing is kept while somebody waits for the pool, nor of a pool that others
    use too.
    """

    def __init__(self, pool: Pool, *, keeps: bool, idle: float = IDLE) -> None:
        self._pool = pool
        self._idle = idle
        self._keeps = keeps
        self._kept: list[_Kept] = []
        self._waiting = 0
        self._sweep: asyncio.TimerHandle | None = None

    def take(self) -> Connection | None:
        """A connection that is at hand, if there is one."""
        while self._kept:
            connection = self._kept.pop().connection
            if not is_lost(connection):
                return connection
        return None

    async def acquire(self) -> Connection:
        """A connection of the pool; waits until one is free."""
        self._waiting += 1
        try:
            connection: Connection = await self._pool.acquire()
        finally:
            self._waiting -= 1
        return connection

    def keep(self, connection: Connection) -> bool:
        """Take back one that is as it was; False if it has to go to the pool."""
        if not self._keeps or self._waiting or is_lost(connection):
            return False
        loop = asyncio.get_running_loop()
        self._kept.append(_Kept(connection, loop.time()))
        if self._sweep is None:
            self._sweep = loop.call_later(self._idle, self._swept, loop)
        return True

    def close(self) -> None:
        """Keep nothing any more: what is given back from now on goes to the pool."""
        self._keeps = False

    def drop(self) -> None:
        """Close all that are at hand."""
        self._kept, dropped = [], self._kept
        for each in dropped:
            _cut(each.connection)
        if self._sweep is not None:
            self._sweep.cancel()
            self._sweep = None

    def _swept(self, loop: asyncio.AbstractEventLoop) -> None:
        """Close what nobody has used for long: the first ones, for the last are taken first."""
        latest = loop.time() - self._idle
        while self._kept and self._kept[0].since <= latest:
            _cut(self._kept.pop(0).connection)
        self._sweep = None
        if self._kept:
            self._sweep = loop.call_at(self._kept[0].since + self._idle, self._swept, loop)


def is_lost(connection: Connection) -> bool:
    """Whether it is of no use any more."""
    try:
        return connection.is_closed()
    except asyncpg.InterfaceError:
        # It was closed by the other side, and so has left the pool by itself.
        return True


def _cut(connection: Connection) -> None:
    if not is_lost(connection):
        connection.terminate()
