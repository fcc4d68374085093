"""Faults: rules that say which calls go wrong, and how."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING

from memkit.testing.agentcore.fault_groups import FAULTS
from memkit.testing.agentcore.models import EXPECTED
from memkit.testing.agentcore.values import Json, Members, Params, as_members

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from memkit.testing.agentcore.actions import Action

EXTRACTION = "Extraction"


@dataclass(kw_only=True)
class Rule:
    """Which calls an action applies to. Every condition that is given must hold.

    `match` compares parameters, nested ones by dotted path; `nth` counts the calls that match
    from 1; `times` ends the rule after so many applications.
    """

    operation: str
    fault: str
    action: Action
    match: Mapping[str, Json] = field(default_factory=dict)
    when: Callable[[Members], bool] | None = None
    nth: int | None = None
    times: int | None = None
    probability: float = 1.0
    seed: int = 0
    matched: int = 0
    applied: int = 0

    def __post_init__(self) -> None:
        """Refuse an operation that does not exist; start the rule's own random numbers."""
        if self.operation not in {"*", EXTRACTION, *EXPECTED}:
            msg = f"no operation is called {self.operation!r}"
            raise ValueError(msg)
        self._random = random.Random(self.seed)  # noqa: S311 - repeatable by its seed

    def applies(self, operation: str, params: Members) -> bool:
        """Count a call, and tell whether it goes wrong."""
        if not self._fits(operation, params):
            return False
        self.matched += 1
        is_turn = self.nth in (None, self.matched) and self.applied != self.times
        if not is_turn or self._random.random() >= self.probability:
            return False
        self.applied += 1
        return True

    def _fits(self, operation: str, params: Members) -> bool:
        # An extraction is no call: "*" means the calls of clients only.
        if self.operation != operation and (self.operation != "*" or operation == EXTRACTION):
            return False
        if any(_member(params, path) != value for path, value in self.match.items()):
            return False
        return self.when is None or self.when(params)

    def shown_as(self) -> Members:
        """Return the rule as JSON."""
        return {
            "operation": self.operation,
            "fault": self.fault,
            "match": dict(self.match),
            "nth": self.nth,
            "times": self.times,
            "probability": self.probability,
            "matched": self.matched,
            "applied": self.applied,
        }


class Faults:
    """The rules in force, in the order they were added."""

    def __init__(self) -> None:
        self.rules: list[Rule] = []

    def add(  # noqa: PLR0913 - the conditions of a rule, all optional and by keyword
        self,
        operation: str,
        fault: str,
        *,
        match: Mapping[str, Json] | None = None,
        when: Callable[[Members], bool] | None = None,
        nth: int | None = None,
        times: int | None = None,
        probability: float = 1.0,
        seed: int = 0,
        **options: object,
    ) -> Rule:
        """Have calls of an operation ("*": of any) go wrong; options belong to the fault."""
        rule = Rule(
            operation=operation,
            fault=fault,
            action=_made(fault, options),
            match=match or {},
            when=when,
            nth=nth,
            times=times,
            probability=probability,
            seed=seed,
        )
        self.rules.append(rule)
        return rule

    def add_from(self, asked: Members) -> Rule:
        """Add a rule that came as JSON."""
        params = Params(asked)
        fault = params.text("fault")
        rule = Rule(
            operation=params.text("operation"),
            fault=fault,
            action=_made(fault, params.part("options").members),
            match=params.part("match").members,
            nth=params.whole("nth", 1) if "nth" in params else None,
            times=params.whole("times", 1) if "times" in params else None,
            probability=float(str(asked.get("probability", 1.0))),
            seed=params.whole("seed", 0),
        )
        self.rules.append(rule)
        return rule

    def clear(self) -> None:
        """Have nothing go wrong any more."""
        self.rules.clear()

    def select(self, operation: str, params: Members) -> list[Action]:
        """Return what befalls one call."""
        return [rule.action for rule in list(self.rules) if rule.applies(operation, params)]


LARGEST = timedelta(days=36_500).total_seconds()
"""Of a number among the options: a century, where it is of seconds."""


def _made(fault: str, options: Mapping[str, object]) -> Action:
    if fault not in FAULTS:
        msg = f"no fault is called {fault!r}; there are {', '.join(FAULTS)}"
        raise ValueError(msg)
    try:
        action = FAULTS[fault].make(**options)
    except TypeError as exc:
        msg = f"fault {fault} does not take these options: {', '.join(options) or 'none'}"
        raise ValueError(msg) from exc
    for name, value in options.items():
        default = getattr(type(action), name, "")
        if not _resembles(value, default):
            msg = f"option {name} of fault {fault} cannot be {value!r}; usually it is {default!r}"
            raise ValueError(msg)
    return action


def _resembles(value: object, default: object) -> bool:
    if isinstance(default, bool) or isinstance(value, bool):
        return isinstance(default, bool) and isinstance(value, bool)
    if isinstance(default, float):
        return isinstance(value, int | float) and abs(value) <= LARGEST
    if isinstance(default, int):
        return isinstance(value, int) and abs(value) <= LARGEST
    if isinstance(default, tuple):
        return isinstance(value, list | tuple)
    return isinstance(value, str) or (default is None and value is None)


def _member(params: Members, path: str) -> Json:
    value: Json = params
    for name in path.split("."):
        value = as_members(value).get(name)
    return value
