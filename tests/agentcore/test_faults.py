"""Faults: the thirteen groups, each as one table."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from botocore.exceptions import (
    ClientError,
    ConnectionClosedError,
    PaginationError,
    ReadTimeoutError,
)
from botocore.parsers import ResponseParserError

from memkit.testing.agentcore import FAULT_GROUPS
from tests.agentcore.bench import BIRTH, Bench, Refused, new_memory, record, said

Check = Callable[[Bench], None]
TABLES: dict[str, dict[str, Check]] = {group: {} for group in FAULT_GROUPS}


def row(group: str, fault: str) -> Callable[[Check], Check]:
    """Put a check into the table of its group."""

    def put(check: Check) -> Check:
        TABLES[group][fault] = check
        return check

    return put


@pytest.fixture
def memory_options() -> dict[str, Any]:
    """A memory that extracts."""
    template = {"namespaceTemplates": ["/facts/{actorId}/"]}
    return {"memoryStrategies": [{"semanticMemoryStrategy": {"name": "facts", **template}}]}


@pytest.mark.parametrize("group", FAULT_GROUPS)
def test_group(bench: Bench, group: str) -> None:
    """Every fault of the group does what its name says, and leaves nothing behind."""
    assert TABLES[group].keys() == FAULT_GROUPS[group].keys()
    for fault, check in TABLES[group].items():
        bench.emulator.faults.clear()
        memory_id = new_memory(bench.clients, f"{fault}_memory")
        fresh = Bench(bench.emulator, bench.clients, memory_id)
        check(fresh if group != "extraction" else bench)
    bench.emulator.faults.clear()
    bench.event(sessionId="after")
    assert len(bench.events(sessionId="after")) == 1


def refuses(fault: str, code: str, status: int, **options: Any) -> Check:
    """Refuse one CreateEvent, so that nothing is written."""

    def check(bench: Bench) -> None:
        bench.emulator.faults.add("CreateEvent", fault, nth=1, **options)
        with Refused(code) as error:
            bench.event()
        assert error.response["ResponseMetadata"]["HTTPStatusCode"] == status
        assert bench.events() == []
        bench.event()

    return check


def loses(fault: str, error: type[Exception], written: int, **options: Any) -> Check:
    """Lose the answer of one CreateEvent."""

    def check(bench: Bench) -> None:
        bench.emulator.faults.add("CreateEvent", fault, times=1, **options)
        impatient = bench.emulator.client(
            "bedrock-agentcore", retries={"total_max_attempts": 1}, read_timeout=0.3
        )
        with pytest.raises(error):
            impatient.create_event(
                memoryId=bench.memory_id,
                actorId="ann",
                sessionId="s1",
                eventTimestamp=BIRTH,
                payload=[said("hello")],
            )
        impatient.close()
        assert len(bench.events()) == written

    return check


def spoils(fault: str) -> Check:
    """Spoil a success: boto3 returns an empty answer although the event was written."""

    def check(bench: Bench) -> None:
        bench.emulator.faults.add("CreateEvent", fault, times=1)
        answer = bench.create_event(actorId="ann", sessionId="s1", eventTimestamp=BIRTH, payload=[])
        assert "event" not in answer
        assert len(bench.events()) == 1

    return check


TABLES["throttling"] = {
    "throttled": refuses("throttled", "ThrottledException", 429),
    "throttling_400": refuses("throttling_400", "ThrottlingException", 400),
}
TABLES["server_errors"] = {
    "service_exception": refuses("service_exception", "ServiceException", 500),
    "unavailable_html": refuses("unavailable_html", "503", 503),
    "empty_body": spoils("empty_body"),
    "truncated_json": spoils("truncated_json"),
    "invalid_json": spoils("invalid_json"),
}
TABLES["connection"] = {
    "close_before": loses("close_before", ConnectionClosedError, 0),
    "close_after": loses("close_after", ConnectionClosedError, 1),
    "slow": loses("slow", ReadTimeoutError, 1, seconds=30),
}
TABLES["refusals"] = {
    "retryable_conflict": refuses("retryable_conflict", "RetryableConflictException", 409),
    "conflict": refuses("conflict", "ConflictException", 409),
    "quota_exceeded": refuses("quota_exceeded", "ServiceQuotaExceededException", 402),
    "access_denied": refuses("access_denied", "AccessDeniedException", 403),
    "not_found": refuses("not_found", "ResourceNotFoundException", 404),
    "too_large": refuses("too_large", "413", 413),
}


@row("server_errors", "wrong_content_type")
def _(bench: Bench) -> None:
    """The body is JSON whatever the header says."""
    bench.emulator.faults.add("CreateEvent", "wrong_content_type")
    answer = bench.create_event(actorId="ann", eventTimestamp=BIRTH, payload=[])
    assert answer["ResponseMetadata"]["HTTPHeaders"]["content-type"] == "text/html"
    assert answer["event"]["payload"] == []


@row("connection", "trickle")
def _(bench: Bench) -> None:
    """The answer arrives whole, a few bytes at a time."""
    bench.emulator.faults.add("CreateEvent", "trickle", pause=0.001)
    assert bench.event()["actorId"] == "ann"


@row("validation", "invalid")
def _(bench: Bench) -> None:
    """Every reason of the model can be had."""
    for reason in (
        "CannotParse",
        "FieldValidationFailed",
        "IdempotentParameterMismatchException",
        "EventInOtherSession",
        "ResourceConflict",
    ):
        bench.emulator.faults.add("ListActors", "invalid", reason=reason, times=1)
        with Refused("ValidationException") as error:
            bench.list_actors()
        assert error.response["reason"] == reason
        assert error.response["fieldList"]


def batch(bench: Bench) -> dict[str, Any]:
    """Create three records a, b, c."""
    entries = [record(name, requestIdentifier=name) for name in "abc"]
    answer: dict[str, Any] = bench.batch_create_memory_records(records=entries)
    return answer


@row("partial_batches", "partial_batch")
def _(bench: Bench) -> None:
    """The chosen records fail with the code, the others are written."""
    bench.emulator.faults.add("BatchCreateMemoryRecords", "partial_batch", records=["b"], code=429)
    (failed,) = batch(bench)["failedRecords"]
    assert (failed["requestIdentifier"], failed["errorCode"]) == ("b", 429)
    assert sorted(bench.records()) == ["a", "c"]


@row("partial_batches", "whole_batch_fails")
def _(bench: Bench) -> None:
    """Every record fails, in an answer that is a success."""
    bench.emulator.faults.add("BatchCreateMemoryRecords", "whole_batch_fails")
    answer = batch(bench)
    assert len(answer["failedRecords"]) == 3
    assert answer["successfulRecords"] == bench.records() == []


@row("partial_batches", "shuffled_results")
def _(bench: Bench) -> None:
    """Results come in another order than records."""
    bench.emulator.faults.add("BatchCreateMemoryRecords", "shuffled_results")
    done = [one["requestIdentifier"] for one in batch(bench)["successfulRecords"]]
    assert sorted(done) == ["a", "b", "c"] != done


def extracted(bench: Bench, fault: str, wait: float, **options: Any) -> list[str]:
    """What there is after an event with the fault, some time later."""
    actor = fault.replace("_", "-")
    bench.emulator.faults.add("Extraction", fault, match={"actorId": actor}, **options)
    bench.event("tea", actorId=actor)
    bench.emulator.clock.advance(wait)
    return bench.records(namespace=f"/facts/{actor}/")


@row("extraction", "extraction_delayed")
def _(bench: Bench) -> None:
    """It comes later than usual."""
    assert extracted(bench, "extraction_delayed", 60, seconds=60) == []
    bench.emulator.clock.advance(60)
    assert bench.records(namespace="/facts/extraction-delayed/") == ["tea"]


@row("extraction", "extraction_fails")
def _(bench: Bench) -> None:
    """It is listed as failed, and succeeds when it is started again."""
    assert extracted(bench, "extraction_fails", 60, failure="no model", times=1) == []
    (job,) = bench.list_memory_extraction_jobs()["jobs"]
    assert job["failureReason"] == "no model"
    bench.start_memory_extraction_job(extractionJob={"jobId": job["jobID"]})
    bench.emulator.clock.advance(60)
    assert bench.records(namespace="/facts/extraction-fails/") == ["tea"]


@row("extraction", "extraction_doubled")
def _(bench: Bench) -> None:
    """Its records are there twice."""
    assert extracted(bench, "extraction_doubled", 60) == ["tea", "tea"]


@row("extraction", "extraction_never")
def _(bench: Bench) -> None:
    """It does not run, and no failed job tells of it."""
    assert extracted(bench, "extraction_never", 86_400) == []
    assert bench.list_memory_extraction_jobs()["jobs"] == []


@row("extraction", "extraction_rewrites")
def _(bench: Bench) -> None:
    """It writes over a record of the client."""
    bench.record("mine", "/own/")
    extracted(bench, "extraction_rewrites", 60, text="not mine")
    assert bench.records(namespace="/own/") == ["not mine"]


def test_an_extraction_rewrites_what_the_client_has_edited(bench: Bench) -> None:
    """Also a record that an extraction had made; what no client touched is left alone."""
    for actor in ("ann", "bob"):
        bench.event("tea", actorId=actor)
        bench.emulator.clock.advance(60)
    (mine,) = bench.list_memory_records(namespace="/facts/ann/")["memoryRecordSummaries"]
    bench.update(mine["memoryRecordId"], content={"text": "edited"})
    extracted(bench, "extraction_rewrites", 60, text="not mine")
    assert bench.records(namespace="/facts/ann/") == ["not mine"]
    assert bench.records(namespace="/facts/bob/") == ["tea"]


@row("extraction", "extraction_deletes")
def _(bench: Bench) -> None:
    """It deletes a record of the client, and only that."""
    kept, lost = bench.record("kept", "/two/"), bench.record("lost", "/two/")
    extracted(bench, "extraction_deletes", 60, record_id=lost)
    assert bench.records(namespace="/two/") == ["kept"]
    assert bench.get_memory_record(memoryRecordId=kept)


@row("visibility", "stale_read")
def _(bench: Bench) -> None:
    """One read sees the past."""
    record_id = bench.record("old")
    bench.emulator.clock.advance(60)
    bench.update(record_id, content={"text": "new"})
    bench.emulator.faults.add("ListMemoryRecords", "stale_read", nth=2, seconds=30)
    assert [bench.records() for _ in range(3)] == [["new"], ["old"], ["new"]]


@row("visibility", "deleted_still_listed")
def _(bench: Bench) -> None:
    """A deleted record is listed, found and read."""
    record_id = bench.record("gone")
    bench.delete_memory_record(memoryRecordId=record_id)
    bench.emulator.faults.add("*", "deleted_still_listed")
    assert bench.records() == bench.found("gone") == ["gone"]
    assert bench.get_memory_record(memoryRecordId=record_id)
    bench.event()


@row("paging", "empty_page")
def _(bench: Bench) -> None:
    """An empty page leads to the one that was meant."""
    bench.event()
    bench.emulator.faults.add("ListEvents", "empty_page", times=2)
    paginator = bench.clients.data.get_paginator("list_events")
    asked = {"memoryId": bench.memory_id, "actorId": "ann", "sessionId": "s1"}
    first = bench.list_events(**asked)
    assert first["events"] == []
    second = bench.list_events(**asked, nextToken=first["nextToken"])
    assert second["events"] == []
    third = bench.list_events(**asked, nextToken=second["nextToken"])
    assert len(third["events"]) == 1
    assert sum(len(page["events"]) for page in paginator.paginate(**asked)) == 1


@row("paging", "repeated_token")
def _(bench: Bench) -> None:
    """The same token again and again: boto3 notices."""
    bench.event()
    bench.emulator.faults.add("ListActors", "repeated_token")
    paginator = bench.clients.data.get_paginator("list_actors")
    with pytest.raises(PaginationError):
        list(paginator.paginate(memoryId=bench.memory_id))


@row("paging", "expired_token")
def _(bench: Bench) -> None:
    """A token that was good is not any more."""
    bench.event(at=0)
    bench.event(at=1)
    bench.emulator.faults.add("ListEvents", "expired_token")
    asked = {"actorId": "ann", "sessionId": "s1", "maxResults": 1}
    token = bench.list_events(**asked)["nextToken"]
    with Refused("ValidationException", "expired"):
        bench.list_events(**asked, nextToken=token)


@row("memory_status", "stuck_creating")
def _(bench: Bench) -> None:
    """A memory never gets ready."""
    bench.emulator.faults.add("CreateMemory", "stuck_creating")
    memory_id = new_memory(bench.clients, "stuck")
    bench.emulator.clock.advance(1_000_000)
    found = bench.clients.control.get_memory(memoryId=memory_id)["memory"]
    assert found["status"] == "CREATING"


@row("memory_status", "memory_fails")
def _(bench: Bench) -> None:
    """A memory fails and says why; it can be deleted."""
    bench.emulator.faults.add("CreateMemory", "memory_fails", failure="no key")
    memory_id = new_memory(bench.clients, "failing")
    found = bench.clients.control.get_memory(memoryId=memory_id)["memory"]
    assert (found["status"], found["failureReason"]) == ("FAILED", "no key")
    bench.clients.control.delete_memory(memoryId=memory_id)


@row("memory_status", "memory_deleted")
def _(bench: Bench) -> None:
    """The memory is gone in the middle of things."""
    bench.event()
    bench.emulator.faults.add("CreateEvent", "memory_deleted", times=1)
    for _again in range(2):
        with Refused("ResourceNotFoundException"):
            bench.event()


@row("drift", "unknown_member")
def _(bench: Bench) -> None:
    """A member of a later model is dropped by the client."""
    bench.emulator.faults.add("*", "unknown_member")
    assert "addedLater" not in bench.event()
    assert bench.events()[0]["actorId"] == "ann"


@row("drift", "unknown_union_member")
def _(bench: Bench) -> None:
    """A union of a later model becomes an unknown member."""
    bench.event()
    bench.emulator.faults.add("ListEvents", "unknown_union_member")
    assert bench.events()[0]["payload"] == [{"SDK_UNKNOWN_MEMBER": {"name": "addedLater"}}]


@row("drift", "missing_member")
def _(bench: Bench) -> None:
    """A member that was always there is not."""
    bench.event()
    bench.emulator.faults.add("ListEvents", "missing_member", member="branch")
    assert "branch" not in bench.events()[0]


@row("drift", "iso_timestamps")
def _(bench: Bench) -> None:
    """Times come as texts, and mean the same."""
    before = bench.event()["eventTimestamp"]
    bench.emulator.faults.add("ListEvents", "iso_timestamps")
    assert bench.events()[0]["eventTimestamp"] == before


@row("drift", "null_blob")
def _(bench: Bench) -> None:
    """One null blob makes the whole page unreadable."""
    bench.event()
    bench.emulator.faults.add("ListEvents", "null_blob")
    with pytest.raises(ResponseParserError):
        bench.events()


@row("clocks", "clock_skew")
def _(bench: Bench) -> None:
    """The second writer's clock is behind: its later event comes before the first's."""
    bench.emulator.faults.add(
        "CreateEvent", "clock_skew", when=lambda params: params["payload"] == [], seconds=-5
    )
    bench.event(at=1)
    bench.event(at=2, payload=[])
    assert [event["payload"] for event in bench.events()] == [[said("hello")], []]


@row("clocks", "same_millisecond")
def _(bench: Bench) -> None:
    """Two events share a millisecond although their times differ."""
    bench.emulator.faults.add("CreateEvent", "same_millisecond")
    times = {bench.event(at=at)["eventTimestamp"] for at in range(3)}
    assert len(times) == 1


@row("lost_events", "events_lost")
def _(bench: Bench) -> None:
    """Events are gone between recording and reading; those of other sessions stay."""
    bench.event()
    bench.event(sessionId="other")
    bench.emulator.faults.add("ListEvents", "events_lost", match={"sessionId": "s1"})
    assert bench.events() == []
    assert len(bench.events(sessionId="other")) == 1


def test_a_lost_answer_is_answered_again(bench: Bench) -> None:
    """boto3 repeats a call with its token after a closed connection: written once."""
    bench.emulator.faults.add("CreateEvent", "close_after", times=1)
    patient = bench.emulator.client("bedrock-agentcore")
    patient.create_event(
        memoryId=bench.memory_id,
        actorId="ann",
        sessionId="s1",
        eventTimestamp=BIRTH,
        payload=[said("once")],
    )
    patient.close()
    assert len(bench.events()) == 1
    first, second = bench.emulator.log.calls("CreateEvent")
    assert first.params
    assert second.params
    assert first.params["clientToken"] == second.params["clientToken"]


def test_a_rule_counts_its_calls(bench: Bench) -> None:
    """nth and times count the calls that match; match compares nested members."""
    faults = bench.emulator.faults
    rule = faults.add("CreateEvent", "throttled", match={"branch.name": "alt"}, nth=2)
    root = bench.event()["eventId"]
    branch = {"name": "alt", "rootEventId": root}
    bench.event(at=1, branch=branch)
    with Refused("ThrottledException"):
        bench.event(at=2, branch=branch)
    bench.event(at=3, branch=branch)
    assert (rule.matched, rule.applied) == (3, 1)


def test_any_operation_is_no_extraction(bench: Bench) -> None:
    """A rule for "*" waits for the next call, and is not used up by an extraction."""
    bench.emulator.faults.add("*", "throttled", nth=2)
    bench.event()
    with Refused("ThrottledException"):
        bench.event()


def test_probability_repeats_by_seed(bench: Bench) -> None:
    """A rule with a probability strikes the same calls for the same seed."""
    outcomes = []
    for _ in range(2):
        bench.emulator.faults.clear()
        bench.emulator.faults.add("ListActors", "throttled", probability=0.5, seed=7)
        struck = []
        for _call in range(20):
            try:
                bench.list_actors()
                struck.append(False)
            except ClientError:
                struck.append(True)
        outcomes.append(struck)
    assert outcomes[0] == outcomes[1]
    assert 0 < sum(outcomes[0]) < 20


@pytest.mark.parametrize(
    ("operation", "fault", "options"),
    [
        ("CreateEvents", "throttled", {}),
        ("CreateEvent", "throttle", {}),
        ("CreateEvent", "throttled", {"seconds": 1}),
        ("CreateEvent", "slow", {"seconds": "1"}),
        ("CreateEvent", "invalid", {"reason": "NoReason"}),
    ],
)
def test_a_wrong_rule_is_refused(
    bench: Bench, operation: str, fault: str, options: dict[str, Any]
) -> None:
    """A rule that could never apply is an error, not silence."""
    with pytest.raises(ValueError, match=r"\w"):
        bench.emulator.faults.add(operation, fault, **options)


@pytest.mark.parametrize("fault", [name for group in FAULT_GROUPS.values() for name in group])
def test_faults_meet_any_operation(bench: Bench, fault: str) -> None:
    """No fault breaks the emulator on an operation that it was not made for."""
    quick = {"slow": {"seconds": 0.01}, "trickle": {"pause": 0.0001}}
    options: dict[str, Any] = quick.get(fault, {})
    bench.emulator.faults.add("*", fault, **options)
    control, named = bench.clients.control, {"memoryId": bench.memory_id}
    reads = (bench.events, bench.records, bench.list_actors, control.list_memories)
    writes = (bench.event, lambda: batch(bench), lambda: control.update_memory(**named))
    for call in (*writes, *reads, lambda: control.delete_memory(**named)):
        with suppress(Exception):
            call()
    assert bench.emulator.crashes == []
