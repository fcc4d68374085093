"""The blocking twin of `Memory`: the same verbs, over memkit's own thread."""

from __future__ import annotations

import asyncio
import concurrent.futures
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, Concatenate, Generic, Literal, ParamSpec, Self, TypeVar, overload

from memkit.app import open_memory
from memkit.config import Config, Source
from memkit.contracts import Clock, Scheduler, Store, What
from memkit.errors import Closed, OutcomeUnknown
from memkit.memory import Memory
from memkit.models import ConsolidationJob, Episode, MemoryItem, Page, Scope, Tombstone
from memkit.sync.thread import Thread

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

DEADLINE = 30.0
"""Seconds that a call may take, unless it is given another deadline."""


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

    def __init__(self, thread: Thread, *, deadline: float | None = DEADLINE) -> None:
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
        what: What,
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
    thread = Thread(partial(open_memory, source, **parts_and_settings))
    try:
        yield SyncMemory(thread, deadline=deadline)
    finally:
        thread.close()
