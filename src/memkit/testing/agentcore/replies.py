"""Replies: what goes back over the wire, and how."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from memkit.testing.agentcore.values import render_json

if TYPE_CHECKING:
    from memkit.testing.agentcore.errors import ServiceError
    from memkit.testing.agentcore.values import Members

JSON_TYPE = "application/json"
HTML_TYPE = "text/html"


@dataclass(frozen=True, kw_only=True)
class Reply:
    """Status, headers and body. Delays are real seconds; `dropped` closes without a word."""

    status: int
    body: bytes = b""
    content_type: str = JSON_TYPE
    headers: dict[str, str] = field(default_factory=dict)
    dropped: bool = False
    delay: float = 0.0
    trickle: float = 0.0


DROPPED = Reply(status=0, dropped=True)


class InterceptedError(Exception):
    """A fault answers in place of the service."""

    def __init__(self, reply: Reply) -> None:
        super().__init__(reply.status)
        self.reply = reply


def json_reply(status: int, members: Members) -> Reply:
    """Return an answer of the service."""
    return Reply(status=status, body=render_json(members))


def html_reply(status: int, text: str) -> Reply:
    """Return what proxies and load balancers answer when the service does not."""
    body = f"<html><body><h1>{text}</h1></body></html>".encode()
    return Reply(status=status, body=body, content_type=HTML_TYPE)


def error_reply(error: ServiceError) -> Reply:
    """Return a refusal of the service."""
    body = render_json(error.members)
    return Reply(status=error.status, body=body, headers={"x-amzn-ErrorType": error.code})
