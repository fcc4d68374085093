"""The node that recalls."""

from __future__ import annotations

import json
import logging
import operator
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Send

from memkit import open_memory
from memkit.errors import StoreUnavailable
from memkit.models import Scope
from memkit.sync import SyncMemory
from memkit_adapters.langgraph import InjectNode, MemoryState, recalled, render_memory

from .conftest import ALICE, THREAD, Outage

pytestmark = pytest.mark.anyio

TEA = "Drinks green tea in the morning"
BIKE = "Rides a red bicycle to work"


class AgentState(MessagesState, MemoryState):
    """A conversation and what is remembered for it."""


class Reading(TypedDict):
    """What a node asks for that wants the memory of a graph without a channel for it."""

    messages: list[Any]
    working_memory: dict[str, Any]


def knowing(memory: SyncMemory) -> SyncMemory:
    """The memory, with two items of Alice's and one of Bob's."""
    memory.remember(ALICE, TEA, kind="preference", importance=0.6)
    memory.remember(ALICE, BIKE, importance=0.9)
    memory.remember(Scope(user_id="bob"), "Bob's PIN is a secret", importance=1.0)
    return memory


def graph(node: InjectNode, **compiled: Any) -> Any:
    """inject → agent, where the agent answers with the block it was given."""

    def agent(state: AgentState) -> dict[str, Any]:
        return {"messages": [AIMessage(render_memory(state) or "nothing")]}

    builder = StateGraph(AgentState)
    builder.add_node("inject_memory", node)
    builder.add_node("agent", agent)
    builder.add_edge(START, "inject_memory")
    builder.add_edge("inject_memory", "agent")
    builder.add_edge("agent", END)
    return builder.compile(**compiled)


def asking(text: str) -> dict[str, Any]:
    """A turn of the user."""
    return {"messages": [HumanMessage(text)]}


def contents(state: object) -> list[str]:
    """What the state holds of memory."""
    return [item.content for item in recalled(state)]


def test_the_last_words_of_the_user_are_the_query(memory: SyncMemory) -> None:
    """What answers the question comes first, though something else matters more."""
    node = InjectNode(knowing(memory))
    said = [("user", "tea?"), ("ai", "which?"), ("user", "green tea"), ("ai", "a bicycle!")]
    result = graph(node).invoke({"messages": said}, THREAD)
    assert contents(result) == [TEA, BIKE]
    assert TEA in result["messages"][-1].text


async def test_the_same_node_serves_async_graphs(memory: SyncMemory) -> None:
    """One object for both worlds: nothing is blocked, nothing is refused."""
    result = await graph(InjectNode(knowing(memory))).ainvoke(asking("green tea"), THREAD)
    assert contents(result) == [TEA, BIKE]


async def test_a_sync_call_within_a_running_loop_works(memory: SyncMemory) -> None:
    """memkit's own thread carries the call, so the caller's loop cannot be in its way."""
    result = graph(InjectNode(knowing(memory))).invoke(asking("green tea"), THREAD)
    assert contents(result) == [TEA, BIKE]


@pytest.mark.parametrize(
    "said", [[], [SystemMessage("be brief")], [{"role": "user", "content": ""}]]
)
def test_without_words_what_matters_most_is_recalled(memory: SyncMemory, said: list[Any]) -> None:
    """No user's message, or an empty one, is no query."""
    assert contents(graph(InjectNode(knowing(memory))).invoke({"messages": said}, THREAD)) == [
        BIKE,
        TEA,
    ]


def test_the_bounds_are_those_of_inject(memory: SyncMemory) -> None:
    """Limit, kinds, scores and budget go through."""
    knowing(memory)
    state = {**asking("green tea"), "user_id": "alice"}
    for node, expected in (
        (InjectNode(memory, limit=1), [TEA]),
        (InjectNode(memory, kinds=["semantic"]), [BIKE]),
        (InjectNode(memory, min_score=0.5), [TEA]),
        (InjectNode(memory, min_importance=0.8), [BIKE]),
        (InjectNode(memory, query=lambda _state: "bicycle", limit=1), [BIKE]),
        (InjectNode(memory, token_budget=10, count_tokens=lambda _text: 1000), []),
    ):
        assert contents(node.invoke(state)) == expected


def test_only_its_own_key_is_returned_and_it_is_plain_json(memory: SyncMemory) -> None:
    """Nothing of the conversation comes back, and a checkpoint needs no class of memkit's."""
    update = InjectNode(knowing(memory)).invoke({**asking("tea"), "user_id": "alice"}, THREAD)
    assert list(update) == ["working_memory"]
    frame = update["working_memory"]
    assert json.loads(json.dumps(frame)) == frame
    ids = {key: frame[key] for key in ("user_id", "agent_id", "workflow_id", "session_id")}
    assert ids == {"user_id": "alice", "agent_id": None, "workflow_id": None, "session_id": "t1"}
    assert (frame["degraded"], frame["has_untrusted"]) == (False, False)


def test_the_frame_survives_a_checkpoint(memory: SyncMemory) -> None:
    """A resumed thread still has its memory, item for item."""
    app = graph(
        InjectNode(knowing(memory)), checkpointer=InMemorySaver(), interrupt_before=["agent"]
    )
    first = app.invoke(asking("green tea"), THREAD)
    resumed = app.invoke(None, THREAD)
    assert recalled(resumed) == recalled(first)
    assert TEA in resumed["messages"][-1].text


def test_another_users_memory_is_never_shown(memory: SyncMemory) -> None:
    """The same question of another user finds that user's memory alone."""
    app = graph(InjectNode(knowing(memory)))
    for user, expected in (
        ("alice", {TEA, BIKE}),
        ("bob", {"Bob's PIN is a secret"}),
        ("eve", set()),
    ):
        config = {"configurable": {"user_id": user}}
        assert set(contents(app.invoke(asking("what is the PIN? tea?"), config))) == expected


def test_nothing_of_memory_is_streamed_as_messages(memory: SyncMemory) -> None:
    """What is recalled goes to the model, not to the user's screen."""
    model = GenericFakeChatModel(messages=iter([AIMessage("hello there")]))

    def agent(state: AgentState) -> dict[str, Any]:
        return {
            "messages": [model.invoke([SystemMessage(render_memory(state)), *state["messages"]])]
        }

    builder = StateGraph(AgentState)
    builder.add_node("inject_memory", InjectNode(knowing(memory)))
    builder.add_node("agent", agent)
    builder.add_edge(START, "inject_memory")
    builder.add_edge("inject_memory", "agent")
    streamed = builder.compile().stream(asking("green tea"), THREAD, stream_mode="messages")
    text = "".join(chunk.text for chunk, _metadata in streamed)
    assert text == "hello there"


def test_a_missing_channel_can_be_made(memory: SyncMemory) -> None:
    """With the node's own schema the memory gets a private channel: kept, and in no output."""

    def agent(state: Reading) -> dict[str, Any]:
        return {"messages": [AIMessage(render_memory(state))]}

    node = InjectNode(knowing(memory))
    builder = StateGraph(MessagesState)
    builder.add_node("inject_memory", node, input_schema=node.state_schema)
    builder.add_node("agent", agent)
    builder.add_edge(START, "inject_memory")
    builder.add_edge("inject_memory", "agent")
    app = builder.compile(checkpointer=InMemorySaver())
    result = app.invoke(asking("green tea"), THREAD)
    assert list(result) == ["messages"]
    assert TEA in result["messages"][-1].text
    assert contents(app.get_state(THREAD).values) == [TEA, BIKE]


def test_other_keys_can_be_configured(memory: SyncMemory) -> None:
    """A graph with names of its own is served as well."""

    class Named(TypedDict):
        chat: Annotated[list[Any], operator.add]
        notes: dict[str, Any]

    node = InjectNode(knowing(memory), messages_key="chat", memory_key="notes")
    builder = StateGraph(Named)
    builder.add_node("inject_memory", node, input_schema=node.state_schema)
    builder.add_edge(START, "inject_memory")
    result = builder.compile().invoke({"chat": [{"role": "user", "content": "tea"}]}, THREAD)
    assert [item.content for item in recalled(result, key="notes")] == [TEA, BIKE]


def test_parallel_branches_may_return_the_memory_they_were_given(memory: SyncMemory) -> None:
    """The channel's reducer lets the last writer win instead of failing the run."""

    def branch(state: AgentState) -> dict[str, Any]:
        return {"working_memory": state["working_memory"]}

    builder = StateGraph(AgentState)
    builder.add_node("inject_memory", InjectNode(knowing(memory)))
    builder.add_node("branch", branch)
    builder.add_edge(START, "inject_memory")
    builder.add_conditional_edges(
        "inject_memory", lambda state: [Send("branch", state), Send("branch", state)]
    )
    assert contents(builder.compile().invoke(asking("green tea"), THREAD)) == [TEA, BIKE]


def test_a_failing_memory_does_not_break_the_turn(
    failing: SyncMemory, outage: Outage, caplog: pytest.LogCaptureFixture
) -> None:
    """The turn goes on, the frame says `degraded`, and what was recalled before is not kept."""
    knowing(failing)
    app = graph(InjectNode(failing), checkpointer=InMemorySaver())
    assert contents(app.invoke(asking("green tea"), THREAD)) == [TEA, BIKE]
    outage.away = True
    with caplog.at_level(logging.ERROR):
        result = app.invoke(asking("green tea, again"), THREAD)
    assert result["messages"][-1].text == "nothing"
    assert (contents(result), result["working_memory"]["degraded"]) == ([], True)
    assert "inject_memory went on without memory: StoreUnavailable" in caplog.text
    assert "tea" not in caplog.text


async def test_a_failing_memory_does_not_break_an_async_turn(
    failing: SyncMemory, outage: Outage
) -> None:
    """The same holds where the node is awaited."""
    outage.away = True
    result = await graph(InjectNode(failing)).ainvoke(asking("green tea"), THREAD)
    assert result["working_memory"]["degraded"] is True


def test_a_host_may_want_the_error(failing: SyncMemory, outage: Outage) -> None:
    """With `on_error="raise"` the turn ends with memkit's own error."""
    outage.away = True
    with pytest.raises(StoreUnavailable):
        graph(InjectNode(failing, on_error="raise")).invoke(asking("green tea"), THREAD)


async def test_a_memory_of_one_loop_is_refused() -> None:
    """What is bound to a loop cannot serve sync graphs; the error says what can."""
    async with open_memory("memory://") as memory:
        with pytest.raises(TypeError, match="open_memory_sync"):
            InjectNode(memory)  # type: ignore[arg-type]


def test_before_anything_was_recalled_there_is_nothing() -> None:
    """A state without memory renders to nothing, whatever stands in its place."""
    for state in ({}, {"working_memory": None}, {"working_memory": {}}, None):
        assert render_memory(state) == ""
