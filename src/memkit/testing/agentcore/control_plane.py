"""The five operations of the control plane."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from memkit.testing.agentcore.errors import (
    conflict,
    invalid,
    invalid_field,
    not_found,
    quota_exceeded,
)
from memkit.testing.agentcore.memories import IndexedKey, Memory
from memkit.testing.agentcore.namespace_variables import check_rule
from memkit.testing.agentcore.strategies import (
    Strategy,
    check_schema,
    check_templates,
    expiry_days,
    given_templates,
    strategy_from,
)
from memkit.testing.agentcore.values import Members, Params, as_members

if TYPE_CHECKING:
    from collections.abc import Iterable

    from memkit.testing.agentcore.calls import Call

MOST_MEMORIES = 150
MOST_STRATEGIES = 6
MOST_INDEXED_KEYS = 10
EXPIRY_RANGES = {"model": (3, 3_650), "documented": (7, 3_650), "quota": (7, 365)}
UNIONS = frozenset(
    {
        *("extraction", "consolidation", "reflection"),
        *("customExtractionConfiguration", "customConsolidationConfiguration"),
        "customReflectionConfiguration",
    }
)
SETTINGS = (
    "description",
    "encryptionKeyArn",
    "memoryExecutionRoleArn",
    "namespaceKeys",
    "streamDeliveryResources",
    "tags",
)


def create_memory(call: Call) -> Members:
    """Create a memory; it is CREATING in the answer."""
    name = call.params.text("name")
    _check_name(call, name)
    memory = Memory(
        memory_id=call.mint.suffixed(name),
        name=name,
        region=call.region,
        expiry_days=_event_expiry(call),
        created_at=call.now,
        updated_at=call.now,
        passing="CREATING",
        ready_at=call.now + call.switches.create_delay * 1_000,
        settings=_settings(call.params),
    )
    _index(memory, call.params.parts("indexedKeys"))
    _add_strategies(call, memory, call.params.parts("memoryStrategies"))
    _check_strategies(call, memory.strategies, memory)
    call.shelf.add(memory)
    return {"memory": memory.shown_as(call.now, "CREATING")}


def get_memory(call: Call) -> Members:
    """Return a memory."""
    return {"memory": _memory(call).shown_as(call.now)}


def list_memories(call: Call) -> Members:
    """List memories, oldest first; names are not shown."""
    if call.params.whole("maxResults", 1) > call.switches.list_memories_max:
        limit = call.switches.list_memories_max
        raise invalid_field("maxResults", f"must have value less than or equal to {limit}")
    memories = sorted(call.shelf.all(call.now), key=_age)
    page = call.pager(default=call.switches.list_memories_default).cut(memories, _age)
    return {"memories": [memory.summary(call.now) for memory in page.elements], **page.members()}


def update_memory(call: Call) -> Members:
    """Change a memory; either everything in the request is done or nothing."""
    memory, params = _memory(call), call.params
    _check_settled(memory, call.now)
    expiry = _event_expiry(call) if "eventExpiryDuration" in params else memory.expiry_days
    draft = replace(
        memory,
        strategies=[*memory.strategies],
        indexed_keys=[*memory.indexed_keys],
        settings={**memory.settings, **_settings(params)},
    )
    _index(draft, params.parts("addIndexedKeys"))
    changed = _change_strategies(call, draft, params.part("memoryStrategies"))
    _check_strategies(call, changed, draft)
    memory.expiry_days = expiry
    memory.settings, memory.indexed_keys = draft.settings, draft.indexed_keys
    memory.strategies = draft.strategies
    memory.pass_through("UPDATING", call.now, call.switches.update_delay)
    return {"memory": memory.shown_as(call.now, "UPDATING")}


def delete_memory(call: Call) -> Members:
    """Delete a memory; one in transition is refused."""
    memory = _memory(call)
    _check_settled(memory, call.now)
    memory.failure_reason = None
    memory.pass_through("DELETING", call.now, call.switches.delete_delay)
    return {"memoryId": memory.memory_id, "status": "DELETING"}


def _memory(call: Call) -> Memory:
    return call.shelf.find(call.params.text("memoryId"), call.now)


def _age(memory: Memory) -> tuple[int, str]:
    return memory.created_at, memory.memory_id


def _check_name(call: Call, name: str) -> None:
    memories = call.shelf.all(call.now)
    if any(memory.name == name for memory in memories):
        msg = f"Memory with name {name} already exists"
        if call.switches.duplicate_name == "ConflictException":
            raise conflict(msg)
        raise invalid(msg, reason="ResourceConflict")
    if len(memories) >= MOST_MEMORIES:
        msg = f"an account has at most {MOST_MEMORIES} memories"
        raise quota_exceeded(msg)


def _check_settled(memory: Memory, now: int) -> None:
    if (status := memory.status(now)) in {"CREATING", "UPDATING", "DELETING"}:
        msg = f"Memory {memory.memory_id} is in transitional state {status}"
        raise invalid(msg, reason="ResourceConflict")


def _event_expiry(call: Call) -> int:
    days = call.params.whole("eventExpiryDuration", 0)
    low, high = EXPIRY_RANGES[call.switches.event_expiry_range]
    if not low <= days <= high:
        raise invalid_field("eventExpiryDuration", f"must be between {low} and {high} days")
    return days


def _settings(params: Params) -> Members:
    for entry in params.parts("namespaceKeys"):
        check_rule(entry.part("validation"))
    return {name: params.members[name] for name in SETTINGS if name in params}


def _index(memory: Memory, added: Iterable[Params]) -> None:
    for entry in added:
        key = IndexedKey(entry.text("key"), entry.text("type"))
        if key.key in memory.index_types():
            raise invalid_field("indexedKeys", f"{key.key} is indexed already")
        memory.indexed_keys.append(key)
    if len(memory.indexed_keys) > MOST_INDEXED_KEYS:
        raise invalid_field("indexedKeys", f"a memory has at most {MOST_INDEXED_KEYS}")


def _add_strategies(call: Call, memory: Memory, added: Iterable[Params]) -> list[Strategy]:
    new: list[Strategy] = []
    delay = call.switches.update_delay if memory.strategies else call.switches.create_delay
    for entry in added:
        name = Params(as_members(next(iter(entry.members.values())))).text("name")
        strategy_id = call.mint.suffixed(name)
        new.append(strategy_from(entry, strategy_id, call.now, call.now + delay * 1_000))
    memory.strategies += new
    names = [strategy.name for strategy in memory.strategies]
    if len(set(names)) < len(names):
        raise invalid_field("memoryStrategies", "two strategies have the same name")
    if len(names) > MOST_STRATEGIES:
        msg = f"a memory has at most {MOST_STRATEGIES} strategies"
        raise quota_exceeded(msg)
    return new


def _change_strategies(call: Call, draft: Memory, changes: Params) -> list[Strategy]:
    for entry in changes.parts("deleteMemoryStrategies"):
        draft.strategies.remove(_strategy(draft, entry))
    modified = [_modify(call, draft, entry) for entry in changes.parts("modifyMemoryStrategies")]
    return modified + _add_strategies(call, draft, changes.parts("addMemoryStrategies"))


def _strategy(memory: Memory, entry: Params) -> Strategy:
    strategy_id = entry.text("memoryStrategyId")
    strategy = memory.strategy(strategy_id)
    if strategy is None:
        raise not_found("Strategy", strategy_id)
    return strategy


def _modify(call: Call, draft: Memory, entry: Params) -> Strategy:
    old = _strategy(draft, entry)
    new = replace(old, updated_at=call.now)
    new.description = entry.text_or_none("description") or old.description
    new.templates = given_templates(entry) or old.templates
    if "memoryRecordSchema" in entry:
        new.schema = entry.part("memoryRecordSchema").parts("metadataSchema")
    if "recordExpirySpecification" in entry:
        new.expiry_days = expiry_days(entry)
    new.configuration = _reconfigured(old.configuration, entry.part("configuration").members)
    draft.strategies[draft.strategies.index(old)] = new
    return new


def _reconfigured(old: Members, new: Members) -> Members:
    if "selfManagedConfiguration" in new and "selfManagedConfiguration" not in old:
        raise invalid_field("configuration", "the strategy is not self-managed")
    return _merged(old, new)


def _merged(old: Members, new: Members) -> Members:
    merged = dict(old)
    for name, value in new.items():
        before = as_members(merged.get(name))
        if before and name in UNIONS and before.keys() != as_members(value).keys():
            raise invalid_field("configuration", f"{name} does not fit the type of the strategy")
        merged[name] = _merged(before, as_members(value)) if before else value
    return merged


def _check_strategies(call: Call, strategies: Iterable[Strategy], memory: Memory) -> None:
    known = {entry.text("key") for entry in memory.namespace_keys()}
    for strategy in strategies:
        needs_session = call.switches.summary_needs_session
        check_templates(strategy, known, needs_session=needs_session)
        check_schema(strategy, memory.index_types())
