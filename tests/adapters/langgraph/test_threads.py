"""Nodes under every kind of caller: threads, loops, and a store that takes its time."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import pytest
from langchain_core.messages import AIMessage
from langgraph.graph import END, START, StateGraph

from memkit.inmemory import InMemoryStore
from memkit.models import Scope
from memkit.sync import SyncMemory, open_memory_sync
from memkit.testing.around import StoreAround
from memkit_adapters.langgraph import InjectNode, RecordNode

from .conftest import recorded
from .test_inject import AgentState

pytestmark = pytest.mark.anyio

Answer = TypeVar("Answer")


class Slow(StoreAround):
    """A store that answers when it is let go."""

    def __init__(self) -> None:
        super().__init__(InMemoryStore())
        self.asked = threading.Event()
        self.let_go = threading.Event()

    async def through(self, _name: str, call: Callable[[], Awaitable[Answer]], /) -> Answer:
        """Wait, and then answer."""
        self.asked.set()
        await asyncio.to_thread(self.let_go.wait)
        return await call()


def graph(memory: SyncMemory) -> object:
    """inject → agent → record."""
    builder = StateGraph(AgentState)
    builder.add_node("inject_memory", InjectNode(memory, on_error="raise"))
    builder.add_node("agent", lambda _state: {"messages": [AIMessage("answer")]})
    builder.add_node("record_memory", RecordNode(memory, on_error="raise"))
    builder.add_edge(START, "inject_memory")
    builder.add_edge("inject_memory", "agent")
    builder.add_edge("agent", "record_memory")
    builder.add_edge("record_memory", END)
    return builder.compile()


def turn(number: int) -> tuple[dict[str, object], dict[str, object]]:
    """A turn of a user of its own."""
    said = {"messages": [("user", f"turn {number}")]}
    return said, {"configurable": {"user_id": f"user {number}", "thread_id": f"t{number}"}}


async def test_the_callers_loop_goes_on_while_memory_works() -> None:
    """A slow store stalls nobody but the turn that waits for it."""
    store = Slow()
    store.let_go.set()
    with open_memory_sync(store=store) as memory:
        store.let_go.clear()
        store.asked.clear()
        running = asyncio.create_task(graph(memory).ainvoke(*turn(1)))
        # Both waits take turns on this loop: it must go on for the store to be reached.
        await asyncio.to_thread(store.asked.wait)
        assert not running.done()
        store.let_go.set()
        await running
        assert recorded(memory, Scope("user 1")) == ["user: turn 1", "assistant: answer"]


def test_eight_threads_share_one_graph(memory: SyncMemory) -> None:
    """Every thread's turns are recorded for its own user, none are lost."""
    app = graph(memory)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: app.invoke(*turn(number)), range(24)))
    for number in range(24):
        assert recorded(memory, Scope(f"user {number}")) == [
            f"user: turn {number}",
            "assistant: answer",
        ]


def test_a_loop_per_call_is_fine(memory: SyncMemory) -> None:
    """A new `asyncio.run` for every turn, as servers of scripts and notebooks do."""
    app = graph(memory)
    for number in range(3):
        asyncio.run(app.ainvoke(*turn(number)))
        assert len(recorded(memory, Scope(f"user {number}"))) == 2


async def test_many_turns_at_once_on_one_loop(memory: SyncMemory) -> None:
    """Turns of many users run side by side, and none sees another's."""
    app = graph(memory)
    await asyncio.gather(*(app.ainvoke(*turn(number)) for number in range(24)))
    for number in range(24):
        assert len(recorded(memory, Scope(f"user {number}"))) == 2
