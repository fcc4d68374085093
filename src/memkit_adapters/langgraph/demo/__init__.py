"""The demo's story, told with a LangGraph agent. `memkit demo` shows it."""

from memkit_adapters.langgraph.demo.teller import tell

__all__ = ["tell"]
