"""Control requests below /_emu/: clock, switches, faults, log, for clients of any language."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memkit.testing.agentcore.fault_groups import GROUPS
from memkit.testing.agentcore.members import new_members
from memkit.testing.agentcore.models import load_operations
from memkit.testing.agentcore.replies import Reply, json_reply
from memkit.testing.agentcore.values import Json, Members, as_members, parse_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from memkit.testing.agentcore.log import LoggedRequest
    from memkit.testing.agentcore.service import Service

PREFIX = "/_emu/"
RULE_MEMBERS = frozenset(
    {"operation", "fault", "options", "match", "nth", "times", "probability", "seed"}
)


class Controls:
    """Answers the control requests of one service."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._answers: Mapping[tuple[str, str], Callable[[Members], Json]] = {
            ("GET", "health"): self._health,
            ("GET", "clock"): self._clock,
            ("POST", "clock"): self._advance,
            ("GET", "switches"): self._switches,
            ("POST", "switches"): self._switch,
            ("GET", "faults"): self._faults,
            ("POST", "faults"): self._add_fault,
            ("DELETE", "faults"): self._clear_faults,
            ("GET", "log"): self._log,
            ("DELETE", "log"): self._clear_log,
            ("POST", "reset"): self._reset,
        }

    def answer(self, request: LoggedRequest) -> Reply:
        """Answer one control request."""
        name = request.target.removeprefix(PREFIX).strip("/")
        found = self._answers.get((request.method, name))
        if found is None:
            known = ", ".join(f"{method} {PREFIX}{path}" for method, path in self._answers)
            return json_reply(404, {"error": f"there are: {known}"})
        try:
            return json_reply(200, {name: found(as_members(parse_json(request.body or b"{}")))})
        except (ValueError, TypeError, KeyError, OverflowError) as exc:
            return json_reply(400, {"error": str(exc)})

    def _health(self, _: Members) -> Json:
        groups: Members = {group: _texts(faults) for group, faults in GROUPS.items()}
        return {
            "status": "ok",
            "operations": _texts(sorted(load_operations())),
            "faults": groups,
            "unknown_members": _texts(new_members()),
            "crashes": _texts(self._service.crashes),
        }

    def _clock(self, _: Members) -> Json:
        return self._service.clock.now()

    def _advance(self, asked: Members) -> Json:
        seconds = asked["advance"]
        if isinstance(seconds, bool) or not isinstance(seconds, int | float):
            msg = "advance takes a number of seconds"
            raise TypeError(msg)
        return self._service.clock.advance(seconds)

    def _switches(self, _: Members) -> Json:
        switches = self._service.switches
        return {name: getattr(switches, name) for name in switches.names()}

    def _switch(self, asked: Members) -> Json:
        self._service.switches.update(**asked)
        return self._switches(asked)

    def _faults(self, _: Members) -> Json:
        return [rule.shown_as() for rule in self._service.faults.rules]

    def _add_fault(self, asked: Members) -> Json:
        if unknown := asked.keys() - RULE_MEMBERS:
            msg = f"a rule has no {', '.join(sorted(unknown))}; there are {sorted(RULE_MEMBERS)}"
            raise ValueError(msg)
        rule = self._service.faults.add_from(asked)
        return rule.shown_as()

    def _clear_faults(self, _: Members) -> Json:
        self._service.faults.clear()
        return []

    def _log(self, _: Members) -> Json:
        return [request.shown_as() for request in self._service.log.all()]

    def _clear_log(self, _: Members) -> Json:
        self._service.log.clear()
        return []

    def _reset(self, _: Members) -> Json:
        self._service.reset()
        return True


def _texts(names: Iterable[str]) -> Json:
    return [*names]
