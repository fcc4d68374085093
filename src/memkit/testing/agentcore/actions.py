"""What a fault may do to a call, and the faults that refuse it or spoil its transport."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, get_args

from memkit.testing.agentcore.errors import Reason, ServiceError, invalid
from memkit.testing.agentcore.replies import DROPPED, HTML_TYPE, InterceptedError, Reply, html_reply

if TYPE_CHECKING:
    from collections.abc import Callable

    from memkit.testing.agentcore.calls import Call
    from memkit.testing.agentcore.extraction import Job
    from memkit.testing.agentcore.values import Members


class Action:
    """Does nothing; each fault overrides the moment at which it strikes."""

    drifts: ClassVar[bool] = False  # a drifting answer leaves the model, so it is not checked

    def before(self, call: Call) -> None:
        """Strike before the call is looked up among those already answered."""

    def around(self, call: Call, handle: Callable[[Call], Members]) -> Members:
        """Strike in place of the handling."""
        return handle(call)

    def redraw(self, call: Call, answer: Members) -> Members:  # noqa: ARG002 - for overriding
        """Strike at the members of the answer."""
        return answer

    def deliver(self, reply: Reply) -> Reply:
        """Strike at the bytes of the answer."""
        return reply

    def tamper(self, job: Job) -> None:
        """Strike at an extraction that is to come."""


@dataclass(frozen=True)
class Refuse(Action):
    """Refuses with a code of the model; nothing is done."""

    code: str
    message: str = "injected"

    def before(self, call: Call) -> None:
        """Raise the error."""
        raise ServiceError(self.code, f"{self.message}: {call.operation.name}")


@dataclass(frozen=True)
class RefuseAsInvalid(Action):
    """Refuses with a ValidationException of a chosen reason."""

    reason: Reason = "FieldValidationFailed"

    def __post_init__(self) -> None:
        """Refuse a reason that the model does not have."""
        if self.reason not in get_args(Reason):
            raise ValueError(self.reason)

    def before(self, call: Call) -> None:
        """Raise the error."""
        message = f"injected: {call.operation.name}"
        raise invalid(message, reason=self.reason, fields=[("injected", message)])


@dataclass(frozen=True)
class Intercept(Action):
    """Answers HTML in place of the service, as proxies do; nothing is done."""

    status: int
    text: str

    def before(self, call: Call) -> None:
        """Answer at once."""
        raise InterceptedError(html_reply(self.status, f"{self.text}: {call.operation.name}"))


@dataclass(frozen=True)
class CloseBefore(Action):
    """Closes the connection; nothing is done."""

    def before(self, call: Call) -> None:  # noqa: ARG002 - overrides
        """Drop the call."""
        raise InterceptedError(DROPPED)


@dataclass(frozen=True)
class CloseAfter(Action):
    """Closes the connection after all was done: the answer is lost."""

    def deliver(self, reply: Reply) -> Reply:
        """Drop the answer."""
        return replace(reply, dropped=True)


@dataclass(frozen=True)
class Slow(Action):
    """Answers after some real seconds."""

    seconds: float = 1.0

    def deliver(self, reply: Reply) -> Reply:
        """Delay the answer."""
        return replace(reply, delay=self.seconds)


@dataclass(frozen=True)
class Trickle(Action):
    """Sends the body a few bytes at a time, with a real pause between them."""

    pause: float = 0.01

    def deliver(self, reply: Reply) -> Reply:
        """Slow the bytes down."""
        return replace(reply, trickle=self.pause)


@dataclass(frozen=True)
class EmptyBody(Action):
    """Answers success without a body; what was asked is done."""

    def deliver(self, reply: Reply) -> Reply:
        """Drop the body."""
        return replace(reply, body=b"")


@dataclass(frozen=True)
class TruncatedJson(Action):
    """Answers success with the first half of the body; what was asked is done."""

    def deliver(self, reply: Reply) -> Reply:
        """Cut the body."""
        return replace(reply, body=reply.body[: len(reply.body) // 2])


@dataclass(frozen=True)
class InvalidJson(Action):
    """Answers success with a body that is not JSON; what was asked is done."""

    def deliver(self, reply: Reply) -> Reply:
        """Replace the body."""
        return replace(reply, body=b"<<<not json>>>")


@dataclass(frozen=True)
class WrongContentType(Action):
    """Calls the body HTML, although it is not."""

    def deliver(self, reply: Reply) -> Reply:
        """Change the header."""
        return replace(reply, content_type=HTML_TYPE)
