"""What the nodes read from a graph's state and write into it, JSON-plain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated

# Before Python 3.13 LangGraph's states and pydantic's models mix with this one only.
from typing_extensions import TypedDict

from memkit.models import Origin, Recalled, Scope, WorkingMemory
from memkit.render import render

MEMORY_KEY = "working_memory"
MESSAGES_KEY = "messages"


class RecalledFrame(TypedDict):
    """One recalled item; `observed_at` is an ISO 8601 date."""

    id: str
    content: str
    kind: str
    origin: Origin
    importance: float
    score: float
    observed_at: str
    source: str | None
    why: str


class MemoryFrame(TypedDict):
    """One answer of memory, for whom and for which session, as a checkpoint can keep it.

    `degraded`: the answer may lack something, because memory failed or was late.
    """

    user_id: str | None
    agent_id: str | None
    workflow_id: str | None
    session_id: str | None
    items: list[RecalledFrame]
    degraded: bool
    has_untrusted: bool


def last_wins(left: MemoryFrame, right: MemoryFrame | None) -> MemoryFrame:
    """The reducer of the memory channel: parallel branches may all return what they were given."""
    return left if right is None else right


class MemoryState(TypedDict, total=False):
    """Mix into a graph's state so that every node sees the memory:

    `class AgentState(MessagesState, MemoryState): ...`
    """

    working_memory: Annotated[MemoryFrame, last_wins]


def frame(memory: WorkingMemory, scope: Scope, session_id: str | None) -> MemoryFrame:
    """The state's form of one recall."""
    return MemoryFrame(
        user_id=scope.user_id,
        agent_id=scope.agent_id,
        workflow_id=scope.workflow_id,
        session_id=session_id,
        items=[_frame_item(each) for each in memory.items],
        degraded=memory.degraded,
        has_untrusted=memory.has_untrusted,
    )


def recalled(state: object, *, key: str = MEMORY_KEY) -> list[Recalled]:
    """The items in a graph's state, whatever its type; none before the inject node has run."""
    held = value_of(state, key)
    items = held.get("items") if isinstance(held, Mapping) else None
    return [_unframed(each) for each in items] if isinstance(items, Sequence) else []


def render_memory(state: object, *, key: str = MEMORY_KEY) -> str:
    """The block to put before a model (see `memkit.render`), or "" when nothing was recalled.

    Put it into the model's request, never into the state's messages: there it would stay for
    ever, grow each turn and be streamed to the user.
    """
    return render(recalled(state, key=key))


def value_of(source: object, name: str) -> object:
    """A named value of a dict, pydantic model, dataclass or any other object, or None."""
    if isinstance(source, Mapping):
        return source.get(name)
    return getattr(source, name, None)


def _frame_item(item: Recalled) -> RecalledFrame:
    return RecalledFrame(
        id=item.id,
        content=item.content,
        kind=item.kind,
        origin=item.origin,
        importance=item.importance,
        score=item.score,
        observed_at=item.observed_at.isoformat(),
        source=item.source,
        why=item.why,
    )


def _unframed(item: RecalledFrame) -> Recalled:
    return Recalled(
        id=item["id"],
        content=item["content"],
        kind=item["kind"],
        origin=item["origin"],
        importance=item["importance"],
        score=item["score"],
        observed_at=datetime.fromisoformat(item["observed_at"]),
        source=item["source"],
        why=item["why"],
    )
