"""Records: batches, metadata, filters, namespaces, life, search."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from tests.agentcore.bench import BIRTH, Bench, Refused, condition, equals, record, texts

DAY = 86_400
SYSTEM = "x-amz-agentcore-memory-"


@pytest.fixture
def memory_options() -> dict[str, Any]:
    """A memory with one key of each type indexed, and a strategy with a schema."""
    schema = {"metadataSchema": [{"key": "kind"}, {"key": "rank", "type": "NUMBER"}]}
    strategy = {"name": "facts", "memoryRecordSchema": schema}
    return {
        "indexedKeys": [
            {"key": "kind", "type": "STRING"},
            {"key": "rank", "type": "NUMBER"},
            {"key": "tags", "type": "STRINGLIST"},
        ],
        "memoryStrategies": [{"semanticMemoryStrategy": strategy}],
    }


def got(bench: Bench, record_id: str) -> dict[str, Any]:
    """A record as GetMemoryRecord shows it."""
    found: dict[str, Any] = bench.get_memory_record(memoryRecordId=record_id)["memoryRecord"]
    return found


def own(metadata: dict[str, Any]) -> dict[str, Any]:
    """Metadata without the keys of the system."""
    return {key: value for key, value in metadata.items() if not key.startswith(SYSTEM)}


def test_a_record_is_read_as_written(bench: Bench) -> None:
    """The server mints the id, normalizes the namespace and adds its own metadata."""
    record_id = bench.record("likes tea", "a//b", metadata=texts(kind="fact"))
    found = got(bench, record_id)
    assert record_id.startswith("mem-")
    assert len(record_id) == 40
    assert found["namespaces"] == ["/a/b/"]
    assert found["memoryStrategyId"] == "NONE"
    assert own(found["metadata"]) == texts(kind="fact")
    assert found["metadata"][f"{SYSTEM}recordType"] == {"stringValue": "BASE"}
    assert found["timestamp"] == datetime.fromtimestamp(BIRTH, UTC)


def test_a_batch_may_fail_in_part(bench: Bench) -> None:
    """A value of another type than its index fails its record; the status stays 201."""
    wrong = record("b", requestIdentifier="bad", metadata={"rank": {"stringValue": "x"}})
    answer = bench.batch_create_memory_records(records=[record("a"), wrong])
    assert answer["ResponseMetadata"]["HTTPStatusCode"] == 201
    (failed,) = answer["failedRecords"]
    assert (failed["requestIdentifier"], failed["errorCode"]) == ("bad", 400)
    assert bench.records() == ["a"]


def test_an_empty_batch_is_nothing(bench: Bench) -> None:
    """A batch of no records succeeds with nothing."""
    answer = bench.batch_create_memory_records(records=[])
    assert (answer["successfulRecords"], answer["failedRecords"]) == ([], [])


def test_a_schema_drops_other_keys(bench: Bench) -> None:
    """With a strategy, keys outside its schema are silently lost; without one, all are kept."""
    metadata = texts(kind="fact", note="x")
    (strategy_id,) = bench.strategy_ids()
    kept = bench.record(metadata=metadata)
    cut = bench.record(metadata=metadata, memoryStrategyId=strategy_id)
    assert own(got(bench, kept)["metadata"]) == metadata
    assert own(got(bench, cut)["metadata"]) == texts(kind="fact")


def test_an_unknown_strategy_fails_its_record(bench: Bench) -> None:
    """A record under a strategy that is not there fails with 404."""
    answer = bench.batch_create_memory_records(records=[record(memoryStrategyId="nobody")])
    assert answer["failedRecords"][0]["errorCode"] == 404


@pytest.mark.parametrize(
    "metadata",
    [
        {f"{SYSTEM}recordType": {"stringValue": "BASE"}},
        {"when": {"dateTimeValue": BIRTH}},
        {f"k{number}": {"numberValue": 1} for number in range(18)},
    ],
    ids=["system key", "date", "too many"],
)
def test_unwritable_metadata_is_refused(bench: Bench, metadata: dict[str, Any]) -> None:
    """System keys, dates and more keys than fit make the whole request invalid."""
    with Refused("ValidationException", "metadata"):
        bench.record(metadata=metadata)
    with Refused("ValidationException", "metadata"):
        bench.update(bench.record(), metadata=metadata)


def test_an_update_changes_what_it_names(bench: Bench) -> None:
    """Text, namespace and metadata can be changed apart; createdAt stays."""
    record_id = bench.record(metadata=texts(kind="fact"))
    created = got(bench, record_id)["createdAt"]
    bench.emulator.clock.advance(5)
    bench.update(record_id, namespaces=["/moved"])
    bench.update(record_id, content={"text": "likes coffee"})
    found = got(bench, record_id)
    assert found["content"] == {"text": "likes coffee"}
    assert found["namespaces"] == ["/moved/"]
    assert own(found["metadata"]) == texts(kind="fact")
    assert found["createdAt"] == created
    updated = found["metadata"][f"{SYSTEM}updatedAt"]["dateTimeValue"]
    assert (updated - created).total_seconds() == 5


@pytest.mark.parametrize("namespace", ["/" + "a" * 1_023, "a" * 1_023, "a/" * 511 + "a"])
def test_a_namespace_that_grows_too_long_is_refused(bench: Bench, namespace: str) -> None:
    """With the slashes that come to it; an answer could not show it."""
    with Refused("ValidationException", "namespaces"):
        bench.record(namespace=namespace)
    record_id = bench.record(namespace="/" + "a" * 1_022 + "/")
    with Refused("ValidationException", "namespaces"):
        bench.update(record_id, namespaces=[namespace])
    assert bench.records(namespacePath="/") == ["likes tea"]


def test_an_old_version_is_seen_until_the_lag_is_over(bench: Bench) -> None:
    """However long ago it was written, it stays until the next one can be read."""
    record_id = bench.record("first")
    bench.emulator.switches.update(record_list_lag=3_600)
    for number in range(2):
        bench.emulator.clock.advance(5 * 86_400)
        bench.update(record_id, content={"text": f"later {number}"})
        bench.emulator.clock.advance(60)
    assert bench.records(namespacePath="/") == ["later 0"]


def test_a_deleted_record_is_gone(bench: Bench) -> None:
    """Deleting, getting and updating a deleted record find nothing."""
    first, second = bench.record("a"), bench.record("b")
    bench.delete_memory_record(memoryRecordId=first, namespace="/elsewhere/")
    answer = bench.batch_delete_memory_records(records=[{"memoryRecordId": second}])
    assert answer["successfulRecords"][0]["memoryRecordId"] == second
    assert bench.records() == []
    for again in (bench.get_memory_record, bench.delete_memory_record):
        with Refused("ResourceNotFoundException"):
            again(memoryRecordId=first)
    assert bench.update(second)["failedRecords"][0]["errorCode"] == 404


def test_a_life_starts_again_with_each_update(bench: Bench) -> None:
    """An update without a life restarts the one there is, REMOVE ends it, silence adds none."""
    life = {"recordExpiryDurationDays": 31}
    answer = bench.batch_create_memory_records(records=[record()], recordExpirySpecification=life)
    record_id = answer["successfulRecords"][0]["memoryRecordId"]
    assert "expiresAt" not in got(bench, bench.record())
    first = got(bench, record_id)["expiresAt"]
    bench.emulator.clock.advance(DAY)
    bench.update(record_id)
    assert (got(bench, record_id)["expiresAt"] - first).days == 1
    entry = {"memoryRecordId": record_id, "timestamp": BIRTH}
    bench.batch_update_memory_records(
        records=[entry], recordExpirySpecification={"action": "REMOVE"}
    )
    assert "expiresAt" not in got(bench, record_id)


def test_a_record_expires(bench: Bench) -> None:
    """At the end of its life a record is neither listed, found nor read."""
    life = {"recordExpiryDurationDays": 31}
    bench.batch_create_memory_records(records=[record()], recordExpirySpecification=life)
    bench.emulator.clock.advance(31 * DAY - 1)
    assert bench.records() == ["likes tea"]
    bench.emulator.clock.advance(1)
    assert bench.records() == bench.found("tea") == []


def test_creation_cannot_remove_a_life(bench: Bench) -> None:
    """`action: REMOVE` belongs to updates."""
    with Refused("ValidationException", "only updates"):
        bench.batch_create_memory_records(
            records=[record()], recordExpirySpecification={"action": "REMOVE"}
        )


@pytest.mark.parametrize(
    ("place", "found"),
    [
        ({"namespace": "/users/bob"}, ["bob"]),
        ({"namespace": "users//bob/"}, ["bob"]),
        ({"namespace": "/users"}, []),
        ({"namespacePath": "/users"}, ["bob", "bobby", "facts"]),
        ({"namespacePath": "users/bob/"}, ["bob", "facts"]),
        ({"namespacePath": "/"}, ["bob", "bobby", "facts"]),
    ],
)
def test_namespaces_are_exact_or_subtrees(
    bench: Bench, place: dict[str, str], found: list[str]
) -> None:
    """`namespace` is one place and `namespacePath` all below; /bob is never /bobby."""
    bench.record("bob", "/users/bob/")
    bench.record("bobby", "/users/bobby/")
    bench.record("facts", "/users/bob/facts/")
    listed = bench.list_memory_records(**place)["memoryRecordSummaries"]
    assert sorted(one["content"]["text"] for one in listed) == found


@pytest.mark.parametrize("place", [{}, {"namespace": "/a/", "namespacePath": "/a/"}])
def test_exactly_one_place_is_asked(bench: Bench, place: dict[str, str]) -> None:
    """Listing and searching take either a namespace or a path."""
    with Refused("ValidationException", "exactly one"):
        bench.list_memory_records(**place)
    with Refused("ValidationException", "exactly one"):
        bench.retrieve_memory_records(searchCriteria={"searchQuery": "x"}, **place)


def fill(bench: Bench) -> None:
    """Three records with metadata of every type."""
    bench.record("a", metadata={**texts(kind="fact"), "rank": {"numberValue": 1}})
    bench.record("b", metadata={**texts(kind="wish"), "rank": {"numberValue": 2.5}})
    bench.emulator.clock.advance(60)
    bench.record("c", metadata={"tags": {"stringListValue": ["x", "y"]}})


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (equals("kind", "fact"), "a"),
        (condition("rank", "EQUALS_TO", numberValue=2.5), "b"),
        (condition("rank", "GREATER_THAN", numberValue=1), "b"),
        (condition("rank", "GREATER_THAN_OR_EQUALS", numberValue=1), "ab"),
        (condition("rank", "LESS_THAN", numberValue=2.5), "a"),
        (condition("rank", "LESS_THAN_OR_EQUALS", numberValue=2.5), "ab"),
        (condition("tags", "CONTAINS", stringValue="y"), "c"),
        (condition("tags", "CONTAINS", stringListValue=["x", "z"]), ""),
        (condition("kind", "EXISTS"), "ab"),
        (condition("rank", "NOT_EXISTS"), "c"),
        (equals(f"{SYSTEM}recordType", "BASE"), "abc"),
    ],
)
def test_record_filters(bench: Bench, wanted: dict[str, Any], found: str) -> None:
    """Every operator works on the type it is made for, in lists and in searches."""
    fill(bench)
    assert "".join(sorted(bench.records(metadataFilters=[wanted]))) == found
    assert "".join(sorted(bench.found("a", metadataFilters=[wanted]))) == found


@pytest.mark.parametrize(("operator", "found"), [("BEFORE", "ab"), ("AFTER", "")])
def test_system_times_are_filtered(bench: Bench, operator: str, found: str) -> None:
    """BEFORE and AFTER compare the times that the service keeps."""
    fill(bench)
    now = bench.emulator.clock.now_datetime()
    wanted = condition(f"{SYSTEM}createdAt", operator, dateTimeValue=now)
    assert "".join(sorted(bench.records(metadataFilters=[wanted]))) == found


@pytest.mark.parametrize(
    "wanted",
    [
        equals("note", "x"),
        condition("note", "EXISTS"),
        equals("tags", "x"),
        condition("kind", "GREATER_THAN", numberValue=1),
        condition("kind", "EQUALS_TO", numberValue=1),
        condition("rank", "GREATER_THAN", stringValue="1"),
        condition("rank", "EXISTS", numberValue=1),
        condition("rank", "LESS_THAN"),
        condition("kind", "BEFORE", dateTimeValue=BIRTH),
        condition("kind", "CONTAINS", stringValue="f"),
    ],
)
def test_wrong_filters_are_refused(bench: Bench, wanted: dict[str, Any]) -> None:
    """A key that is not indexed, or an operator of another type, is refused, not empty."""
    with Refused("ValidationException"):
        bench.records(metadataFilters=[wanted])


def test_an_index_is_not_filled_backwards(bench: Bench) -> None:
    """Records written before their key was indexed are not found by it until rewritten."""
    record_id = bench.record("old", metadata=texts(note="x"))
    control = bench.clients.control
    added = [{"key": "note", "type": "STRING"}]
    control.update_memory(memoryId=bench.memory_id, addIndexedKeys=added)
    assert bench.records(metadataFilters=[equals("note", "x")]) == []
    bench.update(record_id)
    assert bench.records(metadataFilters=[equals("note", "x")]) == ["old"]


def test_search_orders_by_likeness(bench: Bench) -> None:
    """The nearest text comes first, with a score between 0 and 1; equal ones are tied by id."""
    for text in ("drinks green tea daily", "owns a red bicycle", "tea"):
        bench.record(text)
    assert bench.found("tea")[:2] == ["tea", "drinks green tea daily"]
    assert len(bench.found("tea", topK=1)) == 1
    answer = bench.retrieve_memory_records(
        namespacePath="/", searchCriteria={"searchQuery": "green tea"}
    )
    scores = [one["score"] for one in answer["memoryRecordSummaries"]]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)
    assert all("expiresAt" not in one for one in answer["memoryRecordSummaries"])


def test_search_pages_within_top_k(bench: Bench) -> None:
    """The best topK are paged by maxResults."""
    for number in range(5):
        bench.record(f"tea {number}")
    paginator = bench.clients.data.get_paginator("retrieve_memory_records")
    pages = paginator.paginate(
        memoryId=bench.memory_id,
        namespacePath="/",
        searchCriteria={"searchQuery": "tea", "topK": 3},
        PaginationConfig={"PageSize": 2},
    )
    assert [len(page["memoryRecordSummaries"]) for page in pages] == [2, 1]


def test_records_of_a_strategy(bench: Bench) -> None:
    """Lists and searches can be confined to a strategy."""
    (strategy_id,) = bench.strategy_ids()
    bench.record("mine", memoryStrategyId=strategy_id)
    bench.record("free")
    assert bench.records(memoryStrategyId=strategy_id) == ["mine"]
    assert bench.found("mine free", memoryStrategyId=strategy_id) == ["mine"]


def test_records_are_paged(bench: Bench) -> None:
    """The paginator sees every record once."""
    for number in range(7):
        bench.record(f"r{number}")
    paginator = bench.clients.data.get_paginator("list_memory_records")
    options = {"memoryId": bench.memory_id, "namespacePath": "/"}
    pages = list(paginator.paginate(**options, PaginationConfig={"PageSize": 3}))
    seen = [one["content"]["text"] for page in pages for one in page["memoryRecordSummaries"]]
    assert sorted(seen) == [f"r{number}" for number in range(7)]
    assert len(pages) == 3
