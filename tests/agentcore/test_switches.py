"""Switches: each behavior that is not known, in every form it may have."""

from __future__ import annotations

from typing import Any

import pytest

from memkit.testing.agentcore import Switches
from tests.agentcore.bench import (
    BIRTH,
    Bench,
    Refused,
    ask,
    equals,
    new_memory,
    record,
    said,
    texts,
)


@pytest.fixture
def memory_options() -> dict[str, Any]:
    """A memory with indexed keys."""
    keys = [{"key": "kind", "type": "STRING"}, {"key": "tags", "type": "STRINGLIST"}]
    return {"indexedKeys": keys}


def turn(bench: Bench, **values: Any) -> Bench:
    """Set switches."""
    bench.emulator.switches.update(**values)
    return bench


@pytest.mark.parametrize(
    ("mode", "exact", "below"),
    [
        ("normalized", ["/u/bob", "u/bob/"], ["/u/bob", "u/bob/"]),
        ("exact_raw", ["/u/bob"], ["/u/bob"]),
        ("legacy_prefix", ["/u/bob", "/u/bobby"], ["/u/bob", "/u/bobby"]),
    ],
)
def test_namespace_mode(bench: Bench, mode: str, exact: list[str], below: list[str]) -> None:
    """Namespaces are normalized, compared as they are, or text prefixes as in old accounts."""
    turn(bench, namespace_mode=mode)
    for namespace in ("/u/bob", "u/bob/", "/u/bobby"):
        bench.record(namespace, namespace)
    assert sorted(bench.records(namespace="/u/bob")) == exact
    listed = bench.list_memory_records(namespacePath="/u/bob")["memoryRecordSummaries"]
    assert sorted(one["content"]["text"] for one in listed) == below


@pytest.mark.parametrize("value", ["allow", "reject"])
def test_empty_namespaces(bench: Bench, value: str) -> None:
    """A record without namespace is found below the root only, or is refused."""
    turn(bench, empty_namespaces=value)
    if value == "reject":
        with Refused("ValidationException", "namespaces"):
            bench.record(namespace="")
        return
    bench.record("nowhere", "")
    assert bench.records() == ["nowhere"]
    assert bench.records(namespace="/") == []


@pytest.mark.parametrize("value", [True, False])
def test_include_payloads_default(bench: Bench, value: bool) -> None:
    """Payloads come or do not come when nothing is said about them."""
    turn(bench, include_payloads_default=value).event()
    (event,) = bench.list_events(actorId="ann", sessionId="s1")["events"]
    assert ("payload" in event) is value


@pytest.mark.parametrize(("value", "first"), [("arrival", "b"), ("reversed", "a")])
def test_same_ms_order(bench: Bench, value: str, first: str) -> None:
    """Of two events in one millisecond either may come first."""
    turn(bench, same_ms_order=value)
    bench.event("a")
    bench.event("b")
    payload = bench.events()[0]["payload"]
    assert payload == [said(first)]


@pytest.mark.parametrize("value", [0, 5])
def test_event_read_lag(bench: Bench, value: float) -> None:
    """An event is seen at once, or when the lag has passed."""
    event = turn(bench, event_read_lag=value).event()
    assert len(bench.events()) == (value == 0)
    found = {"actorId": "ann", "sessionId": "s1", "eventId": event["eventId"]}
    if value:
        with Refused("ResourceNotFoundException"):
            bench.get_event(**found)
    bench.emulator.clock.advance(5)
    assert bench.get_event(**found)


@pytest.mark.parametrize(
    ("value", "days", "fits"),
    [
        ("model", 3, True),
        ("model", 3650, True),
        ("documented", 6, False),
        ("documented", 3650, True),
        ("quota", 7, True),
        ("quota", 366, False),
    ],
)
def test_event_expiry_range(bench: Bench, value: str, days: int, fits: bool) -> None:
    """The days an event may live: as the model, the reference or the quotas say."""
    turn(bench, event_expiry_range=value)
    if fits:
        assert new_memory(bench.clients, "ranged", eventExpiryDuration=days)
        return
    with Refused("ValidationException", "days"):
        new_memory(bench.clients, "ranged", eventExpiryDuration=days)


@pytest.mark.parametrize("value", [True, False])
def test_ingest_keeps_event(bench: Bench, value: bool) -> None:
    """IngestData leaves a short-term event or none."""
    turn(bench, ingest_keeps_event=value)
    source = {"inline": {"payload": [said("hi")]}}
    bench.ingest_data(actorId="ann", sessionId="s1", contentTimestamp=BIRTH, source=source)
    assert len(bench.events()) == value


@pytest.mark.parametrize(("value", "found"), [("newest", "cba"), ("oldest", "abc"), ("id", None)])
def test_record_order(bench: Bench, value: str, found: str | None) -> None:
    """Lists of records come by age, either way, or by id."""
    turn(bench, record_order=value)
    ids = {}
    for text in "abc":
        ids[bench.record(text)] = text
        bench.emulator.clock.advance(1)
    expected = found or "".join(ids[record_id] for record_id in sorted(ids))
    assert "".join(bench.records()) == expected


@pytest.mark.parametrize(("value", "sizes"), [("before_page", [1]), ("after_page", [0, 1])])
def test_record_filter(bench: Bench, value: str, sizes: list[int]) -> None:
    """A filter of a list runs before the page is cut, or after."""
    turn(bench, record_filter=value, record_order="newest")
    bench.record("wanted", metadata=texts(kind="x"))
    bench.emulator.clock.advance(1)
    bench.record("other")
    paginator = bench.clients.data.get_paginator("list_memory_records")
    pages = paginator.paginate(
        memoryId=bench.memory_id,
        namespacePath="/",
        metadataFilters=[equals("kind", "x")],
        PaginationConfig={"PageSize": 1},
    )
    assert [len(page["memoryRecordSummaries"]) for page in pages] == sizes


@pytest.mark.parametrize("value", [0, 5])
def test_record_get_lag(bench: Bench, value: float) -> None:
    """A record can be read at once or later."""
    record_id = turn(bench, record_get_lag=value).record()
    if value:
        with Refused("ResourceNotFoundException"):
            bench.get_memory_record(memoryRecordId=record_id)
        bench.emulator.clock.advance(5)
    assert bench.get_memory_record(memoryRecordId=record_id)
    bench.delete_memory_record(memoryRecordId=record_id)
    if value:
        assert bench.get_memory_record(memoryRecordId=record_id)


@pytest.mark.parametrize("value", [0, 5])
def test_record_update_lag(bench: Bench, value: float) -> None:
    """A record can be updated and deleted at once, or is not found for a while."""
    record_id = turn(bench, record_update_lag=value).record()
    if value:
        assert bench.update(record_id)["failedRecords"][0]["errorCode"] == 404
        with Refused("ResourceNotFoundException"):
            bench.delete_memory_record(memoryRecordId=record_id)
        bench.emulator.clock.advance(5)
    assert bench.update(record_id)["failedRecords"] == []
    bench.delete_memory_record(memoryRecordId=record_id)


@pytest.mark.parametrize("value", [0, 90])
def test_record_list_lag(bench: Bench, value: float) -> None:
    """Lists know of a write, and of a later one to the same record, at once or late."""
    record_id = turn(bench, record_list_lag=value).record("old")
    assert bench.records() == ([] if value else ["old"])
    bench.emulator.clock.advance(90)
    bench.update(record_id, content={"text": "new"})
    assert bench.records() == (["old"] if value else ["new"])
    bench.emulator.clock.advance(90)
    bench.delete_memory_record(memoryRecordId=record_id)
    assert bench.records() == (["new"] if value else [])


@pytest.mark.parametrize("value", [0, 90])
def test_record_retrieve_lag(bench: Bench, value: float) -> None:
    """Searches find a record at once or late."""
    turn(bench, record_retrieve_lag=value).record()
    assert len(bench.found("tea")) == (value == 0)
    assert bench.records() == ["likes tea"]
    bench.emulator.clock.advance(90)
    assert bench.found("tea") == ["likes tea"]


@pytest.mark.parametrize(("value", "keys"), [("replace", {"b"}), ("merge", {"a", "b"})])
def test_metadata_update(bench: Bench, value: str, keys: set[str]) -> None:
    """Metadata of an update replaces what was there, or is merged into it."""
    record_id = turn(bench, metadata_update=value).record(metadata=texts(a="1"))
    bench.update(record_id, metadata=texts(b="2"))
    metadata = bench.get_memory_record(memoryRecordId=record_id)["memoryRecord"]["metadata"]
    assert {key for key in metadata if not key.startswith("x-amz")} == keys


@pytest.mark.parametrize(("value", "most"), [(True, 17), (False, 20)])
def test_system_keys_count(bench: Bench, value: bool, most: int) -> None:
    """The keys of the system count against the limit of twenty, or do not."""
    turn(bench, system_keys_count=value)
    metadata = {f"k{number}": {"numberValue": number} for number in range(most)}
    bench.record(metadata=metadata)
    with Refused("ValidationException"):
        bench.record(metadata={**metadata, "more": {"numberValue": 1}})


@pytest.mark.parametrize(
    ("value", "string", "strings"),
    [("either", True, True), ("string", True, False), ("list", False, True)],
)
def test_contains_operand(bench: Bench, value: str, string: bool, strings: bool) -> None:
    """CONTAINS takes a text, a list of texts, or both."""
    turn(bench, contains_operand=value).record(metadata={"tags": {"stringListValue": ["x"]}})
    for operand, fits in (({"stringValue": "x"}, string), ({"stringListValue": ["x"]}, strings)):
        right = {"metadataValue": operand}
        wanted = {"left": {"metadataKey": "tags"}, "operator": "CONTAINS", "right": right}
        if fits:
            assert bench.records(metadataFilters=[wanted]) == ["likes tea"]
        else:
            with Refused("ValidationException"):
                bench.records(metadataFilters=[wanted])


@pytest.mark.parametrize("value", ["per_record", "raise404"])
def test_not_found_in_batch(bench: Bench, value: str) -> None:
    """A record that is missing fails alone, or the whole batch before anything is done."""
    known = turn(bench, not_found_in_batch=value).record()
    missing = f"mem-{'0' * 36}"
    batch = [{"memoryRecordId": known}, {"memoryRecordId": missing}]
    if value == "raise404":
        with Refused("ResourceNotFoundException"):
            bench.batch_delete_memory_records(records=batch)
        assert bench.records() == ["likes tea"]
        return
    answer = bench.batch_delete_memory_records(records=batch)
    assert [one["memoryRecordId"] for one in answer["failedRecords"]] == [missing]
    assert bench.records() == []


@pytest.mark.parametrize("value", ["minted", "placeholder"])
def test_failed_record_id(bench: Bench, value: str) -> None:
    """A record that was never made has an id of its own in the answer, or zeros."""
    turn(bench, failed_record_id=value)
    wrong = record(metadata={"kind": {"numberValue": 1}})
    (failed,) = bench.batch_create_memory_records(records=[wrong])["failedRecords"]
    assert (failed["memoryRecordId"] == f"mem-{'0' * 36}") is (value == "placeholder")


@pytest.mark.parametrize("value", ["NONE", "none-0123456789"])
def test_no_strategy_id(bench: Bench, value: str) -> None:
    """A record written without strategy shows this id."""
    record_id = turn(bench, no_strategy_id=value).record()
    found = bench.get_memory_record(memoryRecordId=record_id)["memoryRecord"]
    assert found["memoryStrategyId"] == value


@pytest.mark.parametrize(("value", "score"), [("unit", 1.0), ("percent", 100.0)])
def test_score_range(bench: Bench, value: str, score: float) -> None:
    """Scores end at one, or at a hundred."""
    turn(bench, score_range=value).record("tea")
    criteria = {"searchQuery": "tea"}
    answer = bench.retrieve_memory_records(namespacePath="/", searchCriteria=criteria)
    assert answer["memoryRecordSummaries"][0]["score"] == score


@pytest.mark.parametrize("value", ["ignore", "reject"])
def test_token_mismatch(bench: Bench, value: str) -> None:
    """A client token with other parameters gets the first answer, or an error with its reason."""
    first = turn(bench, token_mismatch=value).event("a", clientToken="t")
    assert bench.event("a", clientToken="t") == first
    if value == "ignore":
        assert bench.event("b", clientToken="t") == first
        return
    with Refused("ValidationException") as error:
        bench.event("b", clientToken="t")
    assert error.response["reason"] == "IdempotentParameterMismatchException"


@pytest.mark.parametrize(("value", "events"), [(None, 1), (60, 2)])
def test_token_ttl(bench: Bench, value: float | None, events: int) -> None:
    """A client token is remembered for ever, or for its time."""
    turn(bench, token_ttl=value)
    for _ in range(2):
        bench.event(clientToken="t")
        bench.event(clientToken="t")
        bench.emulator.clock.advance(60)
    assert len(bench.events()) == events


@pytest.mark.parametrize(("value", "sizes"), [(False, [4]), (True, [2, 2])])
def test_page_short(bench: Bench, value: bool, sizes: list[int]) -> None:
    """A page may be shorter than asked for and still not be the last."""
    turn(bench, page_short=value)
    for at in range(4):
        bench.event(at=at)
    paginator = bench.clients.data.get_paginator("list_events")
    pages = paginator.paginate(
        memoryId=bench.memory_id, actorId="ann", sessionId="s1", PaginationConfig={"PageSize": 4}
    )
    assert [len(page["events"]) for page in pages] == sizes


@pytest.mark.parametrize("value", ["ValidationException", "ConflictException"])
def test_duplicate_name(bench: Bench, value: str) -> None:
    """A name that is taken is refused with one code or the other, in the same words."""
    turn(bench, duplicate_name=value)
    with Refused(value, "already exists"):
        new_memory(bench.clients)


@pytest.mark.parametrize("value", [True, False])
def test_summary_needs_session(bench: Bench, value: bool) -> None:
    """A summary's template must name the session, or need not."""
    turn(bench, summary_needs_session=value)
    strategy = {"summaryMemoryStrategy": {"name": "s", "namespaceTemplates": ["/{actorId}/"]}}
    if value:
        with Refused("ValidationException", "sessionId"):
            new_memory(bench.clients, "summed", memoryStrategies=[strategy])
        return
    assert new_memory(bench.clients, "summed", memoryStrategies=[strategy])


@pytest.mark.parametrize("value", [10, 20])
def test_list_memories_default(bench: Bench, value: int) -> None:
    """A page of memories has ten or twenty."""
    turn(bench, list_memories_default=value)
    for number in range(20):
        new_memory(bench.clients, f"m{number}")
    assert len(bench.clients.control.list_memories()["memories"]) == value


@pytest.mark.parametrize("value", [50, 100])
def test_list_memories_max(bench: Bench, value: int) -> None:
    """The largest page of memories is the documented one or the model's."""
    control = turn(bench, list_memories_max=value).clients.control
    if value == 100:
        assert control.list_memories(maxResults=100)
        return
    with Refused("ValidationException", "maxResults"):
        control.list_memories(maxResults=51)


@pytest.mark.parametrize(("value", "status"), [(0, "ACTIVE"), (60, "CREATING")])
def test_create_delay(bench: Bench, value: float, status: str) -> None:
    """A memory is active at once, or after a while."""
    memory_id = new_memory(turn(bench, create_delay=value).clients, "slow")
    memory = bench.clients.control.get_memory(memoryId=memory_id)["memory"]
    assert memory["status"] == status


@pytest.mark.parametrize(("value", "status"), [(0, "ACTIVE"), (60, "UPDATING")])
def test_update_delay(bench: Bench, value: float, status: str) -> None:
    """A memory is updated at once, or after a while."""
    control = turn(bench, update_delay=value).clients.control
    control.update_memory(memoryId=bench.memory_id, description="d")
    assert control.get_memory(memoryId=bench.memory_id)["memory"]["status"] == status


@pytest.mark.parametrize("value", [0, 60])
def test_delete_delay(bench: Bench, value: float) -> None:
    """A memory is gone at once, or after a while."""
    control = turn(bench, delete_delay=value).clients.control
    control.delete_memory(memoryId=bench.memory_id)
    assert len(control.list_memories()["memories"]) == (value > 0)


@pytest.mark.parametrize("value", [0, 90])
def test_extract_delay(bench: Bench, value: float) -> None:
    """Extraction is done by the next request, or after its delay."""
    strategies = {"addMemoryStrategies": [{"semanticMemoryStrategy": {"name": "facts"}}]}
    turn(bench, extract_delay=value).clients.control.update_memory(
        memoryId=bench.memory_id, memoryStrategies=strategies
    )
    bench.event("tea")
    assert bench.records() == ([] if value else ["tea"])
    bench.emulator.clock.advance(90)
    assert bench.records() == ["tea"]


@pytest.mark.parametrize("value", [True, False])
def test_throttle(bench: Bench, value: bool) -> None:
    """Five conversational events a second per actor and session, or as many as one likes."""
    turn(bench, throttle=value)
    for _ in range(5):
        bench.event()
    if not value:
        bench.event()
        return
    with Refused("ThrottledException"):
        bench.event()
    bench.event(sessionId="s2")
    bench.emulator.clock.advance(0.2)
    bench.event()


@pytest.mark.parametrize(("value", "pause"), [(5, 0.2), (0.25, 4)])
def test_conv_rate(bench: Bench, value: float, pause: float) -> None:
    """The rate of conversational events is that of new or of older accounts; blobs have theirs."""
    turn(bench, throttle=True, conv_rate=value)
    for _ in range(max(1, int(value))):
        bench.event()
    with Refused("ThrottledException", f"{value:g} per second"):
        bench.event()
    bench.emulator.clock.advance(pause)
    bench.event()
    for _ in range(10):
        bench.event(sessionId="s2", payload=[{"blob": 1}])
    with Refused("ThrottledException", "10 per second"):
        bench.event(sessionId="s2", payload=[{"blob": 1}])


@pytest.mark.parametrize("value", [True, False])
def test_strict_unknown(bench: Bench, value: bool) -> None:
    """A member that the model does not know is refused, or ignored."""
    turn(bench, strict_unknown=value)
    body: dict[str, Any] = {"sessionFilter": {}}
    status, _, answer = ask(bench.emulator, "POST", f"/memories/{bench.memory_id}/actors", body)
    assert status == (400 if value else 200)
    assert (b"sessionFilter" in answer) is value


def test_every_switch_is_tested() -> None:
    """A switch has a test of its name."""
    assert [name for name in Switches.names() if f"test_{name}" not in globals()] == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("record_oder", "newest"),
        ("record_order", "random"),
        ("page_short", 1),
        ("conv_rate", -1),
        ("conv_rate", None),
        ("token_ttl", "60"),
        ("no_strategy_id", ""),
        ("no_strategy_id", "none given"),
        ("record_list_lag", 90_000),
        ("list_memories_default", True),
        ("extract_delay", float("inf")),
    ],
)
def test_a_wrong_switch_changes_nothing(name: str, value: object) -> None:
    """An unknown name or value is an error, and nothing of the same update is done."""
    switches = Switches()
    with pytest.raises(ValueError, match=name):
        switches.update(record_get_lag=7, **{name: value})
    assert switches == Switches()


def test_the_live_profile_is_slow() -> None:
    """One call sets what the service is known for."""
    live = Switches.live_like()
    assert (live.record_get_lag, live.record_update_lag) == (5, 10)
    assert (live.record_list_lag, live.record_retrieve_lag) == (90, 90)
    assert live.throttle
