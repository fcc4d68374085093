"""Client tokens: a call that is repeated with its token is answered as the first time."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from memkit.testing.agentcore.errors import invalid
from memkit.testing.agentcore.values import by_id, canonical

if TYPE_CHECKING:
    from collections.abc import Callable

    from memkit.testing.agentcore.calls import Call
    from memkit.testing.agentcore.values import Members

MOST_TOKENS = 50_000


class Answered(NamedTuple):
    """A call that was answered before."""

    request: str
    answer: Members
    at: int


class ClientTokens:
    """The answers already given, by operation, memory and token."""

    def __init__(self) -> None:
        self._answered: dict[tuple[str, str, str], Answered] = {}

    def clear(self) -> None:
        """Forget every token."""
        self._answered.clear()

    def once(self, call: Call, handle: Callable[[Call], Members]) -> Members:
        """Handle a call, unless its token was seen and has not expired."""
        name = call.operation.client_token
        token = call.params.text_or_none(name) if name else None
        if name is None or token is None:
            return handle(call)
        members = by_id(call.params.members)
        key = call.operation.name, str(members.get("memoryId", "")), token
        asked = {part: value for part, value in members.items() if part != name}
        request = canonical(asked)
        earlier = self._answered.get(key)
        if earlier is not None and not _is_over(earlier, call):
            _check_same(earlier, request, call)
            return earlier.answer
        answer = handle(call)
        self._answered[key] = Answered(request, answer, call.now)
        if len(self._answered) > MOST_TOKENS:
            del self._answered[next(iter(self._answered))]
        return answer


def _is_over(earlier: Answered, call: Call) -> bool:
    life = call.switches.token_ttl
    return life is not None and call.now >= earlier.at + life * 1_000


def _check_same(earlier: Answered, request: str, call: Call) -> None:
    if earlier.request != request and call.switches.token_mismatch == "reject":  # noqa: S105 - a switch
        msg = "the client token was used with other parameters"
        raise invalid(msg, reason="IdempotentParameterMismatchException")
