"""A LangGraph graph with memkit's nodes around an agent that echoes."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import AIMessage, HumanMessage
from langgraph.graph import END, START, MessagesState, StateGraph

from memkit.sync import SyncMemory
from memkit_adapters.langgraph import InjectNode, MemoryState, RecordNode


class AgentState(MessagesState, MemoryState):
    """What the graph hands from node to node."""


def echo(state: AgentState) -> dict[str, list[AIMessage]]:
    """The agent: says again what was said last."""
    said = state["messages"][-1]
    return {"messages": [AIMessage(f"You said: {said.content}", id=f"{said.id}-echo")]}


def compiled(memory: SyncMemory) -> Any:
    """inject, echo, record."""
    graph = StateGraph(AgentState)
    # A failure of memory has to be seen here.
    graph.add_node("inject", InjectNode(memory, on_error="raise"))
    graph.add_node("echo", echo)
    graph.add_node("record", RecordNode(memory, on_error="raise"))
    graph.add_edge(START, "inject")
    graph.add_edge("inject", "echo")
    graph.add_edge("echo", "record")
    graph.add_edge("record", END)
    return graph.compile()


def said(text: str, session_id: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Input and configuration of a run in which the user says this."""
    where = {"user_id": "ann", "thread_id": session_id}
    return {"messages": [HumanMessage(text, id=text)]}, {"configurable": where}
