"""Memory for callers that block, and for coroutines of any loop: one thread of its own."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextvars
import os
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from functools import partial
from typing import Any, Concatenate, Generic, Literal, ParamSpec, Self, TypeVar, overload

from memkit.app import open_memory
from memkit.config import Config, Source
from memkit.contracts import Clock, Scheduler, Store
from memkit.errors import Closed, Forked, OutcomeUnknown, WrongLoop
from memkit.memory import Memory
from memkit.models import ConsolidationJob, Episode, MemoryItem, Page, Scope, Tombstone

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

DEADLINE = 30.0
"""Seconds that a call may take, unless it is given another deadline."""

_PARTING = 10.0
"""Seconds that calls of other threads are given when the memory is closed."""


class _Thread:
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


class Verb(Generic[Arguments, Result]):
    """A verb of `Memory`, blocking. `patient` ones work through much and have no deadline."""

    def __init__(
        self,
        verb: Callable[Concatenate[Memory, Arguments], Awaitable[Result]],
        *,
        patient: bool = False,
    ) -> None:
        self._verb = verb
        self._patient = patient
        self.__doc__ = verb.__doc__

    @overload
    def __get__(self, memory: None, owner: type) -> Self: ...
    @overload
    def __get__(self, memory: SyncMemory, owner: type) -> Callable[Arguments, Result]: ...
    def __get__(self, memory: SyncMemory | None, owner: type) -> Self | Callable[Arguments, Result]:
        if memory is None:
            return self
        called = memory.within(None) if self._patient else memory

        def call(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
            return called.call(self._verb, *args, **kwargs)

        return call


class SyncMemory:
    """A `Memory` on a thread of its own: the same verbs, blocking, from any other thread.

    `call` and `acall` carry out whatever an async function does with the memory, for callers
    that block and for coroutines of any loop. A call that takes longer than the deadline is
    cancelled and raises `OutcomeUnknown`; those that work through everything there is
    (`consolidate`, `decay`, `rebuild`, `erase`) have none.
    """

    inject = Verb(Memory.inject)
    record = Verb(Memory.record)
    consolidate = Verb(Memory.consolidate, patient=True)
    decay = Verb(Memory.decay, patient=True)
    rebuild = Verb(Memory.rebuild, patient=True)
    remember = Verb(Memory.remember)
    search = Verb(Memory.search)
    get = Verb(Memory.get)
    update = Verb(Memory.update)
    pin = Verb(Memory.pin)
    reinforce = Verb(Memory.reinforce)
    forget = Verb(Memory.forget)
    stats = Verb(Memory.stats)
    jobs = Verb(Memory.jobs)
    retry = Verb(Memory.retry)
    check = Verb(Memory.check)
    erase = Verb(Memory.erase, patient=True)
    run = Verb(Memory.run, patient=True)

    def __init__(self, thread: _Thread, *, deadline: float | None = DEADLINE) -> None:
        self._thread = thread
        self._deadline = deadline

    @property
    def config(self) -> Config:
        """What is configured."""
        return self._thread.memory.config

    @property
    def store(self) -> Store:
        """The store. Its methods belong on memkit's thread: reach them through `call`."""
        return self._thread.memory.store

    @property
    def scheduler(self) -> Scheduler:
        """The scheduler. Its methods belong on memkit's thread: reach them through `call`."""
        return self._thread.memory.scheduler

    @property
    def clock(self) -> Clock:
        """The clock."""
        return self._thread.memory.clock

    def within(self, deadline: float | None) -> SyncMemory:
        """The same memory, its calls having `deadline` seconds each; None waits for ever."""
        return SyncMemory(self._thread, deadline=deadline)

    def call(
        self,
        work: Callable[Concatenate[Memory, Arguments], Awaitable[Result]],
        *args: Arguments.args,
        **kwargs: Arguments.kwargs,
    ) -> Result:
        """Block until `work(memory, ...)` has been carried out on memkit's thread.

        Works from plain code, within a running loop (which then stands still) and from many
        threads at once. On memkit's own thread it raises `WrongLoop`.
        """
        future = self._thread.start(lambda memory: work(memory, *args, **kwargs))
        try:
            return future.result(self._deadline)
        except TimeoutError:
            if future.done() and not future.cancelled():
                raise
            future.cancel()
            raise self._late() from None
        except concurrent.futures.CancelledError:
            raise Closed("memory") from None
        except KeyboardInterrupt:
            future.cancel()
            raise

    async def acall(
        self,
        work: Callable[Concatenate[Memory, Arguments], Awaitable[Result]],
        *args: Arguments.args,
        **kwargs: Arguments.kwargs,
    ) -> Result:
        """Await `work(memory, ...)`, carried out on memkit's thread, from any loop.

        The caller's loop goes on meanwhile. Cancelling this cancels the work.
        """
        if asyncio.get_running_loop() is self._thread.loop:
            return await work(self._thread.memory, *args, **kwargs)
        future = self._thread.start(lambda memory: work(memory, *args, **kwargs))
        try:
            async with asyncio.timeout(self._deadline):
                return await asyncio.wrap_future(future)
        except TimeoutError:
            if not future.cancelled():
                raise
            raise self._late() from None
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if future.cancelled() and task is not None and not task.cancelling():
                raise Closed("memory") from None
            raise

    def _late(self) -> OutcomeUnknown:
        return OutcomeUnknown(
            f"no answer within {self._deadline:g} seconds; the call was cancelled, and may have "
            "had its effect (memory.within(seconds) gives it longer)"
        )

    @overload
    def scan(
        self,
        what: Literal["items"],
        *,
        scope: Scope | None = None,
        session_id: str | None = None,
        after: str | None = None,
        limit: int = 100,
    ) -> Page[MemoryItem]: ...
    @overload
    def scan(
        self,
        what: Literal["episodes"],
        *,
        scope: Scope | None = None,
        session_id: str | None = None,
        after: str | None = None,
        limit: int = 100,
    ) -> Page[Episode]: ...
    @overload
    def scan(
        self,
        what: Literal["jobs"],
        *,
        scope: Scope | None = None,
        session_id: str | None = None,
        after: str | None = None,
        limit: int = 100,
    ) -> Page[ConsolidationJob]: ...
    @overload
    def scan(
        self,
        what: Literal["tombstones"],
        *,
        scope: Scope | None = None,
        session_id: str | None = None,
        after: str | None = None,
        limit: int = 100,
    ) -> Page[Tombstone]: ...
    def scan(
        self,
        what: Literal["items", "episodes", "jobs", "tombstones"],
        *,
        scope: Scope | None = None,
        session_id: str | None = None,
        after: str | None = None,
        limit: int = 100,
    ) -> Page[MemoryItem] | Page[Episode] | Page[ConsolidationJob] | Page[Tombstone]:
        """See `Memory.scan`."""

        async def work(
            memory: Memory,
        ) -> Page[MemoryItem] | Page[Episode] | Page[ConsolidationJob] | Page[Tombstone]:
            return await memory.scan(
                what, scope=scope, session_id=session_id, after=after, limit=limit
            )

        return self.call(work)


@contextmanager
def open_memory_sync(
    source: Source = None, /, *, deadline: float | None = DEADLINE, **parts_and_settings: Any
) -> Iterator[SyncMemory]:
    """`open_memory` for `with`: the memory lives on a thread of its own until the block ends.

    Takes the same arguments. `deadline` is how many seconds a call may take.
    """
    thread = _Thread(partial(open_memory, source, **parts_and_settings))
    try:
        yield SyncMemory(thread, deadline=deadline)
    finally:
        thread.close()
