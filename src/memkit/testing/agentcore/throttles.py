"""Throttles: the published quotas as token buckets, per account and per actor and session."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from memkit.testing.agentcore.errors import throttled
from memkit.testing.agentcore.values import Params

if TYPE_CHECKING:
    from memkit.testing.agentcore.switches import Switches

OTHER_RATE = 20.0
ACCOUNT_RATES = {
    "CreateMemory": 3.0,
    "UpdateMemory": 3.0,
    "DeleteMemory": 3.0,
    "GetMemory": 50.0,
    "ListMemories": 5.0,
    "CreateEvent": 200.0,
    "ListEvents": 200.0,
    "RetrieveMemoryRecords": 30.0,
    "ListMemoryRecords": 30.0,
}
SESSION_RATES = {"DeleteEvent": 5.0, "ListEvents": 20.0}
BLOB_EVENT_RATE = 10.0


class Bucket(NamedTuple):
    """What is left of a rate at a moment."""

    left: float
    at: int


class Throttles:
    """All buckets; each holds one second's worth and refills on the virtual clock."""

    def __init__(self) -> None:
        self._buckets: dict[tuple[str, ...], Bucket] = {}

    def clear(self) -> None:
        """Fill every bucket."""
        self._buckets.clear()

    def admit(self, operation: str, params: Params, now: int, switches: Switches) -> None:
        """Take one from each bucket of a call; an empty one throttles it."""
        wanted: dict[tuple[str, ...], float] = {
            (operation,): ACCOUNT_RATES.get(operation, OTHER_RATE)
        }
        rate = _session_rate(operation, params, switches)
        if rate is not None and "sessionId" in params:
            names = ("memoryId", "actorId", "sessionId")
            wanted[operation, *(params.text(name) for name in names)] = rate
        filled = {key: self._filled(key, rate, now) for key, rate in wanted.items()}
        for key, left in filled.items():
            if left < 1:
                msg = f"Rate of {wanted[key]:g} per second exceeded for {operation}"
                raise throttled(msg)
        for key, left in filled.items():
            self._buckets[key] = Bucket(left - 1, now)

    def _filled(self, key: tuple[str, ...], rate: float, now: int) -> float:
        capacity = max(1.0, rate)
        bucket = self._buckets.get(key, Bucket(capacity, now))
        return min(capacity, bucket.left + rate * (now - bucket.at) / 1_000)


def _session_rate(operation: str, params: Params, switches: Switches) -> float | None:
    if operation != "CreateEvent":
        return SESSION_RATES.get(operation)
    has_speech = any("conversational" in part for part in params.parts("payload"))
    return switches.conv_rate if has_speech else BLOB_EVENT_RATE
