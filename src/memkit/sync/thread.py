"""The thread and loop that memkit owns, and the memory that lives on them."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextvars
import os
import sys
import threading
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeVar

from memkit.errors import Closed, Forked, WrongLoop
from memkit.memory import Memory

Result = TypeVar("Result")

_PARTING = 10.0
"""Seconds that calls of other threads are given when the memory is closed."""


class Thread:
    """The thread and loop that memkit owns, and the memory that lives on them.

    Started by hand and not as a portal: starting work there must not wait for that loop, and a
    child process must be able to drop the whole thing without waiting for a thread that it
    does not have.
    """

    def __init__(self, opening: Callable[[], AbstractAsyncContextManager[Memory]]) -> None:
        self._opening = opening
        self._process = os.getpid()
        self._calls: set[concurrent.futures.Future[Any]] = set()
        self._at_work: set[asyncio.Task[Any] | None] = set()
        self._is_open = True
        self._opened: concurrent.futures.Future[Memory] = concurrent.futures.Future()
        self._ended: concurrent.futures.Future[None] = concurrent.futures.Future()
        self._thread = threading.Thread(target=self._run, name="memkit", daemon=True)
        self._thread.start()
        self.memory = self._opened.result()

    def _run(self) -> None:
        try:
            # Not the host's sort of loop: whatever policy it has set, ours behaves the same.
            with asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as runner:
                runner.run(self._live())
        except BaseException as exc:  # noqa: BLE001  # raised where somebody waits for it
            (self._ended if self._opened.done() else self._opened).set_exception(exc)
        else:
            self._ended.set_result(None)

    async def _live(self) -> None:
        self.loop = asyncio.get_running_loop()
        self._leave = asyncio.Event()
        async with self._opening() as memory:
            self._opened.set_result(memory)
            await self._leave.wait()
            # What was cancelled may still have a claim to hand back.
            if at_work := set(filter(None, self._at_work)):
                await asyncio.wait(at_work, timeout=_PARTING)

    def start(
        self, work: Callable[[Memory], Awaitable[Result]]
    ) -> concurrent.futures.Future[Result]:
        """Begin `work` over there, from any other thread."""
        if os.getpid() != self._process:
            raise Forked("memory")
        if not self._is_open:
            raise Closed("memory")
        if threading.current_thread() is self._thread:
            raise WrongLoop(
                "a blocking call on memkit's own thread would wait for itself; "
                "await the Memory that is handed to you there"
            )

        async def carry_out() -> Result:
            task = asyncio.current_task()
            self._at_work.add(task)
            try:
                return await work(self.memory)
            finally:
                self._at_work.discard(task)

        carried_out = carry_out()
        try:
            # The caller's context stays behind: with it, a framework would take what an
            # extractor does for a part of its own run.
            future = contextvars.Context().run(
                asyncio.run_coroutine_threadsafe, carried_out, self.loop
            )
        except RuntimeError:  # the loop was closed this very moment
            carried_out.close()
            raise Closed("memory") from None
        self._calls.add(future)
        future.add_done_callback(self._calls.discard)
        return future

    def close(self) -> None:
        """Take no more, let what other threads began come to an end, and close the memory."""
        if os.getpid() != self._process:
            return  # the thread stayed with the parent
        if sys.is_finalizing():
            return  # nobody closed it in time, and the thread has been stopped with the program
        self._is_open = False
        calls = set(self._calls)
        concurrent.futures.wait(calls, timeout=_PARTING)
        for each in calls:
            each.cancel()
        self.loop.call_soon_threadsafe(self._leave.set)
        self._ended.result()
        self._thread.join()
