"""Metadata of records: system keys, and what the service does with what is written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memkit.testing.agentcore.errors import invalid_field
from memkit.testing.agentcore.values import Members, Params, as_members, to_seconds

if TYPE_CHECKING:
    from collections.abc import Mapping

    from memkit.testing.agentcore.memories import Memory

SYSTEM_PREFIX = "x-amz-agentcore-memory-"
CREATED = SYSTEM_PREFIX + "createdAt"
UPDATED = SYSTEM_PREFIX + "updatedAt"
RECORD_TYPE = SYSTEM_PREFIX + "recordType"
SYSTEM_TYPES = {CREATED: "DATETIME", UPDATED: "DATETIME", RECORD_TYPE: "STRING"}
TYPES = {"stringValue": "STRING", "stringListValue": "STRINGLIST", "numberValue": "NUMBER"}
MOST_KEYS = 20


def check_writable(given: Params, *, system_keys_count: bool) -> None:
    """Refuse what no record may be written with: keys and types of the system, too many keys."""
    for key, value in given.members.items():
        if key.startswith(SYSTEM_PREFIX):
            raise invalid_field(f"metadata.{key}", f"the prefix {SYSTEM_PREFIX} is reserved")
        if "dateTimeValue" in as_members(value):
            raise invalid_field(f"metadata.{key}", "dateTimeValue is for system fields only")
    limit = MOST_KEYS - len(SYSTEM_TYPES) * system_keys_count
    if len(given.members) > limit:
        raise invalid_field("metadata", f"at most {limit} keys beside those of the system")


def kept(given: Members, memory: Memory, strategy_id: str | None) -> Members:
    """Return what is stored: under a strategy, keys outside its schema are silently dropped."""
    strategy = memory.strategy(strategy_id) if strategy_id else None
    if strategy is None:
        return given
    known = strategy.schema_keys()
    return {key: value for key, value in given.items() if key in known}


def type_clash(given: Mapping[str, object], memory: Memory) -> str | None:
    """Describe the first value whose type differs from its indexed key's."""
    for key, wanted in memory.index_types().items():
        value = given.get(key)
        found = TYPES.get(next(iter(value))) if isinstance(value, dict) else None
        if found not in (None, wanted):
            return f"metadata key {key} is indexed as {wanted}, not {found}"
    return None


def system_metadata(created_at: int, updated_at: int, record_type: str) -> Members:
    """Return the keys that every record carries."""
    return {
        CREATED: {"dateTimeValue": to_seconds(created_at)},
        UPDATED: {"dateTimeValue": to_seconds(updated_at)},
        RECORD_TYPE: {"stringValue": record_type},
    }
