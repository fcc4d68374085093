"""Filters on the metadata of events and of records."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from memkit.testing.agentcore.errors import invalid_field
from memkit.testing.agentcore.metadata import SYSTEM_TYPES
from memkit.testing.agentcore.values import Json, Params, as_list, as_members

if TYPE_CHECKING:
    from collections.abc import Mapping

    from memkit.testing.agentcore.events import Event
    from memkit.testing.agentcore.records import Version

EventPredicate: TypeAlias = "Callable[[Event], bool]"
RecordPredicate: TypeAlias = "Callable[[Version], bool]"
EXISTENCE = frozenset({"EXISTS", "NOT_EXISTS"})


class Rule(NamedTuple):
    """An operator: the types it works on, the operands it takes, and what it compares."""

    types: frozenset[str]
    operands: frozenset[str]
    holds: Callable[[Json, Json], bool]


class Condition(NamedTuple):
    """One expression of a filter."""

    key: str
    operator: str
    operand_kind: str | None
    operand: Json


def _ordered(compare: Callable[[float, float], bool]) -> Callable[[Json, Json], bool]:
    def holds(stored: Json, asked: Json) -> bool:
        is_pair = isinstance(stored, int | float) and isinstance(asked, int | float)
        return is_pair and compare(float(str(stored)), float(str(asked)))

    return holds


def _contains(stored: Json, asked: Json) -> bool:
    wanted = as_list(asked) if isinstance(asked, list) else [asked]
    return all(one in as_list(stored) for one in wanted)


def _numeric(compare: Callable[[float, float], bool]) -> Rule:
    return Rule(frozenset({"NUMBER"}), frozenset({"numberValue"}), _ordered(compare))


def _temporal(compare: Callable[[float, float], bool]) -> Rule:
    return Rule(frozenset({"DATETIME"}), frozenset({"dateTimeValue"}), _ordered(compare))


RULES = {
    "EQUALS_TO": Rule(
        frozenset({"STRING", "NUMBER"}), frozenset({"stringValue", "numberValue"}), operator.eq
    ),
    "CONTAINS": Rule(
        frozenset({"STRINGLIST"}), frozenset({"stringValue", "stringListValue"}), _contains
    ),
    "GREATER_THAN": _numeric(operator.gt),
    "GREATER_THAN_OR_EQUALS": _numeric(operator.ge),
    "LESS_THAN": _numeric(operator.lt),
    "LESS_THAN_OR_EQUALS": _numeric(operator.le),
    "BEFORE": _temporal(operator.lt),
    "AFTER": _temporal(operator.gt),
}
OPERAND_TYPES = {
    "stringValue": {"STRING", "STRINGLIST"},
    "stringListValue": {"STRINGLIST"},
    "numberValue": {"NUMBER"},
    "dateTimeValue": {"DATETIME"},
}
CONTAINS_OPERANDS = {
    "either": {"stringValue", "stringListValue"},
    "string": {"stringValue"},
    "list": {"stringListValue"},
}


def event_predicate(expressions: list[Params]) -> EventPredicate:
    """Return what tells whether an event passes all expressions."""
    conditions = [_condition(expression) for expression in expressions]

    def keeps(event: Event) -> bool:
        return all(_holds(condition, event.metadata) for condition in conditions)

    return keeps


def record_predicate(
    expressions: list[Params], indexed: Mapping[str, str], contains_operand: str
) -> RecordPredicate:
    """Return what tells whether a record passes all expressions; only indexed keys may be asked."""
    conditions = [_condition(expression) for expression in expressions]
    types = {**indexed, **SYSTEM_TYPES}
    for condition in conditions:
        _check(condition, types, contains_operand)

    def keeps(version: Version) -> bool:
        known = version.filterable()
        return all(_holds(condition, known) for condition in conditions)

    return keeps


def _condition(expression: Params) -> Condition:
    name = expression.text("operator")
    right = expression.part("right").part("metadataValue").members
    if (name in EXISTENCE) != (not right):
        wanted = "must not have" if name in EXISTENCE else "needs"
        raise invalid_field("filter.right", f"operator {name} {wanted} a right operand")
    kind, operand = next(iter(right.items()), (None, None))
    return Condition(expression.part("left").text("metadataKey"), name, kind, operand)


def _check(condition: Condition, types: Mapping[str, str], contains_operand: str) -> None:
    type_ = types.get(condition.key)
    if type_ is None:
        raise invalid_field("metadataFilters", f"key {condition.key} is not indexed")
    if condition.operand_kind is None:
        return
    rule = RULES[condition.operator]
    if type_ not in rule.types:
        msg = f"operator {condition.operator} does not work on key {condition.key} of type {type_}"
        raise invalid_field("metadataFilters", msg)
    allowed = set(rule.operands)
    if condition.operator == "CONTAINS":
        allowed &= CONTAINS_OPERANDS[contains_operand]
    if condition.operand_kind not in allowed or type_ not in OPERAND_TYPES[condition.operand_kind]:
        msg = f"operator {condition.operator} on {type_} does not take a {condition.operand_kind}"
        raise invalid_field("metadataFilters", msg)


def _holds(condition: Condition, metadata: Mapping[str, Json]) -> bool:
    value = as_members(metadata.get(condition.key))
    if condition.operand_kind is None:
        return bool(value) == (condition.operator == "EXISTS")
    if not value:
        return False
    return RULES[condition.operator].holds(next(iter(value.values())), condition.operand)
