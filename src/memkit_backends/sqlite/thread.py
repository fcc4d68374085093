"""Threads that own a connection each, and the calls that wait for them."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any, Protocol

from memkit.errors import StoreUnavailable
from memkit_backends.sqlite.failures import known


@dataclass(slots=True, eq=False)
class Call:
    """Something to be done on a thread, and where its answer is awaited."""

    work: Callable[..., Any]
    future: asyncio.Future[Any]
    loop: asyncio.AbstractEventLoop
    alone: bool = False
    """It is given the bare connection, outside any transaction."""
    answer: Any = None
    error: BaseException | None = None

    @classmethod
    def here(cls, work: Callable[..., Any], *, alone: bool = False) -> Call:
        """A call to be awaited on the running loop."""
        loop = asyncio.get_running_loop()
        return cls(work, loop.create_future(), loop, alone)

    def settle(self) -> None:
        """Hand over what came of it, unless nobody waits any more."""
        if self.future.done():
            return
        if self.error is None:
            self.future.set_result(self.answer)
        else:
            self.future.set_exception(self.error)


def answer(calls: Iterable[Call]) -> None:
    """Wake the loops that wait for `calls`, each once."""
    by_loop: dict[asyncio.AbstractEventLoop, list[Call]] = {}
    for call in calls:
        by_loop.setdefault(call.loop, []).append(call)
    for loop, ready in by_loop.items():
        try:
            loop.call_soon_threadsafe(_settle, ready)
        except RuntimeError:
            # The loop was closed: whoever waited is gone, and the work stands.
            continue


def _settle(calls: Iterable[Call]) -> None:
    for call in calls:
        call.settle()


MOMENT = 0.00005
"""Seconds between two looks at a mailbox to which more is likely to come."""

Mailbox = SimpleQueue[Call | None]
"""What a thread is to do next; None ends it."""


class Server(Protocol):
    """What a thread does with its connection."""

    def connect(self) -> sqlite3.Connection:
        """Open the connection."""
        ...

    def serve(self, connection: sqlite3.Connection, calls: list[Call]) -> None:
        """Carry the calls out and leave answer or error in each."""
        ...

    def expects(self) -> tuple[int, float]:
        """How many calls are likely to come at once, and how many seconds they are worth."""
        ...

    def part(self, connection: sqlite3.Connection) -> None:
        """Close the connection."""
        ...


class ConnectionThread:
    """A daemon thread that owns one connection from opening to closing.

    A daemon, so that a process that forgets to close still ends; what was not committed then
    simply rolls back. The connection is a local of the thread's function and nothing else
    holds it: neither the end of the process nor a fork ever touches it from outside.
    """

    def __init__(self, server: Server, mailbox: Mailbox, *, name: str, most: int) -> None:
        self.mailbox = mailbox
        self._opened = Call.here(server.connect)
        self._ended = Call.here(server.part)
        self._thread = threading.Thread(
            target=_run,
            args=(server, mailbox, most, self._opened, self._ended),
            name=name,
            daemon=True,
        )
        try:
            self._thread.start()
        except RuntimeError as exc:
            raise StoreUnavailable("no thread can be started for the store") from exc

    async def opened(self) -> None:
        """Wait until the connection is open, or raise why it is not."""
        await self._opened.future

    async def ended(self) -> None:
        """Wait until the connection is closed; cancelling that changes nothing."""
        if asyncio.get_running_loop() is self._ended.loop:
            await asyncio.shield(self._ended.future)
        else:
            await asyncio.get_running_loop().run_in_executor(None, self._thread.join)

    def join(self, timeout: float) -> None:
        """Block until the thread has ended, at most `timeout` seconds."""
        if threading.current_thread() is not self._thread:
            self._thread.join(timeout)


def _run(server: Server, mailbox: Mailbox, most: int, opened: Call, ended: Call) -> None:
    try:
        connection = server.connect()
    except BaseException as exc:  # noqa: BLE001  # whoever opens is told, whatever it was
        opened.error = known(exc)
        answer([opened, ended])
        return
    answer([opened])
    try:
        while calls := _next(mailbox, most, *server.expects()):
            _serve(server, connection, calls)
            answer(calls)
            # Not kept while waiting for the next ones.
            calls.clear()
    finally:
        server.part(connection)
        answer([ended])


def _serve(server: Server, connection: sqlite3.Connection, calls: list[Call]) -> None:
    try:
        server.serve(connection, calls)
    except BaseException as exc:  # noqa: BLE001  # a thread that died would leave callers waiting
        for call in calls:
            call.error = call.error or known(exc)


def _next(mailbox: Mailbox, most: int, expected: int, patience: float) -> list[Call]:
    """The calls that wait, at least one and at most `most`; none at the end."""
    calls: list[Call] = []
    deadline = 0.0
    while not calls or len(calls) < most:
        if calls and mailbox.empty():
            deadline = deadline or time.monotonic() + patience
            if len(calls) >= expected or time.monotonic() >= deadline:
                break
            time.sleep(MOMENT)
            continue
        call = mailbox.get()
        if call is None:
            # Seen again by the next turn, or by the next thread at this mailbox.
            mailbox.put(None)
            break
        if not call.future.cancelled():
            calls.append(call)
    return calls
