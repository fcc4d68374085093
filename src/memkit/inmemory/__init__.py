"""The in-memory store: the reference that every other store must equal."""

from memkit.inmemory.store import InMemoryStore

__all__ = ["InMemoryStore"]
