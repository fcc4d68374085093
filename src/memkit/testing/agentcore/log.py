"""The request log: what arrived, for assertions."""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from memkit.testing.agentcore.values import Members

SCOPE = re.compile(r"Credential=[^/]+/[^/]+/([^/]+)/([^/]+)/")
MOST_REQUESTS = 10_000
MOST_BYTES = 64 * 1024 * 1024


@dataclass(kw_only=True)
class LoggedRequest:
    """One request: as it arrived, as it was understood, and how it was answered."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes
    at: int
    operation: str | None = None
    params: Members | None = None
    status: int = 0
    error: str | None = None
    answer_size: int = 0

    @property
    def region(self) -> str | None:
        """The region that the request was signed for."""
        return self._scope(1)

    @property
    def service(self) -> str | None:
        """The service that the request was signed for."""
        return self._scope(2)

    def shown_as(self) -> Members:
        """Return the request as JSON; a byte that is no UTF-8 stands as its escape."""
        return {
            "method": self.method,
            "target": self.target,
            "headers": dict(self.headers),
            "body": self.body.decode(errors="backslashreplace"),
            "operation": self.operation,
            "params": self.params,
            "at": self.at,
            "status": self.status,
            "error": self.error,
            "region": self.region,
            "service": self.service,
            "request_bytes": len(self.body),
            "answer_bytes": self.answer_size,
        }

    def _scope(self, group: int) -> str | None:
        found = SCOPE.search(self.headers.get("authorization", ""))
        return found[group] if found else None


class RequestLog:
    """The latest requests, oldest first, as many as fit."""

    def __init__(self) -> None:
        self._requests: deque[LoggedRequest] = deque()
        self._bytes = 0

    def add(self, request: LoggedRequest) -> None:
        """Keep a request, and lose the oldest if there are too many."""
        self._requests.append(request)
        self._bytes += len(request.body)
        while len(self._requests) > MOST_REQUESTS or self._bytes > MOST_BYTES:
            self._bytes -= len(self._requests.popleft().body)

    def all(self) -> list[LoggedRequest]:
        """List the requests; more may arrive meanwhile."""
        return list(self._requests)

    def calls(self, operation: str) -> list[LoggedRequest]:
        """List the requests of one operation."""
        return [request for request in self.all() if request.operation == operation]

    def counts(self) -> dict[str, int]:
        """Count the requests of each operation."""
        counted: dict[str, int] = {}
        for request in self.all():
            name = request.operation or "unknown"
            counted[name] = counted.get(name, 0) + 1
        return counted

    def clear(self) -> None:
        """Forget every request."""
        self._requests.clear()
        self._bytes = 0
