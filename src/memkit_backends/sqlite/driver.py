"""SQLite as a driver for the relational nouns: one thread that writes, some that read.

The standard library's `sqlite3` on threads of our own. A transaction has to be one function
on the thread that owns the connection (four hops cost twice as much, and a cancelled caller
would leave a transaction open), callers that wait have to share a commit, and a process that
forgets to close has to end: aiosqlite offers none of these by public names.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import weakref
from collections.abc import Callable, Sequence
from typing import TypeVar

from memkit.errors import Closed, Forked, StoreReadOnly
from memkit_backends.relational.driver import Work
from memkit_backends.sqlite.calls import Call, Mailbox
from memkit_backends.sqlite.reader import Reader
from memkit_backends.sqlite.thread import ConnectionThread
from memkit_backends.sqlite.writer import GROUP, Writer

Answer = TypeVar("Answer")

LINGER = 1.0
"""Seconds that a process which never closed its store waits for each thread at its end."""


class SqliteDriver:
    """`relational.driver.Driver` over threads that own a connection each.

    Without readers the writer reads too: a database in memory is one connection. Without a
    writer the store is read-only. One that was not told to connect does so at its first call.
    """

    def __init__(self, writer: Writer | None, readers: Sequence[Reader]) -> None:
        self._servers = writer, readers
        self._writer: ConnectionThread | None = None
        self._readers: tuple[ConnectionThread, ...] = ()
        self._threads: list[ConnectionThread] = []
        self._opening = asyncio.Lock()
        self._pid = os.getpid()
        self._is_closed = False
        self._abandon = weakref.finalize(self, _abandon, self._pid, self._threads)

    async def connect(self) -> None:
        """Start the threads, once, or raise why not; readers connect when the writer has."""
        async with self._opening:
            if self._threads:
                return
            writer, readers = self._servers
            started: list[ConnectionThread] = []
            try:
                if writer is not None:
                    started.append(await _started(writer, Mailbox(), "memkit-sqlite-writer", GROUP))
                shared = Mailbox()
                started += [
                    await _started(reader, shared, "memkit-sqlite-reader", 1) for reader in readers
                ]
            except BaseException:
                _hang_up(started)
                raise
            self._writer = started.pop(0) if writer is not None else None
            self._readers = tuple(started)
            # Readers first: the last to close folds the log in, and only the writer may.
            self._threads += (*started, *([self._writer] if self._writer else []))

    async def read(self, work: Work[Answer]) -> Answer:
        """See `Driver.read`."""
        return await self._ask(Call.here(work), reads=True)

    async def read_each(self, work: Work[Answer]) -> Answer:
        """See `Driver.read_each`; here one state costs nothing."""
        return await self.read(work)

    async def write(self, work: Work[Answer], *, repeatable: bool = False) -> Answer:  # noqa: ARG002  # no answer is lost on the way to a file
        """See `Driver.write`."""
        return await self._ask(Call.here(work))

    async def write_once(self, work: Work[Answer]) -> Answer:
        """See `Driver.write_once`; here it may share a commit like any other."""
        return await self.write(work)

    async def run(self, work: Callable[[sqlite3.Connection], Answer]) -> Answer:
        """Run `work` on the writer's bare connection, outside any transaction."""
        return await self._ask(Call.here(work, alone=True))

    async def inspect(self, work: Callable[[sqlite3.Connection], Answer]) -> Answer:
        """Run `work` on a bare connection that may only read."""
        return await self._ask(Call.here(work, alone=True), reads=True)

    async def aclose(self) -> None:
        """See `Driver.aclose`. What was asked before is still carried out."""
        self._is_closed = True
        self._abandon.detach()
        if os.getpid() != self._pid:
            # The parent's handles: to close them here could take its locks away.
            return
        for thread in self._threads:
            thread.mailbox.put(None)
            await thread.ended()

    async def _ask(self, call: Call, *, reads: bool = False) -> Answer:
        if os.getpid() != self._pid:
            raise Forked("store")
        if self._is_closed:
            raise Closed("store")
        if not self._threads:
            await self.connect()
        asked = self._readers[0] if reads and self._readers else self._writer
        if asked is None:
            raise StoreReadOnly("the store was opened with read_only; open it without to write")
        asked.mailbox.put(call)
        # A cancelled caller cancels this future alone. What has begun is carried out whole,
        # on its thread; what has not begun is passed over.
        answer: Answer = await call.future
        return answer


async def _started(
    server: Writer | Reader, mailbox: Mailbox, name: str, most: int
) -> ConnectionThread:
    thread = ConnectionThread(server, mailbox, name=name, most=most)
    try:
        await thread.opened()
    except BaseException:
        mailbox.put(None)
        raise
    return thread


def _hang_up(threads: Sequence[ConnectionThread]) -> None:
    for thread in threads:
        thread.mailbox.put(None)


def _abandon(pid: int, threads: Sequence[ConnectionThread]) -> None:
    """Close what its owner never closed, when it is collected or the process ends."""
    if os.getpid() == pid:
        _hang_up(threads)
        for thread in threads:
            thread.join(LINGER)
