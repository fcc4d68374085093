"""Faults that change what the emulator holds: extraction, memories, times and events."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from memkit.testing.agentcore.actions import Action
from memkit.testing.agentcore.errors import ServiceError
from memkit.testing.agentcore.values import Params, to_seconds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from memkit.testing.agentcore.calls import Call
    from memkit.testing.agentcore.extraction import Job
    from memkit.testing.agentcore.memories import Memory
    from memkit.testing.agentcore.records import Record
    from memkit.testing.agentcore.values import Members


@dataclass(frozen=True)
class ExtractionDelayed(Action):
    """Runs an extraction later than usual, in virtual seconds."""

    seconds: float = 600.0

    def tamper(self, job: Job) -> None:
        """Put it off."""
        job.due += self.seconds * 1_000


@dataclass(frozen=True)
class ExtractionFails(Action):
    """Lets an extraction fail; it can be seen and started again."""

    failure: str = "injected"

    def tamper(self, job: Job) -> None:
        """Fail it."""
        job.failure = self.failure


@dataclass(frozen=True)
class ExtractionRepeats(Action):
    """Runs an extraction more than once, so that its records are doubled."""

    runs: int = 2

    def tamper(self, job: Job) -> None:
        """Multiply it; 0 runs never happen."""
        job.times = self.runs


@dataclass(frozen=True)
class ExtractionRewrites(Action):
    """Lets an extraction write another text into records that the client made or edited."""

    text: str = "rewritten by extraction"
    record_id: str | None = None

    def tamper(self, job: Job) -> None:
        """Rewrite after the extraction."""

        def rewrite(job: Job, memory: Memory) -> None:
            for record in _client_records(memory, self.record_id):
                record.write(replace(record.newest, text=self.text, written_at=int(job.due)))

        job.mishaps.append(rewrite)


@dataclass(frozen=True)
class ExtractionDeletes(Action):
    """Lets an extraction delete records that the client made or edited."""

    record_id: str | None = None

    def tamper(self, job: Job) -> None:
        """Delete after the extraction."""

        def delete(job: Job, memory: Memory) -> None:
            for record in _client_records(memory, self.record_id):
                record.write(replace(record.newest, deleted=True, written_at=int(job.due)))

        job.mishaps.append(delete)


@dataclass(frozen=True)
class MemoryStuck(Action):
    """Keeps a memory in CREATING for ever."""

    def around(self, call: Call, handle: Callable[[Call], Members]) -> Members:
        """Handle, then get stuck."""
        answer = handle(call)
        for memory in _memories(call, answer):
            memory.get_stuck()
        return answer


@dataclass(frozen=True)
class MemoryFails(Action):
    """Lets a memory fail, with a reason."""

    failure: str = "injected"

    def around(self, call: Call, handle: Callable[[Call], Members]) -> Members:
        """Handle, then fail."""
        answer = handle(call)
        for memory in _memories(call, answer):
            memory.failure_reason = self.failure
        return answer


@dataclass(frozen=True)
class MemoryDeleted(Action):
    """Takes the memory away from under the client."""

    def before(self, call: Call) -> None:
        """Delete it before the call."""
        call.shelf.drop(call.params.text("memoryId", ""))


@dataclass(frozen=True)
class ClockSkew(Action):
    """Moves the event time of a writer, as a wrong clock would."""

    seconds: float = -5.0

    def around(self, call: Call, handle: Callable[[Call], Members]) -> Members:
        """Shift the time before handling."""
        return handle(_timed(call, lambda at: max(0, at + int(self.seconds * 1_000))))


@dataclass(frozen=True)
class SameMillisecond(Action):
    """Gives an event the time of the newest one in its session."""

    def around(self, call: Call, handle: Callable[[Call], Members]) -> Members:
        """Copy the time before handling."""
        if "eventTimestamp" not in call.params:
            return handle(call)
        key = call.params.text("actorId"), call.params.text("sessionId", "")
        session = call.memory().sessions.get(key)
        newest = session.events[0].at if session and session.events else None
        return handle(_timed(call, lambda at: at if newest is None else newest))


@dataclass(frozen=True)
class EventsLost(Action):
    """Ends the life of the events of a session, or of the whole memory, before the call."""

    def before(self, call: Call) -> None:
        """Expire them."""
        wanted = call.params.text_or_none("actorId"), call.params.text_or_none("sessionId")
        with suppress(ServiceError):
            for memory in _memories(call, {}):
                for key, session in memory.sessions.items():
                    if all(name in (None, own) for name, own in zip(wanted, key, strict=True)):
                        session.lose_all(call.now)


def _timed(call: Call, shift: Callable[[int], int]) -> Call:
    if "eventTimestamp" in call.params:
        at = to_seconds(shift(call.params.moment("eventTimestamp")))
        call.params = Params({**call.params.members, "eventTimestamp": at})
    return call


def _memories(call: Call, answer: Members) -> list[Memory]:
    """Return the memory that was made or named, if there is one."""
    shown = Params(answer).part("memory").text_or_none("id")
    memory_id = shown or call.params.text_or_none("memoryId")
    return [call.shelf.find(memory_id, call.now)] if memory_id else []


def _client_records(memory: Memory, record_id: str | None) -> Iterator[Record]:
    for record in list(memory.records.values()):
        newest = record.newest
        is_meant = newest.by_client if record_id is None else record_id == newest.record_id
        if is_meant and not newest.deleted:
            yield record
