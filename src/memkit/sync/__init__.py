"""Memory for callers that block, and for coroutines of any loop: one thread of its own."""

from memkit.sync.twin import DEADLINE, SyncMemory, open_memory_sync

__all__ = ["DEADLINE", "SyncMemory", "open_memory_sync"]
