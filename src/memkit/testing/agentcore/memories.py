"""Memories: the resources of the control plane, with everything that each of them holds."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from memkit.testing.agentcore.clock import DAY
from memkit.testing.agentcore.errors import invalid, not_found
from memkit.testing.agentcore.values import Json, Members, Params, to_seconds

if TYPE_CHECKING:
    from memkit.testing.agentcore.events import Session
    from memkit.testing.agentcore.extraction import Job
    from memkit.testing.agentcore.records import Record
    from memkit.testing.agentcore.strategies import Strategy

ACCOUNT = "123456789012"


class IndexedKey(NamedTuple):
    """A metadata key that may be filtered on, for records written since it was added."""

    key: str
    type: str


@dataclass(kw_only=True)
class Memory:
    """One memory resource. `passing` is its status until `ready_at`, then it is ACTIVE or gone."""

    memory_id: str
    name: str
    region: str
    expiry_days: int
    created_at: int
    updated_at: int
    passing: str
    ready_at: float
    failure_reason: str | None = None
    settings: Members = field(default_factory=dict)
    strategies: list[Strategy] = field(default_factory=list)
    indexed_keys: list[IndexedKey] = field(default_factory=list)
    sessions: dict[tuple[str, str], Session] = field(default_factory=dict)
    records: dict[str, Record] = field(default_factory=dict)
    jobs: dict[str, Job] = field(default_factory=dict)
    rolling: dict[tuple[str, ...], str] = field(default_factory=dict)

    @property
    def arn(self) -> str:
        """The name of the memory in all of AWS."""
        return f"arn:aws:bedrock-agentcore:{self.region}:{ACCOUNT}:memory/{self.memory_id}"

    def status(self, now: int) -> str:
        """Return the status at a moment."""
        if self.failure_reason is not None:
            return "FAILED"
        return self.passing if now < self.ready_at else "ACTIVE"

    def is_gone(self, now: int) -> bool:
        """Tell whether a deletion is complete."""
        return self.passing == "DELETING" and now >= self.ready_at

    def pass_through(self, status: str, now: int, delay: float) -> None:
        """Enter a status that ends after some seconds."""
        self.passing = status
        self.ready_at = now + delay * 1_000
        self.updated_at = now

    def get_stuck(self) -> None:
        """Never leave CREATING."""
        self.passing, self.ready_at = "CREATING", math.inf

    def index_types(self) -> dict[str, str]:
        """Return the type of each indexed key."""
        return {entry.key: entry.type for entry in self.indexed_keys}

    def namespace_keys(self) -> list[Params]:
        """Return the variables that templates may use."""
        return Params(self.settings).parts("namespaceKeys")

    def strategy(self, strategy_id: str) -> Strategy | None:
        """Find a strategy."""
        return next((one for one in self.strategies if one.strategy_id == strategy_id), None)

    def event_life(self) -> int:
        """Return how many milliseconds an event written now will live."""
        return self.expiry_days * DAY

    def shown_as(self, now: int, status: str | None = None) -> Members:
        """Return the memory as a member of an answer."""
        indexed: list[Json] = [{"key": key, "type": type_} for key, type_ in self.indexed_keys]
        # The answer to a creation shows it in progress, even where it takes no time.
        first = status if status == "CREATING" else None
        strategies: list[Json] = [strategy.shown_as(now, first) for strategy in self.strategies]
        return {
            **self.summary(now, status),
            "name": self.name,
            "eventExpiryDuration": self.expiry_days,
            "strategies": strategies,
            **({"indexedKeys": indexed} if indexed else {}),
            **({"failureReason": self.failure_reason} if self.failure_reason else {}),
            **{name: value for name, value in self.settings.items() if name != "tags"},
        }

    def summary(self, now: int, status: str | None = None) -> Members:
        """Return the memory as ListMemories shows it: without its name."""
        return {
            "arn": self.arn,
            "id": self.memory_id,
            "status": status or self.status(now),
            "createdAt": to_seconds(self.created_at),
            "updatedAt": to_seconds(self.updated_at),
        }


class Shelf:
    """All memories of the account."""

    def __init__(self) -> None:
        self._memories: dict[str, Memory] = {}

    def add(self, memory: Memory) -> None:
        """Keep a new memory."""
        self._memories[memory.memory_id] = memory

    def drop(self, memory_id: str) -> None:
        """Lose a memory at once; twice is fine."""
        self._memories.pop(_bare_id(memory_id), None)

    def all(self, now: int) -> list[Memory]:
        """List the memories that are not gone, oldest first."""
        for memory_id in [m.memory_id for m in self._memories.values() if m.is_gone(now)]:
            self.drop(memory_id)
        return list(self._memories.values())

    def find(self, memory_id: str, now: int) -> Memory:
        """Return the memory with this id or ARN."""
        memory = self._memories.get(_bare_id(memory_id))
        is_foreign = memory is not None and memory_id.startswith("arn:") and memory.arn != memory_id
        if memory is None or memory.is_gone(now) or is_foreign:
            raise not_found("Memory", memory_id)
        return memory

    def usable(self, memory_id: str, now: int) -> Memory:
        """Return a memory that takes requests of the data plane."""
        memory = self.find(memory_id, now)
        if (status := memory.status(now)) not in {"ACTIVE", "UPDATING"}:
            msg = f"memory {memory.memory_id} is not active: its status is {status}"
            raise invalid(msg, reason="ResourceConflict")
        return memory


def _bare_id(memory_id: str) -> str:
    return memory_id.rpartition("/")[2]
