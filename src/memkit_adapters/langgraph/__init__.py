"""memkit in LangGraph: nodes that recall before the agent speaks, and record what was said."""

try:
    from memkit_adapters.langgraph.scope import ScopeResolver
except ModuleNotFoundError as exc:
    raise ModuleNotFoundError(
        "memkit_adapters.langgraph needs LangGraph; install it with: "
        "pip install 'agent-memkit[langgraph]'",
        name=exc.name,
    ) from exc

from memkit_adapters.langgraph.inject import InjectNode
from memkit_adapters.langgraph.messages import from_langchain, to_langchain
from memkit_adapters.langgraph.record import RecordNode, is_said
from memkit_adapters.langgraph.state import (
    MemoryFrame,
    MemoryState,
    RecalledFrame,
    recalled,
    render_memory,
)

__all__ = [
    "InjectNode",
    "MemoryFrame",
    "MemoryState",
    "RecalledFrame",
    "RecordNode",
    "ScopeResolver",
    "from_langchain",
    "is_said",
    "recalled",
    "render_memory",
    "to_langchain",
]
