"""SQLite as a driver for the relational nouns: one thread that writes, some that read.

The standard library's `sqlite3` on threads of our own. A transaction has to be one function
on the thread that owns the connection (four hops cost twice as much, and a cancelled caller
would leave a transaction open), callers that wait have to share a commit, and a process that
forgets to close has to end: aiosqlite offers none of these by public names.
"""

from __future__ import annotations

import os
import sqlite3
import weakref
from collections.abc import Callable, Sequence
from typing import TypeVar

from memkit.errors import Closed, Forked, StoreReadOnly
from memkit_backends.relational.driver import Work
from memkit_backends.sqlite.reader import Reader
from memkit_backends.sqlite.thread import Call, ConnectionThread, Mailbox
from memkit_backends.sqlite.writer import GROUP, Writer

Answer = TypeVar("Answer")

LINGER = 1.0
"""Seconds that a process which never closed its store waits for each thread at its end."""


class SqliteDriver:
    """`relational.driver.Driver` over threads that own a connection each.

    Without readers the writer reads too: a database in memory is one connection. Without a
    writer the store is read-only.
    """

    def __init__(
        self, writer: ConnectionThread | None, readers: Sequence[ConnectionThread]
    ) -> None:
        self._writer = writer
        self._readers = tuple(readers)
        self._pid = os.getpid()
        self._is_closed = False
        self._abandon = weakref.finalize(self, _abandon, self._pid, self._threads)

    @classmethod
    async def open(cls, writer: Writer | None, readers: Sequence[Reader]) -> SqliteDriver:
        """Start the threads; readers connect once the writer has, or what it raises comes out."""
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
        return cls(started.pop(0) if writer is not None else None, started)

    @property
    def _threads(self) -> tuple[ConnectionThread, ...]:
        # Readers first: the last to close folds the log in, and only the writer may.
        return (*self._readers, *([self._writer] if self._writer else []))

    async def read(self, work: Work[Answer]) -> Answer:
        """See `Driver.read`."""
        if not self._readers:
            return await self.write(work)
        return await self._ask(self._readers[0].mailbox, Call.here(work))

    async def read_each(self, work: Work[Answer]) -> Answer:
        """See `Driver.read_each`; here one state costs nothing."""
        return await self.read(work)

    async def write(self, work: Work[Answer], *, repeatable: bool = False) -> Answer:  # noqa: ARG002  # no answer is lost on the way to a file
        """See `Driver.write`."""
        return await self._ask(self._writing, Call.here(work))

    async def write_once(self, work: Work[Answer]) -> Answer:
        """See `Driver.write_once`; here it may share a commit like any other."""
        return await self.write(work)

    async def run(self, work: Callable[[sqlite3.Connection], Answer]) -> Answer:
        """Run `work` on the writer's bare connection, outside any transaction."""
        return await self._ask(self._writing, Call.here(work, alone=True))

    async def inspect(self, work: Callable[[sqlite3.Connection], Answer]) -> Answer:
        """Run `work` on a bare connection that may only read."""
        if self._readers:
            return await self._ask(self._readers[0].mailbox, Call.here(work, alone=True))
        return await self.run(work)

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

    @property
    def _writing(self) -> Mailbox:
        if self._writer is None:
            raise StoreReadOnly("the store was opened with read_only; open it without to write")
        return self._writer.mailbox

    async def _ask(self, mailbox: Mailbox, call: Call) -> Answer:
        if os.getpid() != self._pid:
            raise Forked("store")
        if self._is_closed:
            raise Closed("store")
        mailbox.put(call)
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
