"""The control plane: memories, their status, their strategies."""

from __future__ import annotations

import re
from typing import Any

import pytest

from memkit.testing.agentcore import Clients, Emulator
from tests.agentcore.bench import Bench, Refused, new_memory

PROMPT = {"appendToPrompt": "be brief", "modelId": "m"}
STRICT = {"key": "kind", "extractionType": "STRICTLY_CONSISTENT"}


def semantic(name: str = "facts", **given: Any) -> dict[str, Any]:
    """A semantic strategy."""
    return {"semanticMemoryStrategy": {"name": name, **given}}


def custom(**configuration: Any) -> dict[str, Any]:
    """A custom strategy."""
    return {"customMemoryStrategy": {"name": "own", "configuration": configuration}}


def test_a_memory_is_created_and_read(clients: Clients) -> None:
    """The id is the name and ten characters; the answer says CREATING, the next read ACTIVE."""
    memory = clients.control.create_memory(
        name="demo", eventExpiryDuration=30, description="d", memoryStrategies=[semantic()]
    )["memory"]
    assert re.fullmatch(r"demo-[A-Za-z0-9]{10}", memory["id"])
    assert memory["arn"].endswith(f":memory/{memory['id']}")
    assert memory["status"] == memory["strategies"][0]["status"] == "CREATING"
    found = clients.control.get_memory(memoryId=memory["id"])["memory"]
    assert (found["status"], found["name"], found["description"]) == ("ACTIVE", "demo", "d")
    assert found["strategies"][0]["status"] == "ACTIVE"


def test_the_waiter_of_boto_works(clients: Clients) -> None:
    """`memory_created` ends as soon as the memory is active."""
    memory_id = new_memory(clients)
    clients.control.get_waiter("memory_created").wait(memoryId=memory_id)


def test_lists_show_no_names(clients: Clients) -> None:
    """ListMemories pages through ids and status."""
    ids = [new_memory(clients, f"m{number}") for number in range(3)]
    paginator = clients.control.get_paginator("list_memories")
    pages = list(paginator.paginate(PaginationConfig={"PageSize": 2}))
    listed = [one for page in pages for one in page["memories"]]
    assert sorted(one["id"] for one in listed) == sorted(ids)
    assert "name" not in listed[0]
    assert len(pages) == 2


def test_a_memory_passes_through_its_states(agentcore: Emulator, clients: Clients) -> None:
    """CREATING, UPDATING and DELETING last their time and refuse changes meanwhile."""
    agentcore.switches.update(create_delay=60, update_delay=60, delete_delay=60)
    control, memory_id = clients.control, new_memory(clients)
    bench = Bench(agentcore, clients, memory_id)
    with Refused("ValidationException", "not active"):
        bench.event()
    with Refused("ValidationException", "CREATING"):
        control.delete_memory(memoryId=memory_id)
    agentcore.clock.advance(60)
    assert control.update_memory(memoryId=memory_id)["memory"]["status"] == "UPDATING"
    bench.event()
    with Refused("ValidationException", "UPDATING"):
        control.delete_memory(memoryId=memory_id)
    agentcore.clock.advance(60)
    assert control.delete_memory(memoryId=memory_id)["status"] == "DELETING"
    with Refused("ValidationException", "not active"):
        bench.event()
    agentcore.clock.advance(60)
    with Refused("ResourceNotFoundException"):
        control.get_memory(memoryId=memory_id)
    assert control.list_memories()["memories"] == []


@pytest.mark.parametrize(
    ("operation", "params"),
    [
        ("list_events", {"actorId": "a", "sessionId": "s"}),
        ("list_memory_records", {"namespace": "/"}),
        ("list_memory_extraction_jobs", {}),
        ("batch_delete_memory_records", {"records": []}),
    ],
)
def test_an_unknown_memory_is_not_found(
    clients: Clients, operation: str, params: dict[str, Any]
) -> None:
    """Every operation refuses a memory that is not there."""
    with Refused("ResourceNotFoundException"):
        getattr(clients.data, operation)(memoryId="nobody-0123456789", **params)


def test_a_memory_answers_to_its_arn(bench: Bench) -> None:
    """The data plane takes the ARN for the id, but only the right one."""
    memory = bench.clients.control.get_memory(memoryId=bench.memory_id)["memory"]
    assert bench.event(memoryId=memory["arn"])["memoryId"] == bench.memory_id
    with Refused("ResourceNotFoundException"):
        bench.event(memoryId=memory["arn"].replace("us-east-1", "eu-west-1"))


def test_names_are_unique_until_deleted(clients: Clients) -> None:
    """A second memory of a name "already exists"; after deletion the name is free."""
    memory_id = new_memory(clients)
    with Refused("ValidationException", "already exists"):
        new_memory(clients)
    clients.control.delete_memory(memoryId=memory_id)
    assert new_memory(clients) != memory_id


def test_quotas_hold(clients: Clients) -> None:
    """A memory has at most six strategies and ten indexed keys."""
    with Refused("ServiceQuotaExceededException"):
        new_memory(clients, memoryStrategies=[semantic(f"s{number}") for number in range(7)])
    keys = [{"key": f"k{number}", "type": "STRING"} for number in range(10)]
    memory_id = new_memory(clients, indexedKeys=keys)
    with Refused("ValidationException", "at most 10"):
        clients.control.update_memory(
            memoryId=memory_id, addIndexedKeys=[{"key": "more", "type": "STRING"}]
        )
    found = clients.control.get_memory(memoryId=memory_id)["memory"]
    assert found["indexedKeys"] == keys
    assert found["status"] == "ACTIVE"


@pytest.mark.parametrize(
    ("strategy", "shown", "configuration"),
    [
        (semantic(), "SEMANTIC", None),
        ({"summaryMemoryStrategy": {"name": "s"}}, "SUMMARIZATION", None),
        ({"userPreferenceMemoryStrategy": {"name": "s"}}, "USER_PREFERENCE", None),
        ({"episodicMemoryStrategy": {"name": "s"}}, "EPISODIC", None),
        (
            custom(semanticOverride={"extraction": PROMPT, "consolidation": PROMPT}),
            "CUSTOM",
            {
                "type": "SEMANTIC_OVERRIDE",
                "extraction": {
                    "customExtractionConfiguration": {"semanticExtractionOverride": PROMPT}
                },
                "consolidation": {
                    "customConsolidationConfiguration": {"semanticConsolidationOverride": PROMPT}
                },
            },
        ),
        (
            custom(summaryOverride={"consolidation": PROMPT}),
            "CUSTOM",
            {
                "type": "SUMMARY_OVERRIDE",
                "consolidation": {
                    "customConsolidationConfiguration": {"summaryConsolidationOverride": PROMPT}
                },
            },
        ),
        (
            custom(userPreferenceOverride={"extraction": PROMPT}),
            "CUSTOM",
            {
                "type": "USER_PREFERENCE_OVERRIDE",
                "extraction": {
                    "customExtractionConfiguration": {"userPreferenceExtractionOverride": PROMPT}
                },
            },
        ),
        (
            custom(episodicOverride={"reflection": {**PROMPT, "namespaceTemplates": ["/r/"]}}),
            "CUSTOM",
            {
                "type": "EPISODIC_OVERRIDE",
                "reflection": {
                    "customReflectionConfiguration": {
                        "episodicReflectionOverride": {**PROMPT, "namespaceTemplates": ["/r/"]}
                    }
                },
            },
        ),
    ],
    ids=[
        *("semantic", "summary", "preference", "episodic"),
        *("semantic override", "summary override", "preference override", "episodic override"),
    ],
)
def test_every_strategy_is_shown(
    clients: Clients, strategy: dict[str, Any], shown: str, configuration: Any
) -> None:
    """Each kind keeps its name, type, templates and configuration."""
    memory_id = new_memory(clients, memoryStrategies=[strategy])
    (found,) = clients.control.get_memory(memoryId=memory_id)["memory"]["strategies"]
    assert found["type"] == shown
    assert found.get("configuration") == configuration
    assert found["namespaces"] == found["namespaceTemplates"]
    assert "{actorId}" in found["namespaceTemplates"][0]


def test_self_managed_defaults(clients: Clients) -> None:
    """Triggers and window that are left out are filled in."""
    invocation = {"topicArn": "arn:aws:sns:us-east-1:1:t", "payloadDeliveryBucketName": "bucket"}
    own = custom(selfManagedConfiguration={"invocationConfiguration": invocation})
    memory_id = new_memory(clients, memoryStrategies=[own])
    (found,) = clients.control.get_memory(memoryId=memory_id)["memory"]["strategies"]
    managed = found["configuration"]["selfManagedConfiguration"]
    assert managed["invocationConfiguration"] == invocation
    assert managed["triggerConditions"]
    assert managed["historicalContextWindowSize"] == 4


def changed(clients: Clients, memory_id: str, **changes: Any) -> list[dict[str, Any]]:
    """Change strategies; return those there are then."""
    memory = clients.control.update_memory(memoryId=memory_id, memoryStrategies=changes)["memory"]
    strategies: list[dict[str, Any]] = memory["strategies"]
    return strategies


def test_strategies_are_added_modified_and_deleted(clients: Clients) -> None:
    """One update may do all three."""
    memory_id = new_memory(clients, memoryStrategies=[semantic("old"), semantic("kept")])
    old, kept = clients.control.get_memory(memoryId=memory_id)["memory"]["strategies"]
    changes = {"description": "new", "namespaceTemplates": ["/n/{actorId}/"]}
    found = changed(
        clients,
        memory_id,
        deleteMemoryStrategies=[{"memoryStrategyId": old["strategyId"]}],
        modifyMemoryStrategies=[{"memoryStrategyId": kept["strategyId"], **changes}],
        addMemoryStrategies=[semantic("added")],
    )
    assert [one["name"] for one in found] == ["kept", "added"]
    assert found[0]["description"] == "new"
    assert found[0]["namespaceTemplates"] == ["/n/{actorId}/"]


def test_an_update_is_whole_or_nothing(clients: Clients) -> None:
    """A change that is refused leaves the memory as it was."""
    memory_id = new_memory(clients, memoryStrategies=[semantic()])
    with Refused("ResourceNotFoundException", "Strategy"):
        clients.control.update_memory(
            memoryId=memory_id,
            description="lost",
            memoryStrategies={
                "addMemoryStrategies": [semantic("added")],
                "modifyMemoryStrategies": [{"memoryStrategyId": "nobody"}],
            },
        )
    found = clients.control.get_memory(memoryId=memory_id)["memory"]
    assert "description" not in found
    assert [one["name"] for one in found["strategies"]] == ["facts"]


def test_an_override_is_modified(clients: Clients) -> None:
    """A modification reaches into the configuration, but never changes its type."""
    own = custom(semanticOverride={"extraction": PROMPT, "consolidation": PROMPT})
    memory_id = new_memory(clients, memoryStrategies=[own])
    (before,) = clients.control.get_memory(memoryId=memory_id)["memory"]["strategies"]
    named = {"memoryStrategyId": before["strategyId"]}
    brief = {"semanticExtractionOverride": {**PROMPT, "modelId": "other"}}
    configuration = {"extraction": {"customExtractionConfiguration": brief}}
    (after,) = changed(
        clients, memory_id, modifyMemoryStrategies=[{**named, "configuration": configuration}]
    )
    custom_part = after["configuration"]["extraction"]["customExtractionConfiguration"]
    assert custom_part == brief
    assert "consolidation" in after["configuration"]
    foreign = {"episodicExtractionOverride": PROMPT}
    configuration = {"extraction": {"customExtractionConfiguration": foreign}}
    with Refused("ValidationException", "does not fit"):
        changed(
            clients, memory_id, modifyMemoryStrategies=[{**named, "configuration": configuration}]
        )


@pytest.mark.parametrize(
    ("strategy", "complaint"),
    [
        (semantic(namespaceTemplates=["/{agent}/"]), "placeholder"),
        (semantic(memoryRecordSchema={"metadataSchema": [{**STRICT, "key": "x"}]}), "indexed"),
        (semantic(memoryRecordSchema={"metadataSchema": [{**STRICT, "key": "n"}]}), "as STRING"),
        (
            semantic(memoryRecordSchema={"metadataSchema": [{**STRICT, "type": "NUMBER"}]}),
            "STRING",
        ),
        (semantic(memoryRecordSchema={"metadataSchema": [STRICT] * 4}), "at most 3"),
        (
            semantic(
                memoryRecordSchema={
                    "metadataSchema": [
                        {
                            **STRICT,
                            "extractionConfig": {"llmExtractionConfig": {"definition": "d"}},
                        }
                    ]
                }
            ),
            "extractionConfig",
        ),
        (
            {
                "summaryMemoryStrategy": {
                    "name": "s",
                    "memoryRecordSchema": {"metadataSchema": [STRICT]},
                }
            },
            "summary",
        ),
    ],
)
def test_impossible_strategies_are_refused(
    clients: Clients, strategy: dict[str, Any], complaint: str
) -> None:
    """Placeholders nobody fills and strict keys against the rules are refused at once."""
    with Refused("ValidationException", complaint):
        new_memory(
            clients,
            memoryStrategies=[strategy],
            indexedKeys=[{"key": "kind", "type": "STRING"}, {"key": "n", "type": "NUMBER"}],
        )
    assert clients.control.list_memories()["memories"] == []


def test_two_strategies_of_one_name_are_refused(clients: Clients) -> None:
    """Names of strategies are unique in a memory."""
    with Refused("ValidationException", "same name"):
        new_memory(clients, memoryStrategies=[semantic(), semantic()])


def test_a_pattern_that_is_none_is_refused(clients: Clients) -> None:
    """A namespace key with a broken pattern is refused when it is declared."""
    with Refused("ValidationException", "regexPattern"):
        new_memory(clients, namespaceKeys=[{"key": "agent", "validation": {"regexPattern": "("}}])
