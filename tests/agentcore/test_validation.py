"""Validation: what boto3 lets through and the service does not."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from memkit.testing.agentcore.models import EXPECTED, load_operations
from memkit.testing.agentcore.routing import Router
from tests.agentcore.bench import BIRTH, Bench, Refused, ask, event_path, record, said, texts

LONG = "x" * 257


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({"actorId": "a@b c"}, "actorId"),
        ({"actorId": "-a"}, "actorId"),
        ({"actorId": "a" * 256}, "actorId"),
        ({"actorId": "a\n"}, "actorId"),
        ({"sessionId": "s|1"}, "sessionId"),
        ({"sessionId": "s" * 101}, "sessionId"),
        ({"metadata": texts(a=LONG)}, "metadata.a.stringValue"),
        ({"metadata": texts(a="x,y")}, "metadata.a.stringValue"),
        ({"metadata": texts(**{f"k{number}": "v" for number in range(16)})}, "metadata"),
        ({"metadata": {"a#b": {"stringValue": "v"}}}, "metadata.key"),
        ({"payload": [said("x")] * 101}, "payload"),
        ({"payload": [said("x" * 100_001)]}, "payload[0].conversational.content.text"),
        ({"payload": [said("x", "user")]}, "payload[0].conversational.role"),
        ({"payload": [{"blob": None}]}, "payload[0]"),
        ({"branch": {"name": "b", "rootEventId": "nope"}}, "branch.rootEventId"),
        ({"extractionMode": "NEVER"}, "extractionMode"),
        ({"extractionConfig": {"namespaceVariables": {}}}, "extractionConfig.namespaceVariables"),
        (
            {"extractionConfig": {"namespaceVariables": {"actorId": "a"}}},
            "extractionConfig.namespaceVariables.key",
        ),
    ],
    ids=range(18),
)
def test_the_server_checks_what_the_client_does_not(
    bench: Bench, params: dict[str, Any], field: str
) -> None:
    """Patterns, enums and maxima come back as 400 with the field by name."""
    with Refused("ValidationException", field) as error:
        bench.event(**params)
    assert error.response["reason"] == "FieldValidationFailed"
    assert field in [entry["name"] for entry in error.response["fieldList"]]
    assert bench.list_sessions(actorId="ann")["sessionSummaries"] == []


@pytest.mark.parametrize(
    "entry",
    [
        record("x" * 16_001),
        record(namespace="/a b/"),
        record(namespaces=["/a/", "/b/"]),
        record(requestIdentifier="r" * 81),
        record(metadata={}),
        record(metadata={"k": {"stringListValue": ["x"] * 6}}),
        record(metadata={"k": {"stringListValue": ["x" * 65]}}),
        record(metadata={"k" * 129: {"stringValue": "v"}}),
        record(metadata={f"k{number}": {"numberValue": 1} for number in range(21)}),
    ],
    ids=range(9),
)
def test_records_are_checked(bench: Bench, entry: dict[str, Any]) -> None:
    """Every limit of a record holds."""
    with Refused("ValidationException", "records[0]"):
        bench.batch_create_memory_records(records=[entry])


@pytest.mark.parametrize(
    ("operation", "params"),
    [
        ("list_events", {"actorId": "a", "sessionId": "s", "maxResults": 101}),
        ("list_memory_records", {"namespace": "x" * 1_025}),
        ("list_memory_records", {"namespace": "/é/"}),
        ("list_memory_records", {"namespace": "/users/{actorId}/"}),
        ("list_memory_extraction_jobs", {"maxResults": 51}),
        ("batch_delete_memory_records", {"records": [{"memoryRecordId": f"mem-{'x' * 47}"}]}),
        ("get_memory_record", {"memoryRecordId": f"rec-{'0' * 36}"}),
        ("list_sessions", {"actorId": "a", "filter": {"eventFilter": "ANY"}}),
    ],
    ids=range(8),
)
def test_reads_are_checked(bench: Bench, operation: str, params: dict[str, Any]) -> None:
    """Limits and patterns hold for reads too."""
    with Refused("ValidationException"):
        getattr(bench, operation)(**params)


@pytest.mark.parametrize("size", [10_001])
def test_queries_are_limited(bench: Bench, size: int) -> None:
    """A query has at most 10,000 characters, and topK at most 100."""
    for criteria in ({"searchQuery": "x" * size}, {"searchQuery": "x", "topK": 101}):
        with Refused("ValidationException", "searchCriteria"):
            bench.retrieve_memory_records(namespace="/", searchCriteria=criteria)


@pytest.mark.parametrize(
    "body",
    [b"{", b"[]", b'"x"', b"\xff", b'{"a": NaN}', b'{"a": 1e999}', b"[" * 100_000],
    ids=range(7),
)
def test_a_body_that_is_no_json_object(bench: Bench, body: bytes) -> None:
    """What cannot be parsed has its own reason."""
    path = event_path(bench.memory_id, "events")
    status, headers, answer = ask(bench.emulator, "POST", path, raw=body)
    assert (status, headers["x-amzn-errortype"]) == (400, "ValidationException")
    assert json.loads(answer)["reason"] == "CannotParse"


WRONG: list[Any] = [1, 1.5, True, "x", [], [1], {}, {"x": 1}, None, -1, 10**400, "\ud800"]


@pytest.mark.parametrize(
    "member",
    ["actorId", "sessionId", "eventTimestamp", "payload", "branch", "metadata", "clientToken"],
)
def test_wrong_types_are_refused_or_served(bench: Bench, member: str) -> None:
    """No type in any place makes the emulator fail."""
    for value in WRONG:
        body = {"actorId": "ann", "eventTimestamp": BIRTH, "payload": [], member: value}
        path = event_path(bench.memory_id, "events")
        status, _, answer = ask(bench.emulator, "POST", path, body)
        assert status in {201, 400}, answer


def test_a_null_member_is_absent(bench: Bench) -> None:
    """JSON null means that a member was not given."""
    body = {"actorId": "ann", "eventTimestamp": BIRTH, "payload": [], "sessionId": None}
    status, _, answer = ask(bench.emulator, "POST", event_path(bench.memory_id, "events"), body)
    assert status == 201
    assert json.loads(answer)["event"]["sessionId"]


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/"),
        ("GET", "/memories"),
        ("POST", "/memories/m/nothing"),
        ("PATCH", "/memories/create"),
        ("GET", "/browsers/b/sessions/get"),
        ("POST", "/memories//actors"),
        ("POST", "/memories/m/extra/actors"),
    ],
)
def test_an_unknown_operation(bench: Bench, method: str, path: str) -> None:
    """What no memory operation answers is a 404 of its own code."""
    status, headers, _ = ask(bench.emulator, method, path)
    assert (status, headers["x-amzn-errortype"]) == (404, "UnknownOperationException")


def test_a_path_that_is_no_text(bench: Bench) -> None:
    """Bytes that are not UTF-8 in a path cannot be parsed."""
    path = f"/memories/{bench.memory_id}/actor/%ff/sessions"
    status, _, answer = ask(bench.emulator, "POST", path, {})
    assert (status, json.loads(answer)["reason"]) == (400, "CannotParse")


def test_a_trailing_slash_is_optional(bench: Bench) -> None:
    """Every route answers with and without it."""
    for path in ("/memories", "/memories/"):
        status, _, _ = ask(bench.emulator, "POST", path, {})
        assert status == 200


def test_every_route_finds_its_operation() -> None:
    """The routes of both planes do not get in each other's way."""
    operations = load_operations()
    router = Router(operations.values())
    assert operations.keys() == EXPECTED
    for operation in operations.values():
        path = operation.path.replace("{", "").replace("}", "")
        assert router.find(operation.method, path)[0] is operation


def test_patterns_take_no_time(bench: Bench) -> None:
    """The longest text that a pattern refuses at its very end is refused at once."""
    started = time.process_time()
    for text in ("a" * 1_023 + "!", "a:" * 511 + "!", "/" * 1_023 + "!", "a" * 1_000_000):
        with Refused("ValidationException", "namespace"):
            bench.list_memory_records(namespace=text)
    assert time.process_time() - started < 2
