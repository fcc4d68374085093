"""Namespace variables: what an event may put into the templates of strategies."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memkit.testing.agentcore.errors import invalid_field

if TYPE_CHECKING:
    from memkit.testing.agentcore.memories import Memory
    from memkit.testing.agentcore.values import Params


def check_variables(memory: Memory, params: Params) -> dict[str, str]:
    """Return the variables of a request; each must be declared by the memory and fit."""
    given = params.part("extractionConfig").part("namespaceVariables").members
    declared = {entry.text("key"): entry.part("validation") for entry in memory.namespace_keys()}
    for name, value in given.items():
        if name not in declared:
            raise _wrong(name, "is not a namespace key of the memory")
        if (complaint := _complaint(declared[name], str(value))) is not None:
            raise _wrong(name, complaint)
    return {name: str(value) for name, value in given.items()}


def check_rule(rule: Params) -> None:
    """Refuse a pattern that is none."""
    try:
        re.compile(rule.text("regexPattern", ""))
    except (re.error, OverflowError, RecursionError) as exc:
        raise invalid_field("namespaceKeys.validation.regexPattern", str(exc)) from exc


def _complaint(rule: Params, value: str) -> str | None:
    allowed = rule.texts("allowedValues")
    if allowed and value not in allowed:
        return f"must be one of {', '.join(allowed)}"
    pattern = rule.text_or_none("regexPattern")
    if pattern is not None and not re.fullmatch(pattern, value):
        return f"must match {pattern}"
    return None


def _wrong(name: str, complaint: str) -> Exception:
    return invalid_field(f"extractionConfig.namespaceVariables.{name}", complaint)
