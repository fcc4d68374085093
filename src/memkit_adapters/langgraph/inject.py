"""The node that recalls before the agent speaks."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from memkit.errors import InvalidInput
from memkit.memory import Memory
from memkit.models import Scope, WorkingMemory
from memkit.sync import SyncMemory
from memkit_adapters.langgraph.messages import as_langchain
from memkit_adapters.langgraph.node import MemoryNode, OnError, Update, Work
from memkit_adapters.langgraph.reading import read_message
from memkit_adapters.langgraph.scope import Place, Run, ScopeResolver, state_schema
from memkit_adapters.langgraph.state import MEMORY_KEY, MESSAGES_KEY, frame, value_of

Query = Callable[[object], str | None]
"""What to ask memory, from the state; None recalls what matters most."""


class InjectNode(MemoryNode):
    """Recalls what answers the user's last message, and writes it under `memory_key` alone.

        graph.add_node("inject_memory", InjectNode(memory))

    The graph's state must hold `memory_key`: mix `MemoryState` into it, or add the node with
    `input_schema=node.state_schema`. The bounds are those of `Memory.inject`. When memory
    fails, the frame is empty and says `degraded`, so that what an earlier turn recalled is
    not taken for an answer.
    """

    def __init__(  # noqa: PLR0913  # the bounds of `Memory.inject`, said once
        self,
        memory: SyncMemory,
        *,
        scope: Scope | ScopeResolver | None = None,
        query: Query | None = None,
        limit: int | None = None,
        min_importance: float | None = None,
        min_score: float | None = None,
        token_budget: int | None = None,
        count_tokens: Callable[[str], int] | None = None,
        kinds: Sequence[str] | None = None,
        deadline: float | None = None,
        messages_key: str = MESSAGES_KEY,
        memory_key: str = MEMORY_KEY,
        on_error: OnError = "log",
        name: str = "inject_memory",
    ) -> None:
        super().__init__(memory, scope=scope, on_error=on_error, name=name)
        self._query = query
        self._limit = limit
        self._min_importance = min_importance
        self._min_score = min_score
        self._token_budget = token_budget
        self._count_tokens = count_tokens
        self._kinds = kinds
        self._deadline = deadline
        self._messages_key = messages_key
        self._memory_key = memory_key

    @property
    def state_schema(self) -> type:
        """What the node reads and writes, for `add_node(..., input_schema=...)`."""
        return state_schema("InjectState", self._memory_key, self._messages_key)

    def _work(self, run: Run, place: Place) -> Work:
        query = self._asked(run.state)

        async def inject(memory: Memory) -> Update:
            found = await memory.inject(
                place.scope,
                query=query,
                limit=self._limit,
                min_importance=self._min_importance,
                min_score=self._min_score,
                token_budget=self._token_budget,
                count_tokens=self._count_tokens,
                kinds=self._kinds,
                deadline=self._deadline,
            )
            return self._update(found, place)

        return inject

    def _without_memory(self, place: Place) -> Update:
        return self._update(WorkingMemory(degraded=True), place)

    def _update(self, found: WorkingMemory, place: Place) -> Update:
        return {self._memory_key: frame(found, place.scope, place.session_id)}

    def _asked(self, state: object) -> str | None:
        if self._query is not None:
            return self._query(state)
        return last_said(value_of(state, self._messages_key))


def last_said(messages: object) -> str | None:
    """The text of the user's last message, if there is one."""
    for message in reversed(messages if isinstance(messages, list | tuple) else ()):
        try:
            said = read_message(as_langchain(message))
        except InvalidInput:
            continue
        if said.role == "user" and said.text.strip():
            return said.text
    return None
