"""Long-term memory for AI agents: inject, record, consolidate, decay, on any store."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memkit.app import (
        open_memory,
    )
    from memkit.config import (
        Config,
    )
    from memkit.contracts import (
        ChatModel,
        Clock,
        Embedder,
        Every,
        Extractor,
        Job,
        Ledger,
        Maintains,
        Reply,
        Scheduler,
        Store,
    )
    from memkit.decay import (
        Policy,
    )
    from memkit.errors import (
        CapabilityError,
        Closed,
        ConfigError,
        ExtractionError,
        Forgotten,
        Forked,
        InvalidInput,
        LeaseLost,
        MemkitError,
        MessageConflict,
        OutcomeUnknown,
        PluginError,
        SchemaTooNew,
        ScopeError,
        StoreBusy,
        StoreCorrupt,
        StoreError,
        StoreFull,
        StoreReadOnly,
        StoreUnavailable,
        WrongLoop,
    )
    from memkit.hookspecs import (
        Event,
        hookimpl,
    )
    from memkit.memory import (
        Memory,
        Recorded,
    )
    from memkit.models import (
        Appended,
        Applied,
        Background,
        Candidate,
        Candidates,
        Capabilities,
        Changes,
        Claim,
        Completed,
        ConsolidationJob,
        ContentBlock,
        Dead,
        Episode,
        Episodes,
        Extraction,
        ExtractionRequest,
        Failed,
        Finding,
        Items,
        Known,
        Limits,
        MediaBlock,
        MemoryItem,
        Message,
        Messages,
        Migrated,
        Page,
        Patch,
        Proposal,
        Purged,
        Query,
        ReasoningBlock,
        Recalled,
        Receipt,
        Reinforcement,
        Released,
        Scope,
        Session,
        Skipped,
        Source,
        Stats,
        Strategy,
        Supersession,
        Tail,
        TextBlock,
        Tombstone,
        ToolCallBlock,
        ToolResultBlock,
        Turn,
        Usage,
        WholeScope,
        WorkingMemory,
    )
    from memkit.redact import (
        PatternRedactor,
        Redactor,
    )
    from memkit.sync import (
        SyncMemory,
        open_memory_sync,
    )

__all__ = [
    "Appended",
    "Applied",
    "Background",
    "Candidate",
    "Candidates",
    "Capabilities",
    "CapabilityError",
    "Changes",
    "ChatModel",
    "Claim",
    "Clock",
    "Closed",
    "Completed",
    "Config",
    "ConfigError",
    "ConsolidationJob",
    "ContentBlock",
    "Dead",
    "Embedder",
    "Episode",
    "Episodes",
    "Event",
    "Every",
    "Extraction",
    "ExtractionError",
    "ExtractionRequest",
    "Extractor",
    "Failed",
    "Finding",
    "Forgotten",
    "Forked",
    "InvalidInput",
    "Items",
    "Job",
    "Known",
    "LeaseLost",
    "Ledger",
    "Limits",
    "Maintains",
    "MediaBlock",
    "MemkitError",
    "Memory",
    "MemoryItem",
    "Message",
    "MessageConflict",
    "Messages",
    "Migrated",
    "OutcomeUnknown",
    "Page",
    "Patch",
    "PatternRedactor",
    "PluginError",
    "Policy",
    "Proposal",
    "Purged",
    "Query",
    "ReasoningBlock",
    "Recalled",
    "Receipt",
    "Recorded",
    "Redactor",
    "Reinforcement",
    "Released",
    "Reply",
    "Scheduler",
    "SchemaTooNew",
    "Scope",
    "ScopeError",
    "Session",
    "Skipped",
    "Source",
    "Stats",
    "Store",
    "StoreBusy",
    "StoreCorrupt",
    "StoreError",
    "StoreFull",
    "StoreReadOnly",
    "StoreUnavailable",
    "Strategy",
    "Supersession",
    "SyncMemory",
    "Tail",
    "TextBlock",
    "Tombstone",
    "ToolCallBlock",
    "ToolResultBlock",
    "Turn",
    "Usage",
    "WholeScope",
    "WorkingMemory",
    "WrongLoop",
    "hookimpl",
    "open_memory",
    "open_memory_sync",
]

# From the bottom up: a name is taken from the first that has it, and what is not asked for is
# not imported. Importing memkit costs next to nothing that way.
_MODULES = (
    "errors",
    "decay",
    "models",
    "contracts",
    "redact",
    "config",
    "hookspecs",
    "memory",
    "app",
    "sync",
)


def __getattr__(name: str) -> object:
    if name in __all__:
        for module in _MODULES:
            found = getattr(import_module(f"memkit.{module}"), name, None)
            if found is not None:
                globals()[name] = found
                return found
    raise AttributeError(f"module 'memkit' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
