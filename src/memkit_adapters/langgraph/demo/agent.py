"""The demo's agent: a graph of three nodes whose model is a script."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph

from memkit.cli.conversation import Said
from memkit.models import Recalled
from memkit.sync import SyncMemory
from memkit_adapters.langgraph.inject import InjectNode
from memkit_adapters.langgraph.record import RecordNode
from memkit_adapters.langgraph.state import MemoryState, recalled

PATH = ("inject_memory", "agent", "record_memory")
IGNORANT = "I do not remember anything about that yet."


class AgentState(MessagesState, MemoryState):
    """A conversation, and what is remembered for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What was injected for a turn, and what the agent said last."""

    injected: list[Recalled]
    reply: str


class Agent:
    """Talks turn by turn, one thread per session, with memory around every turn.

    It says what is in the turn's script, be it nothing, and without one answers from memory.
    """

    def __init__(self, memory: SyncMemory) -> None:
        self._script: list[AnyMessage] | None = None
        self._saver = InMemorySaver()
        inject, agent, record = PATH
        graph = StateGraph(AgentState)
        graph.add_node(inject, InjectNode(memory, on_error="raise"))
        graph.add_node(agent, self._speak)
        graph.add_node(record, RecordNode(memory, on_error="raise"))
        for start, end in pairwise((START, *PATH, END)):
            graph.add_edge(start, end)
        self._graph = graph.compile(checkpointer=self._saver)

    def turn(
        self,
        user_id: str,
        session_id: str,
        heard: Sequence[Said],
        script: Sequence[Said] | None = None,
    ) -> Turn:
        """One turn of the graph: what the user says, and what the agent answers."""
        self._script = None if script is None else [_message(each, session_id) for each in script]
        said = AgentState(messages=[_message(each, session_id) for each in heard])
        config = RunnableConfig(configurable={"thread_id": session_id, "user_id": user_id})
        state = self._graph.invoke(said, config, durability="exit")
        return Turn(injected=recalled(state), reply=state["messages"][-1].text)

    def close(self, session_id: str) -> None:
        """Let go of a session's thread; what is remembered of it is elsewhere."""
        self._saver.delete_thread(session_id)

    def _speak(self, state: AgentState) -> dict[str, list[AnyMessage]]:
        if self._script is not None:
            return {"messages": self._script}
        items = recalled(state)
        said = f"I remember: {items[0].content}" if items else IGNORANT
        return {"messages": [AIMessage(said)]}


def exchanges(turns: Sequence[Said]) -> Iterator[tuple[list[Said], list[Said]]]:
    """The turns in pairs: what the user says in a row, and what is answered in a row."""
    heard: list[Said] = []
    answered: list[Said] = []
    for turn in turns:
        if turn.role == "user" and answered:
            yield heard, answered
            heard, answered = [], []
        (heard if turn.role == "user" else answered).append(turn)
    if heard or answered:
        yield heard, answered


def _message(said: Said, session_id: str) -> AnyMessage:
    own = {"time": said.time.isoformat()} if said.time else {}
    kind = HumanMessage if said.role == "user" else AIMessage
    return kind(
        said.shown,
        id=f"{session_id}:{said.id}",
        name=said.speaker,
        additional_kwargs={"memkit": own},
    )
