"""Loops and threads: where a memory may be used from, and what is said where it may not."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from memkit import (
    Closed,
    Extraction,
    ExtractionRequest,
    Forked,
    Memory,
    OutcomeUnknown,
    Scope,
    SyncMemory,
    WrongLoop,
    open_memory,
    open_memory_sync,
)
from memkit.testing.values import a_message
from tests.lifecycle.extractors import Scripted, found

SCOPE = Scope("ann")


def use(memory: SyncMemory, number: int) -> None:
    """What a turn does: record, and recall."""
    said = [a_message(f"statement number {number}", key=f"{number}")]
    assert memory.record(SCOPE, said, session_id=f"s{number % 3}").new == 1
    assert memory.inject(SCOPE).items == ()


async def use_there(memory: SyncMemory, number: int) -> None:
    """The same from a coroutine, on whatever loop."""
    said = [a_message(f"statement number {number}", key=f"{number}")]
    recorded = await memory.acall(Memory.record, SCOPE, said, session_id=f"s{number % 3}")
    assert recorded.new == 1
    assert (await memory.acall(Memory.inject, SCOPE)).items == ()


def from_plain_code(memory: SyncMemory, number: int) -> None:
    """No loop anywhere near."""
    use(memory, number)


def from_a_loop_per_call(memory: SyncMemory, number: int) -> None:
    """A fresh `asyncio.run` for every call."""
    asyncio.run(use_there(memory, number))


def from_within_a_running_loop(memory: SyncMemory, number: int) -> None:
    """Blocking, inside a coroutine: that loop stands still, and nothing locks up."""

    async def turn() -> None:
        use(memory, number)

    asyncio.run(turn())


def from_other_threads(memory: SyncMemory, number: int) -> None:
    """Eight threads at once."""
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda offset: use(memory, 1000 * (number + 1) + offset), range(8)))


@pytest.mark.parametrize(
    "way", [from_plain_code, from_a_loop_per_call, from_within_a_running_loop, from_other_threads]
)
def test_one_memory_serves_callers_of_every_sort(
    store_url: str, way: Callable[[SyncMemory, int], None]
) -> None:
    """A hundred turns from each, none lost: one memory, one thread of its own."""
    turns = 100 if way is not from_other_threads else 12
    with open_memory_sync(store_url) as memory:
        for number in range(turns):
            way(memory, number)
        messages = memory.stats().messages
    assert messages == (turns if way is not from_other_threads else 8 * turns)


def test_the_twin_has_every_verb() -> None:
    """What the memory can do, the blocking one can, under the same name."""
    verbs = {
        name
        for name, member in inspect.getmembers(Memory, inspect.iscoroutinefunction)
        if not name.startswith("_")
    }
    assert verbs <= set(dir(SyncMemory))
    assert len(verbs) == 19
    assert SyncMemory.record.__doc__ == Memory.record.__doc__


def test_what_is_configured_can_be_read(store_url: str) -> None:
    """Store, scheduler, clock and configuration of the memory behind."""
    with open_memory_sync(store_url, inject={"limit": 3}) as memory:
        assert memory.config.inject.limit == 3
        assert memory.store.capabilities.transactions
        assert memory.clock().tzinfo is not None
        assert memory.scheduler is memory.call(_scheduler)
        assert [each.content for each in memory.scan("items").rows] == []


async def _scheduler(memory: Memory) -> object:
    return memory.scheduler


def test_errors_arrive_as_they_are(store_url: str) -> None:
    """What is raised over there is raised here."""
    with open_memory_sync(store_url) as memory, pytest.raises(ValueError, match="names nobody"):
        memory.inject(Scope())


def test_a_late_answer_is_unknown() -> None:
    """After the deadline the call is cancelled, and nobody knows whether it had its effect."""
    ended = threading.Event()

    async def slowly(_: Memory) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    with open_memory_sync("memory://", deadline=0.05) as memory:
        with pytest.raises(OutcomeUnknown) as caught:
            memory.call(slowly)
        assert caught.value.outcome == "unknown"
        assert ended.wait(5)
        ended.clear()
        with pytest.raises(OutcomeUnknown):
            asyncio.run(memory.acall(slowly))
        assert ended.wait(5)
        assert memory.within(5).inject(SCOPE).items == ()


def test_a_timeout_of_the_work_is_its_own() -> None:
    """Only memkit's own deadline is taken for one."""

    async def impatient(_: Memory) -> None:
        raise TimeoutError("of the work")

    with open_memory_sync("memory://") as memory:
        with pytest.raises(TimeoutError, match="of the work"):
            memory.call(impatient)
        with pytest.raises(TimeoutError, match="of the work"):
            asyncio.run(memory.acall(impatient))


def test_what_takes_long_has_no_deadline() -> None:
    """Consolidation goes through everything there is, however long models think."""

    class Slow:
        fingerprint = "slow/1"

        async def extract(self, request: ExtractionRequest) -> Extraction:
            del request
            await asyncio.sleep(0.1)
            return Extraction()

    with open_memory_sync("memory://", deadline=0.05, extractor=Slow()) as memory:
        memory.within(5).record(SCOPE, [a_message("I live in Oslo.")], session_id="s")
        assert [each.status for each in memory.consolidate()] == ["completed"]


def test_a_blocking_call_on_memkits_own_thread_is_refused() -> None:
    """It would wait for itself; awaiting there works."""
    with open_memory_sync("memory://") as memory:

        async def blocking(_: Memory) -> None:
            memory.inject(SCOPE)

        async def awaiting(_: Memory) -> int:
            return len((await memory.acall(Memory.inject, SCOPE)).items)

        with pytest.raises(WrongLoop, match="own thread"):
            memory.call(blocking)
        assert memory.call(awaiting) == 0


def test_context_stays_with_the_caller() -> None:
    """A framework's context variables do not reach what runs on memkit's thread."""
    variable = contextvars.ContextVar("variable", default="nothing")

    async def look(_: Memory) -> str:
        return variable.get()

    with open_memory_sync("memory://") as memory:
        variable.set("a callback of the framework")
        assert memory.call(look) == "nothing"
        assert asyncio.run(memory.acall(look)) == "nothing"


def test_cancelling_cancels_the_work() -> None:
    """A cancelled caller does not leave its work running."""
    started, ended = threading.Event(), threading.Event()

    async def slowly(_: Memory) -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async def caller(memory: SyncMemory) -> None:
        task = asyncio.create_task(memory.acall(slowly))
        await asyncio.to_thread(started.wait, 5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with open_memory_sync("memory://") as memory:
        asyncio.run(caller(memory))
        assert ended.wait(5)


def test_closed_is_closed() -> None:
    """After the block, every call says so, blocking or not."""
    with open_memory_sync("memory://") as memory:
        pass
    with pytest.raises(Closed):
        memory.inject(SCOPE)
    with pytest.raises(Closed):
        asyncio.run(memory.acall(Memory.inject, SCOPE))


def test_closing_waits_for_others() -> None:
    """A call that another thread began is answered before the memory goes."""
    begun, go_on = threading.Event(), threading.Event()

    async def work(memory: Memory) -> int:
        begun.set()
        await asyncio.to_thread(go_on.wait, 5)
        return len((await memory.inject(SCOPE)).items)

    with ThreadPoolExecutor(1) as pool:
        with open_memory_sync("memory://") as memory:
            answer = pool.submit(memory.call, work)
            assert begun.wait(5)
            threading.Timer(0.05, go_on.set).start()
        assert answer.result(5) == 0


def test_closing_lets_what_was_cancelled_hand_back(store_url: str) -> None:
    """A consolidation given up just before the end leaves its episodes to the next one."""

    async def reluctant(request: ExtractionRequest) -> Extraction:
        del request
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0.2)
        return found()

    with open_memory_sync(store_url, extractor=Scripted(reluctant)) as memory:
        memory.record(SCOPE, [a_message("I live in Oslo.")], session_id="s")
        with pytest.raises(OutcomeUnknown):
            memory.within(0.3).call(Memory.consolidate)
    with open_memory_sync(store_url, extractor=Scripted(found("Ann lives in Oslo."))) as memory:
        if memory.stats().episodes:  # a store in memory is gone
            assert [job.status for job in memory.consolidate()] == ["completed"]


def test_nothing_is_left_behind() -> None:
    """Thread and loop end with the block."""
    before = set(threading.enumerate())
    for _ in range(5):
        with open_memory_sync("memory://", scheduler="background") as memory:
            use(memory, 1)
    assert set(threading.enumerate()) <= before


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_child_process_opens_its_own() -> None:
    """A memory of the parent says so in the child, and leaving its block there does not hang."""
    with open_memory_sync("memory://") as memory:
        child = os.fork()
        if child == 0:
            try:
                memory.inject(SCOPE)
            except Forked:
                os._exit(0)
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert memory.inject(SCOPE).items == ()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_child_may_leave_the_block() -> None:
    """Unwinding in the child does not wait for a thread that stayed in the parent."""
    child = -1
    with open_memory_sync("memory://") as memory:
        child = os.fork()
    if child == 0:
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    with pytest.raises(Closed):
        memory.inject(SCOPE)


@pytest.mark.anyio
async def test_a_memory_belongs_to_its_loop(store_url: str) -> None:
    """On another loop it says so, and says what to do; on its own it goes on."""
    async with open_memory(store_url) as memory:
        await memory.inject(SCOPE)

        def elsewhere() -> None:
            asyncio.run(memory.inject(SCOPE))

        with pytest.raises(WrongLoop, match="open_memory_sync"):
            await asyncio.to_thread(elsewhere)
        await memory.inject(SCOPE)


@pytest.mark.anyio
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
async def test_a_memory_belongs_to_its_process() -> None:
    """In a child process it says so, before it touches anything of the parent's."""
    async with open_memory("memory://") as memory:
        child = os.fork()
        if child == 0:
            try:
                memory.inject(SCOPE).send(None)
            except Forked:
                os._exit(0)
            os._exit(1)
        _, status = await asyncio.to_thread(os.waitpid, child, 0)
        assert os.waitstatus_to_exitcode(status) == 0
        await memory.inject(SCOPE)


@pytest.mark.anyio
async def test_after_the_block_there_is_no_memory(store_url: str) -> None:
    """Every verb says that it is closed."""
    async with open_memory(store_url) as memory:
        pass
    for verb in (memory.inject(SCOPE), memory.consolidate(), memory.decay(), memory.stats()):
        with pytest.raises(Closed):
            await verb
