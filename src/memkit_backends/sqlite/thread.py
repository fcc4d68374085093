"""Threads that own a connection each."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from typing import Protocol

from memkit.errors import StoreUnavailable
from memkit_backends.sqlite.calls import Call, Mailbox, answer
from memkit_backends.sqlite.failures import known

MOMENT = 0.00005
"""Seconds between two looks at a mailbox to which more is likely to come."""


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
        if calls and mailbox.is_empty():
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
