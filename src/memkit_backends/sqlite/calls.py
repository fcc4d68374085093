"""Calls that wait for a thread, and how they get there and back."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any


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


class Mailbox:
    """What one thread or several are to do next; None ends one of them.

    Of those that wait, the last to come is woken, whose connection is the warm one, and it
    alone: threads that wait at one queue of the standard library wake each other in vain.
    Nothing here is locked, as what ends a forgotten store may be run by the collector, in the
    midst of any of this.
    """

    def __init__(self) -> None:
        self._calls: deque[Call | None] = deque()
        self._waiting: list[SimpleQueue[None]] = []

    def put(self, call: Call | None) -> None:
        """Leave a call for whoever comes first."""
        self._calls.append(call)
        with suppress(IndexError):
            self._waiting.pop().put(None)

    def get(self) -> Call | None:
        """The oldest call, awaited where there is none."""
        while True:
            try:
                return self._calls.popleft()
            except IndexError:
                self._wait()

    def is_empty(self) -> bool:
        """Whether a thread would have to wait."""
        return not self._calls

    def _wait(self) -> None:
        turn: SimpleQueue[None] = SimpleQueue()
        self._waiting.append(turn)
        if self._calls:
            # It came before anybody could see that this thread waits.
            with suppress(ValueError):
                self._waiting.remove(turn)
        else:
            turn.get()
