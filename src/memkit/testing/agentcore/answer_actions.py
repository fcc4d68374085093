"""Faults that change what a call finds, or the members of its answer."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, ClassVar

from memkit.testing.agentcore.actions import Action
from memkit.testing.agentcore.errors import invalid_field
from memkit.testing.agentcore.record_writes import failed_record, id_of_failed
from memkit.testing.agentcore.values import Json, Members, Params, as_list, as_members

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from memkit.testing.agentcore.calls import Call
    from memkit.testing.agentcore.shapes import Shape

RESULTS = ("successfulRecords", "failedRecords")


@dataclass(frozen=True)
class PartialBatch(Action):
    """Fails chosen records of a batch, by request identifier or record id; else the first."""

    records: Sequence[str] = ()
    code: int = 500
    whole: bool = False

    def around(self, call: Call, handle: Callable[[Call], Members]) -> Members:
        """Handle the other records, and report the chosen ones as failed."""
        if "records" not in call.params:
            return handle(call)
        entries = call.params.parts("records")
        chosen = [one for index, one in enumerate(entries) if self._is_chosen(index, one)]
        rest: list[Json] = [one.members for one in entries if one not in chosen]
        call.params = Params({**call.params.members, "records": rest})
        answer = handle(call)
        failed = [self._failed(call, entry) for entry in chosen]
        return {**answer, "failedRecords": [*as_list(answer["failedRecords"]), *failed]}

    def _is_chosen(self, index: int, entry: Params) -> bool:
        if self.whole or not self.records:
            return self.whole or index == 0
        names = (entry.text_or_none("requestIdentifier"), entry.text_or_none("memoryRecordId"))
        return any(name in self.records for name in names)

    def _failed(self, call: Call, entry: Params) -> Members:
        record_id = entry.text_or_none("memoryRecordId") or id_of_failed(call)
        identifier = entry.text_or_none("requestIdentifier")
        named: Members = {"requestIdentifier": identifier} if identifier else {}
        return {**failed_record(record_id, self.code, "injected"), **named}


@dataclass(frozen=True)
class ShuffledResults(Action):
    """Returns the results of a batch in another order than they were asked in."""

    seed: int = 0

    def redraw(self, call: Call, answer: Members) -> Members:  # noqa: ARG002 - overrides
        """Shuffle both lists; two or more results never keep their order."""
        shuffled: Members = {
            name: [*_disordered(as_list(answer[name]), self.seed)]
            for name in RESULTS
            if name in answer
        }
        return {**answer, **shuffled}


@dataclass(frozen=True)
class StaleRead(Action):
    """Shows records and events as they were some virtual seconds ago."""

    seconds: float = 60.0

    def around(self, call: Call, handle: Callable[[Call], Members]) -> Members:
        """Read the past."""
        call.staleness += int(self.seconds * 1_000)
        return handle(call)


@dataclass(frozen=True)
class DeletedStillListed(Action):
    """Shows deleted records as if they were there."""

    def around(self, call: Call, handle: Callable[[Call], Members]) -> Members:
        """Overlook deletions."""
        call.shows_deleted = True
        return handle(call)


@dataclass(frozen=True)
class EmptyPage(Action):
    """Answers an empty page whose token continues where the request would have begun."""

    def around(self, call: Call, handle: Callable[[Call], Members]) -> Members:
        """Answer without looking."""
        if not _is_paged(call):
            return handle(call)
        token = call.params.text_or_none("nextToken") or call.pager().token_after(())
        return {_list_member(call.operation.answer): [], "nextToken": token}


@dataclass(frozen=True)
class RepeatedToken(Action):
    """Hands out the token that the request came with, or one for the first page."""

    def redraw(self, call: Call, answer: Members) -> Members:
        """Replace the token."""
        if not _is_paged(call):
            return answer
        token = call.params.text_or_none("nextToken") or call.pager().token_after(())
        return {**answer, "nextToken": token}


@dataclass(frozen=True)
class ExpiredToken(Action):
    """Refuses requests that carry a token."""

    def before(self, call: Call) -> None:
        """Refuse the token."""
        if "nextToken" in call.params:
            raise invalid_field("nextToken", "has expired")


@dataclass(frozen=True)
class UnknownMember(Action):
    """Adds a member that the client's model does not know, to every structure."""

    drifts: ClassVar[bool] = True

    def redraw(self, call: Call, answer: Members) -> Members:
        """Add the member."""

        def change(shape: Shape, value: Json) -> Json:
            if shape.kind == "structure" and not shape.is_union and isinstance(value, dict):
                return {**value, "addedLater": {"note": "unknown to this client"}}
            return value

        return as_members(_redrawn(call.operation.answer, answer, change))


@dataclass(frozen=True)
class UnknownUnionMember(Action):
    """Puts a member that the client's model does not know into every union."""

    drifts: ClassVar[bool] = True

    def redraw(self, call: Call, answer: Members) -> Members:
        """Replace the unions."""

        def change(shape: Shape, value: Json) -> Json:
            return {"addedLater": {}} if shape.is_union else value

        return as_members(_redrawn(call.operation.answer, answer, change))


@dataclass(frozen=True)
class MissingMember(Action):
    """Leaves members out, wherever they stand: `metadata` unless another is named."""

    member: str = "metadata"
    drifts: ClassVar[bool] = True

    def redraw(self, call: Call, answer: Members) -> Members:
        """Remove the member."""

        def change(shape: Shape, value: Json) -> Json:
            if shape.kind == "structure" and isinstance(value, dict):
                return {name: part for name, part in value.items() if name != self.member}
            return value

        return as_members(_redrawn(call.operation.answer, answer, change))


@dataclass(frozen=True)
class IsoTimestamps(Action):
    """Writes times as ISO texts in place of numbers."""

    drifts: ClassVar[bool] = True

    def redraw(self, call: Call, answer: Members) -> Members:
        """Rewrite the times."""

        def change(shape: Shape, value: Json) -> Json:
            if shape.kind == "timestamp" and isinstance(value, int | float):
                return datetime.fromtimestamp(value, UTC).isoformat().replace("+00:00", "Z")
            return value

        return as_members(_redrawn(call.operation.answer, answer, change))


@dataclass(frozen=True)
class NullBlob(Action):
    """Turns every payload item into a null blob, on which botocore's parser fails."""

    drifts: ClassVar[bool] = True
    shape: str = field(default="PayloadType", init=False)

    def redraw(self, call: Call, answer: Members) -> Members:
        """Replace the payload."""

        def change(shape: Shape, value: Json) -> Json:
            return {"blob": None} if shape.name == self.shape else value

        return as_members(_redrawn(call.operation.answer, answer, change))


def _redrawn(shape: Shape, value: Json, change: Callable[[Shape, Json], Json]) -> Json:
    """Return a value changed from the leaves to the root."""
    if isinstance(value, dict) and shape.kind == "structure" and not shape.is_document:
        parts = {
            name: _redrawn(shape.members[name].shape, part, change)
            for name, part in value.items()
            if name in shape.members
        }
        return change(shape, parts)
    element = shape.element
    if isinstance(value, dict) and element is not None:
        return change(
            shape, {name: _redrawn(element, part, change) for name, part in value.items()}
        )
    if isinstance(value, list) and element is not None:
        return change(shape, [_redrawn(element, part, change) for part in value])
    return change(shape, value)


def _is_paged(call: Call) -> bool:
    return "nextToken" in call.operation.answer.members


def _list_member(answer: Shape) -> str:
    return next(name for name, member in answer.members.items() if member.shape.kind == "list")


def _disordered(results: list[Json], seed: int) -> list[Json]:
    shuffled = list(results)
    random.Random(seed).shuffle(shuffled)  # noqa: S311 - repeatable by its seed
    return shuffled if shuffled != results else shuffled[::-1]
