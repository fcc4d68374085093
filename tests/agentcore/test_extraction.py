"""Server-side extraction: when it runs, what it sees, where its records go."""

from __future__ import annotations

from typing import Any

import pytest

from memkit.testing.agentcore import Emulator, Extraction, Source
from tests.agentcore.bench import BIRTH, Bench, Refused, new_memory, said, texts

STRICT = {"key": "tenant", "type": "STRING", "extractionType": "STRICTLY_CONSISTENT"}
LOOSE = {"key": "topic", "type": "STRING"}
VARIED = "/{agent}/{actorId}/"


@pytest.fixture
def memory_options() -> dict[str, Any]:
    """Semantic facts with a schema, preferences by agent, and a summary per session."""
    facts = {
        "name": "facts",
        "namespaceTemplates": ["/facts/{actorId}/"],
        "memoryRecordSchema": {"metadataSchema": [STRICT, LOOSE]},
    }
    return {
        "indexedKeys": [{"key": "tenant", "type": "STRING"}],
        "memoryStrategies": [
            {"semanticMemoryStrategy": facts},
            {"summaryMemoryStrategy": {"name": "digest"}},
        ],
    }


def facts(bench: Bench, actor: str = "ann") -> list[str]:
    """The texts of an actor's facts."""
    return bench.records(namespace=f"/facts/{actor}/")


def test_extraction_takes_its_time(bench: Bench) -> None:
    """Nothing is there until the delay has passed; then one record per text of the user."""
    bench.event(payload=[said("I like tea"), said("Noted", "ASSISTANT"), said("And cake")])
    bench.emulator.clock.advance(29)
    assert facts(bench) == []
    bench.emulator.clock.advance(1)
    assert sorted(facts(bench)) == ["And cake", "I like tea"]


def test_a_summary_is_rewritten(bench: Bench) -> None:
    """A session has one summary in its own namespace, which grows."""
    for number, text in enumerate(("hello", "goodbye")):
        bench.event(text, at=number)
        bench.emulator.clock.advance(60)
    strategy_id = bench.strategy_ids()[1]
    place = f"/strategies/{strategy_id}/actors/ann/sessions/s1/"
    assert bench.records(namespace=place) == ["USER: hello\nUSER: goodbye"]


def test_skipped_events_and_blobs_are_not_seen(bench: Bench) -> None:
    """SKIP keeps an event out of extraction; blobs are never read, JSON documents are."""
    bench.event("secret", extractionMode="SKIP")
    bench.event(at=1, payload=[{"blob": {"text": "hidden"}}])
    bench.event(at=2, payload=[{"json": {"content": {"likes": "tea"}}}])
    bench.emulator.clock.advance(60)
    assert facts(bench) == ['{"likes":"tea"}']


def test_a_deleted_event_is_not_extracted(bench: Bench) -> None:
    """An event that went before its extraction leaves nothing."""
    event = bench.event()
    bench.delete_event(actorId="ann", sessionId="s1", eventId=event["eventId"])
    bench.emulator.clock.advance(60)
    assert bench.records() == []


def test_an_event_that_expired_is_not_extracted(bench: Bench) -> None:
    """An extraction that comes after the end of its event's life finds nothing."""
    bench.emulator.faults.add("Extraction", "extraction_delayed", seconds=31 * 86_400)
    bench.event()
    bench.emulator.clock.advance(40 * 86_400)
    assert bench.records() == []


def test_metadata_passes_only_through_the_schema(bench: Bench) -> None:
    """Strict keys are copied, others are not; records of different values never merge."""
    for number, tenant in enumerate(("red", "blue", "red")):
        metadata = texts(tenant=tenant, topic="drinks", note="x")
        bench.event("I like tea", at=number, metadata=metadata)
    bench.emulator.clock.advance(60)
    listed = bench.list_memory_records(namespace="/facts/ann/")["memoryRecordSummaries"]
    assert sorted(one["metadata"]["tenant"]["stringValue"] for one in listed) == ["blue", "red"]
    assert all("topic" not in one["metadata"] for one in listed)
    assert all("note" not in one["metadata"] for one in listed)


def test_extracted_records_say_so(bench: Bench) -> None:
    """They carry their strategy and the type EXTRACTED, created when the extraction ran."""
    bench.event("I like tea")
    bench.emulator.clock.advance(3_600)
    (one,) = bench.list_memory_records(namespace="/facts/ann/")["memoryRecordSummaries"]
    assert one["memoryStrategyId"] == bench.strategy_ids()[0]
    kind = one["metadata"]["x-amz-agentcore-memory-recordType"]
    assert kind == {"stringValue": "EXTRACTED"}
    age = bench.emulator.clock.now_datetime() - one["createdAt"]
    assert age.total_seconds() == pytest.approx(3_570, abs=0.01)


def test_an_extractor_can_be_replaced(bench: Bench) -> None:
    """Tests bring their own function, which may fill keys of the schema."""

    def shout(source: Source) -> list[Extraction]:
        return [Extraction(f"{source.event.actor_id}!", {"topic": {"stringValue": "noise"}})]

    bench.emulator.extractors["semantic"] = shout
    bench.event()
    bench.emulator.clock.advance(60)
    (one,) = bench.list_memory_records(namespace="/facts/ann/")["memoryRecordSummaries"]
    assert one["content"]["text"] == "ann!"
    assert one["metadata"]["topic"] == {"stringValue": "noise"}


def test_ingested_data_reaches_the_records(bench: Bench) -> None:
    """IngestData is extracted although no event is kept."""
    source = {"inline": {"payload": [said("I like tea")]}}
    bench.ingest_data(actorId="ann", contentTimestamp=BIRTH, source=source)
    bench.emulator.clock.advance(60)
    assert facts(bench) == ["I like tea"]


def varied_memory(bench: Bench, **validation: Any) -> Bench:
    """A memory whose template has a variable of its own."""
    key = {"key": "agent", **({"validation": validation} if validation else {})}
    strategy = {"userPreferenceMemoryStrategy": {"name": "likes", "namespaceTemplates": [VARIED]}}
    memory_id = new_memory(
        bench.clients, "varied", namespaceKeys=[key], memoryStrategies=[strategy]
    )
    return Bench(bench.emulator, bench.clients, memory_id)


def test_variables_fill_the_template(bench: Bench) -> None:
    """namespaceVariables stand in the namespace of what is extracted."""
    varied = varied_memory(bench, allowedValues=["guide"])
    varied.event("tea", extractionConfig={"namespaceVariables": {"agent": "guide"}})
    bench.emulator.clock.advance(60)
    assert varied.records(namespace="/guide/ann/") == ["tea"]


@pytest.mark.parametrize(
    ("validation", "variables"),
    [
        ({"allowedValues": ["guide"]}, {"agent": "other"}),
        ({"regexPattern": "g.*"}, {"agent": "other"}),
        ({}, {"unknown": "x"}),
    ],
)
def test_variables_are_checked(
    bench: Bench, validation: dict[str, Any], variables: dict[str, str]
) -> None:
    """A variable must be declared and fit its rule, or the event is refused."""
    varied = varied_memory(bench, **validation)
    with Refused("ValidationException", "namespaceVariables"):
        varied.event(extractionConfig={"namespaceVariables": variables})


def test_a_failed_job_is_listed_and_started_again(bench: Bench) -> None:
    """A namespace that cannot be made fails the job; only failed jobs are listed."""
    varied = varied_memory(bench)
    event = varied.event("tea")
    bench.emulator.clock.advance(60)
    (job,) = varied.list_memory_extraction_jobs(filter={"actorId": "ann"})["jobs"]
    assert job["status"] == "FAILED"
    assert job["messages"]["messagesList"] == [{"eventId": event["eventId"], "messageIndex": 0}]
    assert varied.list_memory_extraction_jobs(filter={"actorId": "bob"})["jobs"] == []
    started = varied.start_memory_extraction_job(extractionJob={"jobId": job["jobID"]})
    assert started["jobId"] == job["jobID"]
    assert varied.list_memory_extraction_jobs()["jobs"] == []
    with Refused("ResourceNotFoundException"):
        varied.start_memory_extraction_job(extractionJob={"jobId": job["jobID"]})
    bench.emulator.clock.advance(60)
    assert len(varied.list_memory_extraction_jobs()["jobs"]) == 1


@pytest.mark.parametrize("error", [ValueError("hush"), KeyError("hush")])
def test_an_extractor_that_raises_fails_its_own_job(bench: Bench, error: Exception) -> None:
    """Those of other events go on, and the failed one says what was raised."""

    def picky(source: Source) -> list[Extraction]:
        if source.event.actor_id == "a0":
            raise error
        return [Extraction(f"{source.event.actor_id}!")]

    bench.emulator.extractors["semantic"] = picky
    for number in range(5):
        bench.event(actorId=f"a{number}")
    bench.emulator.clock.advance(60)
    (job,) = bench.list_memory_extraction_jobs(filter={"actorId": "a0"})["jobs"]
    assert job["failureReason"] == f"the extractor raised {type(error).__name__}"
    assert [facts(bench, f"a{number}") for number in range(1, 5)] == [
        [f"a{number}!"] for number in range(1, 5)
    ]


def test_what_no_answer_could_show_is_not_extracted(bench: Bench) -> None:
    """An empty text, more keys than a record may have: the job fails and nothing is kept."""
    schema = [{"key": f"k{number}", "type": "STRING"} for number in range(18)]
    wide = {"name": "wide", "memoryRecordSchema": {"metadataSchema": schema}}
    strategies = {"addMemoryStrategies": [{"semanticMemoryStrategy": wide}]}
    bench.clients.control.update_memory(memoryId=bench.memory_id, memoryStrategies=strategies)
    found = [Extraction(""), Extraction("x", texts(**{each["key"]: "v" for each in schema}))]
    reasons: set[str] = set()
    for extraction in found:
        bench.emulator.extractors["semantic"] = lambda _, one=extraction: [one]
        bench.event()
        bench.emulator.clock.advance(60)
        reasons |= {job["failureReason"] for job in bench.list_memory_extraction_jobs()["jobs"]}
    assert reasons == {
        "the extractor returned an empty text",
        "the extractor returned more than 17 keys",
    }
    assert "" not in bench.records(namespacePath="/")


def test_records_of_a_strategy_expire_with_it(bench: Bench) -> None:
    """The life that a strategy sets holds for what it extracts."""
    life = {"recordExpiryDurationDays": 31}
    strategy = {"name": "brief", "recordExpirySpecification": life}
    memory_id = new_memory(
        bench.clients, "brief", memoryStrategies=[{"semanticMemoryStrategy": strategy}]
    )
    brief = Bench(bench.emulator, bench.clients, memory_id)
    brief.event("tea")
    bench.emulator.clock.advance(60)
    assert brief.records() == ["tea"]
    bench.emulator.clock.advance(31 * 86_400)
    assert brief.records() == []


def test_self_managed_strategies_extract_nothing(agentcore: Emulator) -> None:
    """Nothing is sent to a topic, and nothing is extracted."""
    invocation = {"topicArn": "arn:aws:sns:us-east-1:1:t", "payloadDeliveryBucketName": "bucket"}
    managed = {"selfManagedConfiguration": {"invocationConfiguration": invocation}}
    strategy = {"customMemoryStrategy": {"name": "own", "configuration": managed}}
    clients = agentcore.boto_clients()
    bench = Bench(agentcore, clients, new_memory(clients, memoryStrategies=[strategy]))
    bench.event("tea")
    agentcore.clock.advance(3_600)
    assert bench.records() == []
