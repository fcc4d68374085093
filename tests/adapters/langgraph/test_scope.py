"""Whose memory a run is about."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Annotated

import pytest
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.message import add_messages
from langgraph.runtime import Runtime, ServerInfo
from pydantic import BaseModel

from memkit.errors import ScopeError
from memkit.models import Scope
from memkit.sync import SyncMemory, open_memory_sync
from memkit_adapters.langgraph import InjectNode, RecordNode, ScopeResolver
from memkit_adapters.langgraph.scope import Place, Run

FULL = {"user_id": "u", "agent_id": "a", "workflow_id": "w", "session_id": "s"}
PLACE = Place(Scope("u", "a", "w"), "s")


def server(identity: str | None, assistant: str = "as-1") -> ServerInfo:
    """What LangGraph Server knows of a run."""
    user = None if identity is None else SimpleNamespace(identity=identity)
    return ServerInfo(assistant_id=assistant, graph_id="g", user=user)


def run(
    *,
    context: object = None,
    configurable: dict[str, object] | None = None,
    state: object = None,
    server_info: ServerInfo | None = None,
) -> Run:
    """A run that names ids here and there."""
    return Run(
        state={} if state is None else state,
        config={"configurable": configurable or {}},
        runtime=Runtime(context=context, server_info=server_info),
    )


@dataclass
class Ids:
    """Ids as attributes."""

    user_id: str = "u"
    agent_id: str = "a"
    workflow_id: str = "w"
    session_id: str = "s"


@pytest.mark.parametrize(
    "found",
    [
        run(context=FULL),
        run(context=Ids()),
        run(configurable=FULL),
        run(state=FULL),
        run(state=Ids()),
        run(context={"user_id": "u"}, configurable={"agent_id": "a"}, state=FULL),
    ],
    ids=["context", "context object", "configurable", "state", "state object", "all over"],
)
def test_ids_are_found_in_every_place(found: Run) -> None:
    """Context, configuration and state may each name them, as keys or attributes."""
    assert found.place(None) == PLACE


@pytest.mark.parametrize(
    ("found", "place"),
    [
        (run(configurable={"langgraph_user_id": "u"}), Place(Scope("u"), None)),
        (run(configurable={"user_id": 7, "thread_id": 8}), Place(Scope("7"), "8")),
        (
            run(configurable={"user_id": uuid.UUID(int=1)}),
            Place(Scope("00000000-0000-0000-0000-000000000001"), None),
        ),
        (run(server_info=server("u")), Place(Scope("u", "as-1"), None)),
        (
            run(configurable={"user_id": "u", "assistant_id": "as-1"}, server_info=server(None)),
            Place(Scope("u", "as-1"), None),
        ),
        (
            run(context={"agent_id": "a", "session_id": "s"}, server_info=server("u"), state=FULL),
            PLACE,
        ),
        (
            run(context=FULL, configurable={"thread_id": "t", "assistant_id": "as-1"}),
            PLACE,
        ),
    ],
    ids=["langmem's name", "int", "UUID", "server", "assistant", "own agent", "own session"],
)
def test_the_hosts_ids_are_understood(found: Run, place: Place) -> None:
    """LangGraph's own names count, where memkit's are not given; numbers become text."""
    assert found.place(None) == place


@pytest.mark.parametrize(
    "found",
    [
        run(context={"user_id": "u"}, configurable={"user_id": "v"}),
        run(configurable={"user_id": "u"}, state={"user_id": "v"}),
        run(configurable={"user_id": "u", "langgraph_user_id": "v"}),
        run(configurable={"user_id": "u"}, server_info=server("v")),
        run(configurable={"user_id": "u", "agent_id": "a"}, state={"agent_id": "b"}),
        run(context={"user_id": "u", "session_id": "s"}, state={"session_id": "t"}),
    ],
)
def test_places_that_disagree_are_refused(found: Run) -> None:
    """Nobody can know which of two users is meant: neither is shown anything."""
    with pytest.raises(ScopeError, match="agree"):
        found.place(None)


@pytest.mark.parametrize(
    "found",
    [
        run(),
        run(configurable={"agent_id": "a", "thread_id": "t"}),
        run(configurable={"user_id": None}),
        run(configurable={"user_id": ""}),
        run(configurable={"user_id": True}),
        run(configurable={"user_id": "a\0b"}),
        run(server_info=server(None)),
    ],
)
def test_no_user_is_an_error(found: Run) -> None:
    """A run without a user never falls back to memory that everybody shares."""
    with pytest.raises(ScopeError):
        found.place(None)


@pytest.mark.parametrize(
    "stated",
    [Scope(agent_id="desk"), lambda state, _config, _runtime: Scope(agent_id=state["team"])],
    ids=["fixed", "resolver"],
)
def test_a_stated_scope_wins(stated: Scope | ScopeResolver) -> None:
    """Whoever states the scope needs no user id, and is not overruled."""
    found = run(configurable=FULL, state={"team": "desk"})
    assert found.place(stated) == Place(Scope(agent_id="desk"), "s")


def test_a_resolver_must_answer_with_a_scope() -> None:
    """A dict or None from a resolver is refused, not guessed at."""
    with pytest.raises(ScopeError, match="NoneType"):
        run(configurable=FULL).place(lambda *_: None)  # type: ignore[arg-type,return-value]


class PydanticState(BaseModel):
    """A state as a pydantic model."""

    messages: Annotated[list, add_messages] = []
    user_id: str = ""
    working_memory: dict = {}


@dataclass
class DataState:
    """A state as a dataclass."""

    messages: Annotated[list, add_messages]
    user_id: str = ""
    working_memory: dict | None = None


class DictState(MessagesState):
    """A state as a dict."""

    user_id: str
    working_memory: dict


@pytest.mark.parametrize("state_type", [PydanticState, DataState, DictState])
def test_every_type_of_state_is_read(state_type: type) -> None:
    """Ids and messages are found in a state of any type; the update is the same."""
    with open_memory_sync("memory://") as memory:
        memory.remember(Scope("u"), "Likes tea", importance=0.9)
        graph = StateGraph(state_type)
        graph.add_node("inject_memory", InjectNode(memory))
        graph.add_edge(START, "inject_memory")
        graph.add_edge("inject_memory", END)
        result = graph.compile().invoke({"messages": [("user", "tea?")], "user_id": "u"})
        frame = result["working_memory"]
        assert (frame["user_id"], [item["content"] for item in frame["items"]]) == (
            "u",
            ["Likes tea"],
        )


def test_a_nodes_errors_of_scope_are_raised(memory: SyncMemory) -> None:
    """`on_error="log"` is for a memory that fails, not for a graph that names nobody."""
    with pytest.raises(ScopeError, match="whose memory"):
        InjectNode(memory, on_error="log").invoke({"messages": []})
    with pytest.raises(ScopeError, match="which session"):
        RecordNode(memory, on_error="log").invoke({"messages": [], "user_id": "u"})
