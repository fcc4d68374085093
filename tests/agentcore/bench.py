"""A memory on an emulator, with short words for what tests do to it."""

from __future__ import annotations

import http.client
import json
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote, urlsplit

import pytest
from botocore.exceptions import ClientError

from memkit.testing.agentcore import Clients, Emulator

NO_RETRIES = {"total_max_attempts": 1}
BIRTH = 1_760_000_000.0
"""The time, in epoch seconds, of the first event of a test."""


def said(text: str, role: str = "USER") -> dict[str, Any]:
    """A payload item that extraction reads."""
    return {"conversational": {"role": role, "content": {"text": text}}}


def equals(key: str, value: str) -> dict[str, Any]:
    """A filter for one text."""
    return condition(key, "EQUALS_TO", stringValue=value)


def condition(key: str, operator: str, **operand: Any) -> dict[str, Any]:
    """A filter expression; without an operand it has no right side."""
    right = {"right": {"metadataValue": operand}} if operand else {}
    return {"left": {"metadataKey": key}, "operator": operator, **right}


def texts(**values: str) -> dict[str, Any]:
    """Metadata of texts."""
    return {key: {"stringValue": value} for key, value in values.items()}


@dataclass
class Bench:
    """One emulator, its clients, and one memory in it."""

    emulator: Emulator
    clients: Clients
    memory_id: str

    def __getattr__(self, operation: str) -> Any:
        """Call an operation of the data plane on the memory."""
        method = getattr(self.clients.data, operation)
        return lambda **params: method(**{"memoryId": self.memory_id, **params})

    def event(self, text: str = "hello", *, at: float = 0.0, **params: Any) -> dict[str, Any]:
        """Write an event some seconds after BIRTH."""
        defaults = {
            "actorId": "ann",
            "sessionId": "s1",
            "eventTimestamp": BIRTH + at,
            "payload": [said(text)],
        }
        event: dict[str, Any] = self.create_event(**{**defaults, **params})["event"]
        return event

    def events(self, **params: Any) -> list[dict[str, Any]]:
        """List the first page of the session."""
        defaults = {"actorId": "ann", "sessionId": "s1", "includePayloads": True}
        listed: list[dict[str, Any]] = self.list_events(**{**defaults, **params})["events"]
        return listed

    def record(self, text: str = "likes tea", namespace: str = "/a/", **params: Any) -> str:
        """Write a record; return its id."""
        answer = self.batch_create_memory_records(records=[record(text, namespace, **params)])
        assert answer["failedRecords"] == []
        record_id: str = answer["successfulRecords"][0]["memoryRecordId"]
        return record_id

    def update(self, record_id: str, **params: Any) -> dict[str, Any]:
        """Update a record; return the answer."""
        entry = {"memoryRecordId": record_id, "timestamp": BIRTH, **params}
        answer: dict[str, Any] = self.batch_update_memory_records(records=[entry])
        return answer

    def records(self, **params: Any) -> list[str]:
        """List the texts of the first page of records, everywhere unless told where."""
        place = {} if "namespace" in params else {"namespacePath": "/"}
        listed = self.list_memory_records(**{**place, **params})
        return [one["content"]["text"] for one in listed["memoryRecordSummaries"]]

    def found(self, query: str, **criteria: Any) -> list[str]:
        """Return the texts of the best records for a query."""
        asked = {"searchQuery": query, **criteria}
        answer = self.retrieve_memory_records(namespacePath="/", searchCriteria=asked)
        return [one["content"]["text"] for one in answer["memoryRecordSummaries"]]

    def strategy_ids(self) -> list[str]:
        """Return the ids of the memory's strategies."""
        memory = self.clients.control.get_memory(memoryId=self.memory_id)["memory"]
        return [strategy["strategyId"] for strategy in memory["strategies"]]


def record(text: str = "likes tea", namespace: str = "/a/", **params: Any) -> dict[str, Any]:
    """An entry of a batch."""
    defaults = {
        "requestIdentifier": "r1",
        "namespaces": [namespace] if namespace else [],
        "content": {"text": text},
        "timestamp": BIRTH,
    }
    return {**defaults, **params}


def new_memory(clients: Clients, name: str = "demo", **params: Any) -> str:
    """Create a memory; return its id."""
    defaults = {"name": name, "eventExpiryDuration": 30}
    memory_id: str = clients.control.create_memory(**{**defaults, **params})["memory"]["id"]
    return memory_id


class Refused:
    """Catches the error of a client: `with refused("ValidationException") as error`."""

    def __init__(self, code: str, saying: str = "") -> None:
        self._raises = pytest.raises(ClientError)
        self._code = code
        self._saying = saying
        self.response: dict[str, Any] = {}

    def __enter__(self) -> Self:
        """Expect the error."""
        self._caught = self._raises.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        """Compare the code and the message."""
        if not self._raises.__exit__(kind, error, trace):
            return False
        self.response = self._caught.value.response
        assert self.response["Error"]["Code"] == self._code
        assert self._saying in self.response["Error"]["Message"]
        return True


def ask(
    emulator: Emulator, method: str, path: str, body: Any = None, *, raw: bytes | None = None
) -> tuple[int, dict[str, str], bytes]:
    """Send one raw request; return status, headers and body."""
    connection = http.client.HTTPConnection(urlsplit(emulator.endpoint_url).netloc, timeout=10)
    sent = raw if raw is not None else b"" if body is None else json.dumps(body).encode()
    try:
        connection.request(method, path, sent)
        answer = connection.getresponse()
        return answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read()
    finally:
        connection.close()


def event_path(memory_id: str, *parts: str) -> str:
    """The raw path of something below a memory."""
    return "/".join(["/memories", memory_id, *(quote(part, safe="") for part in parts)])
