"""Whose memory a graph's run is about: found in its context, configuration, state or server."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.runtime import Runtime, get_runtime
from pydantic import JsonValue
from typing_extensions import TypedDict

from memkit.errors import ScopeError
from memkit.models import Scope, check_id
from memkit_adapters.langgraph.state import value_of

# The state and the context are of the user's own types.
ScopeResolver = Callable[[Any, RunnableConfig, Runtime[Any]], Scope]
"""Answers whose memory it is, from the state, the configuration and the runtime of a run."""

Names = tuple[str, ...]

_USER: Names = ("user_id", "langgraph_user_id")
_AGENT: Names = ("agent_id",)
_WORKFLOW: Names = ("workflow_id",)
_SESSION: Names = ("session_id",)
# The host sets these by itself; where memkit's own name is given, that is meant.
_HOST_AGENT: Names = ("assistant_id",)
_HOST_SESSION: Names = ("thread_id",)

STATE_NAMES = (*_USER, *_AGENT, *_WORKFLOW, *_SESSION)
"""Ids that the nodes look for in a graph's state."""


@dataclass(frozen=True, slots=True)
class Place:
    """Whose memory a run is about, and in which session, if it names one."""

    scope: Scope
    session_id: str | None

    @property
    def session(self) -> str:
        """The session. `ScopeError` if the run names none."""
        if self.session_id is None:
            raise ScopeError(
                "which session? give config['configurable']['thread_id'], or a session_id in "
                "the graph's context, configuration or state"
            )
        return self.session_id


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a node, and where it may say whose memory it is about."""

    state: object
    config: RunnableConfig
    runtime: Runtime[Any]

    @classmethod
    def of(cls, state: object, config: RunnableConfig | None) -> Run:
        """The run that is going on now."""
        return cls(state, config or {}, _runtime())

    @property
    def provenance(self) -> dict[str, JsonValue]:
        """What LangGraph knows the run by: to be kept beside what is recorded, never as its id."""
        info = self.runtime.execution_info
        known = {
            "node": (self.config.get("metadata") or {}).get("langgraph_node"),
            "run_id": None if info is None else info.run_id,
            "checkpoint_id": None if info is None else info.checkpoint_id,
        }
        return {name: str(value) for name, value in known.items() if value}

    def place(self, stated: Scope | ScopeResolver | None) -> Place:
        """Whose memory it is, and which session.

        `ScopeError` where the run names no user and `stated` is None. Never falls back to a
        scope that is shared: whoever wants one states it.
        """
        session_id = self._id(_SESSION) or self._id(_HOST_SESSION)
        if isinstance(stated, Scope):
            return Place(stated, session_id)
        if stated is None:
            return Place(self._scope(), session_id)
        return Place(_resolved(stated(self.state, self.config, self.runtime)), session_id)

    def _scope(self) -> Scope:
        user_id = self._id(_USER)
        if user_id is None:
            raise ScopeError(
                "whose memory? no user_id in the graph's context, config['configurable'], "
                "state or authenticated user; give one, or pass scope= to the node"
            )
        return Scope(user_id, self._id(_AGENT) or self._id(_HOST_AGENT), self._id(_WORKFLOW))

    def _id(self, names: Names) -> str | None:
        """The id under any of the names. `ScopeError` if two places disagree."""
        found = [
            (f"{place} {name}", _as_id(name, value))
            for place, values in self._places()
            for name in names
            if (value := value_of(values, name)) is not None
        ]
        for place, value in found[1:]:
            if value != found[0][1]:
                raise ScopeError(
                    f"whose memory? {found[0][0]} is {found[0][1]!r} but {place} is {value!r}; "
                    "let them agree, or pass scope= to the node"
                )
        return found[0][1] if found else None

    def _places(self) -> Iterator[tuple[str, object]]:
        yield "context", self.runtime.context
        yield "configurable", self.config.get("configurable")
        yield "state", self.state
        server = self.runtime.server_info
        if server is not None:
            yield "server", {"assistant_id": server.assistant_id}
            if server.user is not None:
                yield "authenticated", {"user_id": server.user.identity}


def state_schema(name: str, *keys: str) -> type:
    """A state of plain keys, and of the ids that may stand in one.

    A channel that the graph has keeps its own reducer; one that it lacks becomes private: in
    the checkpoint, and in nobody's input or output.
    """
    fields = dict.fromkeys((*keys, *STATE_NAMES), object)
    made: type = TypedDict(name, fields, total=False)  # type: ignore[misc]  # its keys are configured
    return made


def _runtime() -> Runtime[Any]:
    """LangGraph's runtime, or an empty one outside a graph."""
    try:
        found: Runtime[Any] | None = get_runtime()
    except (RuntimeError, LookupError):
        found = None
    return Runtime() if found is None else found


def _as_id(name: str, value: object) -> str:
    if isinstance(value, uuid.UUID) or (isinstance(value, int) and not isinstance(value, bool)):
        return str(value)
    return check_id(name, value)


def _resolved(answer: object) -> Scope:
    if isinstance(answer, Scope):
        return answer
    raise ScopeError(f"scope= must answer with a Scope, not {type(answer).__name__}")
