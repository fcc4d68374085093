"""The operations that write and delete records."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from memkit.testing.agentcore.errors import invalid_field, not_found
from memkit.testing.agentcore.metadata import check_writable, kept, type_clash
from memkit.testing.agentcore.namespaces import kept_form
from memkit.testing.agentcore.records import Record, Version

if TYPE_CHECKING:
    from collections.abc import Callable

    from memkit.testing.agentcore.calls import Call
    from memkit.testing.agentcore.memories import Memory
    from memkit.testing.agentcore.values import Members, Params

PLACEHOLDER_ID = "mem-" + "0" * 36
BAD_REQUEST = 400
NOT_FOUND = 404


class RecordError(Exception):
    """One record of a batch fails; the others go on."""

    def __init__(self, record_id: str, code: int, message: str) -> None:
        super().__init__(message)
        self.record_id = record_id
        self.code = code
        self.message = message


def batch_create_memory_records(call: Call) -> Members:
    """Create records; their ids are minted here."""
    if "action" in call.params.part("recordExpirySpecification"):
        raise invalid_field("recordExpirySpecification.action", "only updates can remove a life")
    for entry in call.params.parts("records"):
        _check(call, entry)
        if not entry.texts("namespaces") and call.switches.empty_namespaces == "reject":
            raise invalid_field("records.namespaces", "must not be empty")
    return _batch(call, _create)


def batch_update_memory_records(call: Call) -> Members:
    """Update records; a life that is not mentioned starts again."""
    for entry in call.params.parts("records"):
        _check(call, entry)
    _check_all_found(call)
    return _batch(call, _update)


def batch_delete_memory_records(call: Call) -> Members:
    """Delete records."""
    _check_all_found(call)
    return _batch(call, _delete)


def delete_memory_record(call: Call) -> Members:
    """Delete one record; the namespace of the request is for IAM only."""
    memory, record_id = call.memory(), call.params.text("memoryRecordId")
    if _known(call, memory, record_id) is None:
        raise not_found("Memory record", record_id)
    return {"memoryRecordId": _delete(call, memory, call.params)}


def _batch(call: Call, write: Callable[[Call, Memory, Params], str]) -> Members:
    memory = call.memory()
    done: list[Members] = []
    failed: list[Members] = []
    for entry in call.params.parts("records"):
        identifier = entry.text_or_none("requestIdentifier")
        named: Members = {"requestIdentifier": identifier} if identifier else {}
        try:
            record_id = write(call, memory, entry)
            done.append({"memoryRecordId": record_id, "status": "SUCCEEDED", **named})
        except RecordError as error:
            failed.append({**failed_record(error.record_id, error.code, error.message), **named})
    return {"successfulRecords": [*done], "failedRecords": [*failed]}


def failed_record(record_id: str, code: int, message: str) -> Members:
    """Return how a batch answers for one record that failed."""
    return {
        "memoryRecordId": record_id,
        "status": "FAILED",
        "errorCode": code,
        "errorMessage": message,
    }


def id_of_failed(call: Call) -> str:
    """Return the id that stands in the answer for a record that was never made."""
    return call.mint.record_id() if call.switches.failed_record_id == "minted" else PLACEHOLDER_ID


def _create(call: Call, memory: Memory, entry: Params) -> str:
    strategy_id = _strategy_id(call, memory, entry)
    if (clash := type_clash(entry.part("metadata").members, memory)) is not None:
        raise RecordError(id_of_failed(call), BAD_REQUEST, clash)
    version = Version(
        record_id=call.mint.record_id(),
        created_at=call.now,
        record_type="BASE",
        written_at=call.now,
        text=entry.part("content").text("text"),
        namespaces=_namespaces(call, entry),
        timestamp=entry.moment("timestamp"),
        strategy_id=strategy_id,
        metadata=kept(entry.part("metadata").members, memory, strategy_id),
        indexed=frozenset(memory.index_types()),
        expiry_days=_expiry(call, None),
        by_client=True,
    )
    memory.records[version.record_id] = Record([version])
    return version.record_id


def _update(call: Call, memory: Memory, entry: Params) -> str:
    old = _known_or_failed(call, memory, entry)
    strategy_id = _strategy_id(call, memory, entry) or old.strategy_id
    metadata = kept(_metadata(call, entry, old), memory, strategy_id)
    if (clash := type_clash(metadata, memory)) is not None:
        raise RecordError(old.record_id, BAD_REQUEST, clash)
    version = replace(
        old,
        written_at=call.now,
        text=entry.part("content").text("text", old.text),
        namespaces=_namespaces(call, entry) if "namespaces" in entry else old.namespaces,
        timestamp=entry.moment("timestamp"),
        strategy_id=strategy_id,
        metadata=metadata,
        indexed=frozenset(memory.index_types()),
        expiry_days=_expiry(call, old.expiry_days),
        by_client=True,
    )
    memory.records[old.record_id].write(version)
    return old.record_id


def _delete(call: Call, memory: Memory, entry: Params) -> str:
    old = _known_or_failed(call, memory, entry)
    deletion = replace(old, written_at=call.now, deleted=True)
    memory.records[old.record_id].write(deletion)
    return old.record_id


def _check(call: Call, entry: Params) -> None:
    check_writable(entry.part("metadata"), system_keys_count=call.switches.system_keys_count)
    _namespaces(call, entry)


def _check_all_found(call: Call) -> None:
    if call.switches.not_found_in_batch == "per_record":
        return
    memory = call.memory()
    for entry in call.params.parts("records"):
        record_id = entry.text("memoryRecordId")
        if _known(call, memory, record_id) is None:
            raise not_found("Memory record", record_id)


def _known_or_failed(call: Call, memory: Memory, entry: Params) -> Version:
    record_id = entry.text("memoryRecordId")
    version = _known(call, memory, record_id)
    if version is None:
        raise RecordError(record_id, NOT_FOUND, f"Memory record not found: {record_id}")
    return version


def _known(call: Call, memory: Memory, record_id: str) -> Version | None:
    """Return the newest version, if the record itself is old enough to be found."""
    record = memory.records.get(record_id)
    until = call.seen_until(call.switches.record_update_lag)
    if record is None or record.versions[0].created_at > until:
        return None
    return record.seen(call.now, call.now)


def _strategy_id(call: Call, memory: Memory, entry: Params) -> str | None:
    strategy_id = entry.text_or_none("memoryStrategyId")
    if strategy_id is not None and memory.strategy(strategy_id) is None:
        record_id = entry.text_or_none("memoryRecordId") or id_of_failed(call)
        raise RecordError(record_id, NOT_FOUND, f"Strategy not found: {strategy_id}")
    return strategy_id


def _namespaces(call: Call, entry: Params) -> tuple[str, ...]:
    mode = call.switches.namespace_mode
    try:
        return tuple(kept_form(namespace, mode) for namespace in entry.texts("namespaces"))
    except ValueError as exc:
        raise invalid_field("records.namespaces", str(exc)) from exc


def _metadata(call: Call, entry: Params, old: Version) -> Members:
    given = entry.part("metadata").members
    if "metadata" not in entry:
        return old.metadata
    return {**old.metadata, **given} if call.switches.metadata_update == "merge" else given


def _expiry(call: Call, before: int | None) -> int | None:
    specification = call.params.part("recordExpirySpecification")
    if "recordExpiryDurationDays" in specification:
        return specification.whole("recordExpiryDurationDays", 0)
    return None if "action" in specification else before
