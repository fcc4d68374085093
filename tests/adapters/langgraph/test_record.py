"""The node that records: each message once, whatever happens to the run."""

from __future__ import annotations

import asyncio
import logging
import operator
from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import (
    AIMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.message import REMOVE_ALL_MESSAGES, add_messages
from langgraph.types import Command, RetryPolicy, interrupt

from memkit.errors import StoreUnavailable
from memkit.models import Scope
from memkit.sync import SyncMemory
from memkit_adapters.langgraph import RecordNode

from .conftest import THREAD, Outage, recorded

pytestmark = pytest.mark.anyio


class Disturbed(Runnable[Any, Any]):
    """A record node that fails or waits once it has recorded."""

    def __init__(self, node: RecordNode) -> None:
        self.node = node
        self.failures = 0
        self.interrupts = False

    def invoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> Any:  # noqa: A002  # LangChain's name
        """Record, then disturb."""
        return self.disturbed(self.node.invoke(input, config))

    async def ainvoke(
        self,
        input: Any,  # noqa: A002  # LangChain's name
        config: RunnableConfig | None = None,
        **_: Any,
    ) -> Any:
        """Record, then disturb."""
        return self.disturbed(await self.node.ainvoke(input, config))

    def disturbed(self, update: Any) -> Any:
        """What was recorded is there already."""
        if self.failures:
            self.failures -= 1
            raise TimeoutError
        if self.interrupts:
            interrupt("go on?")
        return update


class Story:
    """A graph record → agent → record with a scripted agent, called sync or async."""

    def __init__(self, memory: SyncMemory, *, saved: bool = True, awaited: bool = False) -> None:
        self.said = 0
        self.awaited = awaited
        self.record = Disturbed(RecordNode(memory))
        builder = StateGraph(MessagesState)
        builder.add_node("record_user", RecordNode(memory))
        builder.add_node("agent", self.agent)
        retry = RetryPolicy(initial_interval=0.001, jitter=False, retry_on=TimeoutError)
        builder.add_node("record_memory", self.record, retry_policy=retry)
        for start, end in pairwise((START, "record_user", "agent", "record_memory", END)):
            builder.add_edge(start, end)
        self.app = builder.compile(checkpointer=InMemorySaver() if saved else None)

    def agent(self, _state: MessagesState) -> dict[str, Any]:
        self.said += 1
        return {"messages": [AIMessage(f"answer {self.said}")]}

    def run(self, given: Any, config: Any = THREAD) -> Any:
        """Run the graph; every awaited run has an event loop of its own."""
        if self.awaited:
            return asyncio.run(self.app.ainvoke(given, config))
        return self.app.invoke(given, config)

    def turn(self, *said: Any) -> Any:
        """A turn of the thread."""
        return self.run({"messages": list(said)})

    def before(self, node: str) -> Any:
        """The configuration of the newest checkpoint from which `node` runs next."""
        found = next(each for each in self.app.get_state_history(THREAD) if each.next == (node,))
        return {"configurable": {**THREAD["configurable"], **found.config["configurable"]}}


def retried(story: Story) -> None:
    """The node fails once after it has recorded, and is run again."""
    story.record.failures = 1
    story.turn("one")


def crashed(story: Story) -> None:
    """The run ends with an error after recording, and is taken up again."""
    story.record.failures = 3
    with pytest.raises(TimeoutError):
        story.turn("one")
    story.run(None, THREAD)


def interrupted(story: Story) -> None:
    """The node's body runs again from the top."""
    story.record.interrupts = True
    story.turn("one")
    story.run(Command(resume="yes"), THREAD)


def traveled(story: Story) -> None:
    """The same step is run a second time from its checkpoint."""
    story.turn("one")
    story.run(None, story.before("record_memory"))


def forked(story: Story) -> None:
    """The agent answers a second time, with another message."""
    story.turn("one")
    story.run(None, story.before("agent"))


def sent_again(story: Story) -> None:
    """The client repeats a turn that failed, with the ids it has given itself."""
    story.record.failures = 3
    with pytest.raises(TimeoutError):
        story.turn(HumanMessage("one", id="client-1"))
    story.turn(HumanMessage("one", id="client-1"))


def resent(story: Story) -> None:
    """Three turns, the whole history in each, all ids new every time."""
    history: list[Any] = []
    for text in ("one", "two", "two"):
        history.append(("user", text))
        answer = story.turn(*history)["messages"][-1]
        history.append(("ai", answer.text))


ONE = ["user: one", "assistant: answer 1"]

STABLE: dict[str, tuple[Callable[[Story], None], bool, list[str]]] = {
    "RetryPolicy retry": (retried, True, ONE),
    "process/exception crash, `invoke(None, config)`": (crashed, True, ONE),
    "`interrupt()` in the node, resume": (interrupted, True, ONE),
    "time travel to the checkpoint before the node": (traveled, True, ONE),
    "fork from before the agent": (forked, True, [*ONE, "assistant: answer 2"]),
    "same turn sent again by the client after a failure": (
        sent_again,
        True,
        [*ONE, "assistant: answer 2"],
    ),
    "no checkpointer, client sends the history again": (
        resent,
        False,
        [
            *ONE,
            *("user: two", "assistant: answer 2", "user: two", "assistant: answer 3"),
        ],
    ),
}


@pytest.mark.parametrize("awaited", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize(("happens", "saved", "expected"), STABLE.values(), ids=STABLE.keys())
def test_record_exactly_once(
    memory: SyncMemory,
    happens: Callable[[Story], None],
    saved: bool,
    expected: list[str],
    awaited: bool,
) -> None:
    """Whatever happens to a run, each message is recorded once."""
    happens(Story(memory, saved=saved, awaited=awaited))
    assert recorded(memory) == expected


def test_without_ids_of_its_own_a_repeated_turn_is_two_for_the_thread(memory: SyncMemory) -> None:
    """The thread then holds the user's words twice, and memory has what the thread has."""
    story = Story(memory)
    story.record.failures = 3
    with pytest.raises(TimeoutError):
        story.turn("one")
    story.turn("one")
    assert recorded(memory) == [*ONE, "user: one", "assistant: answer 2"]


def test_a_summary_in_place_of_old_messages_loses_and_doubles_nothing(memory: SyncMemory) -> None:
    """What was removed stays recorded, what was kept is not recorded again, a summary never."""
    story = Story(memory)
    story.turn("one")
    story.turn("two")
    kept = story.app.get_state(THREAD).values["messages"][-1]
    summary = HumanMessage("they talked", additional_kwargs={"lc_source": "summarization"})
    story.turn(RemoveMessage(REMOVE_ALL_MESSAGES), summary, kept, HumanMessage("three"))
    assert recorded(memory) == [
        *("user: one", "assistant: answer 1", "user: two", "assistant: answer 2"),
        *("user: three", "assistant: answer 3"),
    ]


def test_repeated_words_are_recorded_each_time(memory: SyncMemory) -> None:
    """The same words in three turns are three messages, with a checkpointer and without."""
    for saved in (True, False):
        story = Story(memory, saved=saved)
        config = {"configurable": {"thread_id": f"saved {saved}", "user_id": f"user {saved}"}}
        history: list[Any] = []
        for number in (1, 2, 3):
            history.append(("user", "yes"))
            said = history if not saved else history[-1:]
            story.run({"messages": list(said)}, config)
            history.append(("ai", f"answer {number}"))
        texts = recorded(memory, Scope(user_id=f"user {saved}"))
        assert texts.count("user: yes") == 3
        assert len(texts) == 6


def test_an_edited_message_is_a_revision(memory: SyncMemory) -> None:
    """`add_messages` replaces by id; memory keeps the new content beside the old."""
    story = Story(memory)
    story.turn(HumanMessage("I live in Oslo", id="m1"))
    story.turn(HumanMessage("I live in Bergen", id="m1"), HumanMessage("ok?", id="m2"))
    assert recorded(memory) == [
        *("user: I live in Oslo", "assistant: answer 1"),
        *("user: I live in Bergen", "user: ok?", "assistant: answer 2"),
    ]


def test_a_message_handed_to_a_subgraph_is_recorded_once(memory: SyncMemory) -> None:
    """Parent and subgraph share the thread and the ids: listing the node twice is harmless."""
    inner = StateGraph(MessagesState)
    inner.add_node("agent", lambda _state: {"messages": [AIMessage("answer")]})
    inner.add_node("record_memory", RecordNode(memory))
    inner.add_edge(START, "agent")
    inner.add_edge("agent", "record_memory")
    outer = StateGraph(MessagesState)
    outer.add_node("inner", inner.compile())
    outer.add_node("record_memory", RecordNode(memory))
    outer.add_edge(START, "inner")
    outer.add_edge("inner", "record_memory")
    outer.compile(checkpointer=InMemorySaver()).invoke({"messages": [("user", "one")]}, THREAD)
    assert recorded(memory) == ["user: one", "assistant: answer"]


def test_a_deferred_node_sees_all_branches(memory: SyncMemory) -> None:
    """Behind parallel branches the node runs last, once, and records what all of them said."""
    builder = StateGraph(MessagesState)
    for name in ("left", "right"):
        builder.add_node(name, lambda _state, name=name: {"messages": [AIMessage(name)]})
        builder.add_edge(START, name)
        builder.add_edge(name, "record_memory")
    builder.add_node("record_memory", RecordNode(memory), defer=True)
    builder.compile().invoke({"messages": [("user", "one")]}, THREAD)
    assert recorded(memory) == ["user: one", "assistant: left", "assistant: right"]


class Plain(TypedDict):
    """A state whose reducer gives no ids."""

    messages: Annotated[list[Any], operator.add]


def test_dicts_without_ids_are_recorded_once(memory: SyncMemory) -> None:
    """A list of dicts that only grows is told apart by content."""
    builder = StateGraph(Plain)
    builder.add_node("agent", lambda _s: {"messages": [{"role": "assistant", "content": "ok"}]})
    builder.add_node("record_memory", RecordNode(memory))
    builder.add_edge(START, "agent")
    builder.add_edge("agent", "record_memory")
    app = builder.compile(checkpointer=InMemorySaver())
    for text in ("one", "two"):
        app.invoke({"messages": [{"role": "user", "content": text}]}, THREAD)
    assert recorded(memory) == ["user: one", "assistant: ok", "user: two", "assistant: ok"]


def all_at_once(messages: list[Any] | None, writes: list[Any]) -> list[Any]:
    """A reducer that is given all writes of a step together, as a DeltaChannel wants it."""
    for write in writes:
        messages = add_messages(messages or [], write)
    return messages or []


class Delta(TypedDict):
    """A state whose checkpoints hold only what each step has added."""

    messages: Annotated[list[Any], DeltaChannel(all_at_once)]


@pytest.mark.parametrize("own_schema", [False, True])
@pytest.mark.parametrize("state", [MessagesState, Delta])
def test_every_channel_of_messages_is_read(
    memory: SyncMemory, state: type, own_schema: bool
) -> None:
    """Whatever keeps the messages, with the node's own schema or the graph's, each is recorded."""
    node = RecordNode(memory)
    builder = StateGraph(state)
    builder.add_node("agent", lambda _state: {"messages": [AIMessage("ok")]})
    builder.add_node("record", node, **({"input_schema": node.state_schema} if own_schema else {}))
    builder.add_edge(START, "agent")
    builder.add_edge("agent", "record")
    app = builder.compile(checkpointer=InMemorySaver())
    for text in ("one", "two"):
        app.invoke({"messages": [("user", text)]}, THREAD)
    assert recorded(memory) == ["user: one", "assistant: ok", "user: two", "assistant: ok"]


def test_only_what_was_said_is_recorded(memory: SyncMemory) -> None:
    """No prompt, no tool traffic, no memory block, no provider's extras; the words as they were."""
    node = RecordNode(memory)
    block = (
        "<memkit_memory>\nNotes from earlier conversations.\n"
        '- 2026-03-01, the user said (preference): "likes tea"\n</memkit_memory>\n'
    )
    call = {"name": "weather", "args": {"city": "Oslo"}, "id": "c1"}
    said = [
        SystemMessage("be brief"),
        HumanMessage(f"{block}and now?", id="m1", name="Maya"),
        AIMessage("", tool_calls=[call]),
        ToolMessage("sunny", tool_call_id="c1"),
        AIMessage("Sunny.", response_metadata={"model_name": "m", "logprobs": ["x"] * 9000}),
    ]
    assert node.invoke({"messages": said, "user_id": "alice"}, THREAD) == {}
    assert recorded(memory) == ["user: and now?", "assistant: Sunny."]
    (episode,) = memory.scan("episodes").rows
    first, last = episode.messages
    assert (episode.session_id, first.key, first.name) == ("t1", "m1", "Maya")
    assert last.metadata["langchain"] == {"model": "m"}


def test_what_is_recorded_can_be_chosen(memory: SyncMemory) -> None:
    """`keep` decides, message by message."""
    node = RecordNode(memory, keep=lambda message: message.type == "human")
    node.invoke({"messages": [("user", "one"), ("ai", "two")], "user_id": "alice"}, THREAD)
    assert recorded(memory) == ["user: one"]


def test_the_run_is_kept_as_provenance(memory: SyncMemory) -> None:
    """Where a message came from can be looked up; it is no part of the message's identity."""
    story = Story(memory)
    story.turn("one")
    known = memory.scan("episodes").rows[0].messages[0].metadata["langgraph"]
    assert known["node"] == "record_user"
    assert known["checkpoint_id"]


def test_one_unreadable_message_does_not_stop_the_rest(
    memory: SyncMemory, caplog: pytest.LogCaptureFixture
) -> None:
    """What is no message, or of absurd length, costs no other message its place."""
    said = [("user", "one"), {"odd": "secret"}, ("user", "x" * 2_000_000), ("ai", "two")]
    with caplog.at_level(logging.WARNING):
        RecordNode(memory, on_error="raise").invoke({"messages": said, "user_id": "alice"}, THREAD)
    first, cut, last = recorded(memory)
    assert (first, last) == ("user: one", "assistant: two")
    assert len(cut) < 200_000
    assert "left out an entry" in caplog.text
    assert "secret" not in caplog.text


def test_a_failing_memory_does_not_break_the_turn(
    failing: SyncMemory, outage: Outage, caplog: pytest.LogCaptureFixture
) -> None:
    """The turn goes on, and the next one makes up for what was missed."""
    story = Story(failing)
    outage.away = True
    with caplog.at_level(logging.ERROR):
        story.turn("strawberries")
    assert "record_memory went on without memory: StoreUnavailable" in caplog.text
    assert "strawberries" not in caplog.text
    outage.away = False
    story.turn("two")
    assert recorded(failing) == [
        *("user: strawberries", "assistant: answer 1", "user: two", "assistant: answer 2"),
    ]


def test_a_host_may_want_the_error(failing: SyncMemory, outage: Outage) -> None:
    """With `on_error="raise"` the turn ends with memkit's own error."""
    outage.away = True
    with pytest.raises(StoreUnavailable):
        RecordNode(failing, on_error="raise").invoke(
            {"messages": [("user", "one")], "user_id": "alice"}, THREAD
        )


async def test_a_cancelled_turn_leaves_all_or_nothing(memory: SyncMemory) -> None:
    """A client that hangs up cannot tear a recording apart; the next turn completes it."""
    node = RecordNode(memory)
    state = {"messages": [HumanMessage(str(n), id=f"m{n}") for n in range(50)], "user_id": "alice"}
    for _ in range(5):
        task = asyncio.create_task(node.ainvoke(state, THREAD))
        await asyncio.sleep(0)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        assert len(recorded(memory)) in {0, 50}
    await node.ainvoke(state, THREAD)
    assert len(recorded(memory)) == 50
