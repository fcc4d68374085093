"""The emulator beside moto, where both have an operation: equal but for stated differences."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from moto import mock_aws

from memkit.testing.agentcore import Clients, Emulator
from memkit.testing.agentcore.models import EXPECTED
from tests.agentcore.bench import BIRTH, equals, record, said, texts

ACTORS = ("ann", "a/b:c", "bob")
SESSIONS = ("s1", "s2")
COMMON = [
    *("CreateEvent", "GetEvent", "ListEvents", "DeleteEvent"),
    *("CreateMemory", "GetMemory", "ListMemories", "UpdateMemory", "DeleteMemory"),
]
PAGE = Path(__file__).parents[2] / "docs/agentcore-emulator.md"


def method_of(operation: str) -> str:
    """The name of an operation as a method of its client."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", operation).lower()


BEYOND = {method_of(operation) for operation in EXPECTED - {*COMMON}}
"""The operations that moto lacks."""


@pytest.fixture
def moto() -> Iterator[Clients]:
    """Clients of moto, which answers in this process."""
    with mock_aws():
        planes = ("bedrock-agentcore", "bedrock-agentcore-control")
        made = [boto3.client(plane, region_name="us-east-1") for plane in planes]
        yield Clients(*made)


@pytest.fixture
def both(moto: Clients, clients: Clients) -> dict[str, Clients]:
    """Either of the two, by name."""
    return {"moto": moto, "emulator": clients}


@dataclass
class Player:
    """Plays a script of operations and notes what can be compared."""

    clients: Clients
    memories: list[str] = field(default_factory=list)
    events: list[tuple[str, str, str, str]] = field(default_factory=list)
    notes: list[Any] = field(default_factory=list)

    def play(self, seed: int, steps: int) -> list[Any]:
        """Do the same random steps for the same seed; every event is later than the last."""
        chance = random.Random(seed)
        self.create_memory(chance, -1)
        for step in range(steps):
            name = chance.choice(COMMON)
            word = method_of(name)
            try:
                self.notes.append((name, getattr(self, word)(chance, step)))
            except ClientError as error:
                self.notes.append((name, error.response["Error"]["Code"]))
        return self.notes

    def create_memory(self, chance: random.Random, step: int) -> Any:
        """Create one; statuses take time on the service and none on moto."""
        memory = self.clients.control.create_memory(
            name=f"memory_{step + 1}", eventExpiryDuration=chance.randint(7, 365)
        )["memory"]
        self.memories.append(memory["id"])
        return _plain(memory)

    def get_memory(self, chance: random.Random, _: int) -> Any:
        """Read one, which may be deleted."""
        memory_id = chance.choice(self.memories)
        return _plain(self.clients.control.get_memory(memoryId=memory_id)["memory"])

    def update_memory(self, chance: random.Random, step: int) -> Any:
        """Change one, which may be deleted."""
        memory_id = chance.choice(self.memories)
        answer = self.clients.control.update_memory(memoryId=memory_id, description=f"d{step}")
        return _plain(answer["memory"])

    def delete_memory(self, chance: random.Random, _: int) -> Any:
        """Delete one of the later ones; the first keeps the events."""
        memory_id = chance.choice(self.memories[1:] or ["nobody-0123456789"])
        answer = self.clients.control.delete_memory(memoryId=memory_id)
        return self.memories.index(answer["memoryId"])

    def list_memories(self, _: random.Random, __: int) -> Any:
        """List all."""
        listed = self.clients.control.list_memories(maxResults=100)["memories"]
        return sorted(self.memories.index(memory["id"]) for memory in listed)

    def create_event(self, chance: random.Random, step: int) -> Any:
        """Write one."""
        actor, session = chance.choice(ACTORS), chance.choice(SESSIONS)
        event = self.clients.data.create_event(
            memoryId=self.memories[0],
            actorId=actor,
            sessionId=session,
            eventTimestamp=BIRTH + step + chance.random(),
            payload=chance.choice([[said(f"t{step}")], [{"blob": {"n": [step, None]}}]]),
            metadata=texts(step=str(step)),
        )["event"]
        self.events.append((actor, session, event["eventId"], str(step)))
        return _plain(event)

    def get_event(self, chance: random.Random, _: int) -> Any:
        """Read one, which may be deleted, or one of another session."""
        return _plain(self.clients.data.get_event(**self._some_event(chance))["event"])

    def delete_event(self, chance: random.Random, _: int) -> Any:
        """Delete one, which may be deleted."""
        self.clients.data.delete_event(**self._some_event(chance))

    def list_events(self, chance: random.Random, _: int) -> Any:
        """List a session in one page, in the order of time."""
        listed = self.clients.data.list_events(
            memoryId=self.memories[0],
            actorId=chance.choice(ACTORS),
            sessionId=chance.choice(SESSIONS),
            includePayloads=chance.random() < 0.5,
            maxResults=100,
        )["events"]
        return [_plain(one) for one in sorted(listed, key=lambda one: one["eventTimestamp"])]

    def _some_event(self, chance: random.Random) -> dict[str, str]:
        nobody = ("ann", "s1", "0000001760000000000#00000000", "")
        actor, session, event_id, _ = chance.choice(self.events or [nobody])
        params = {"actorId": actor, "sessionId": session, "eventId": event_id}
        if chance.random() < 0.2:
            params["sessionId"] = "s3"
        return {"memoryId": self.memories[0], **params}


def _plain(shown: dict[str, Any]) -> dict[str, Any]:
    """What is comparable: no ids, no time of the server, no status, nothing empty."""
    own = {"arn", "id", "memoryId", "eventId", "createdAt", "updatedAt", "status"}
    return {name: value for name, value in shown.items() if name not in own and value != []}


@pytest.mark.parametrize("seed", range(6))
def test_common_ground(both: dict[str, Clients], seed: int) -> None:
    """Random sequences within the common subset give the same answers and the same errors."""
    notes = {name: Player(clients).play(seed, 60) for name, clients in both.items()}
    assert notes["moto"] == notes["emulator"]


def memory_of(clients: Clients, **params: Any) -> str:
    """A new memory."""
    defaults = {"name": "demo", "eventExpiryDuration": 30}
    memory_id: str = clients.control.create_memory(**{**defaults, **params})["memory"]["id"]
    return memory_id


def put(clients: Clients, memory_id: str, at: float = 0.0, **params: Any) -> Any:
    """A new event."""
    defaults = {
        "actorId": "ann",
        "sessionId": "s1",
        "payload": [said("x")],
        "eventTimestamp": BIRTH + at,
    }
    return clients.data.create_event(memoryId=memory_id, **{**defaults, **params})["event"]


def listed(clients: Clients, memory_id: str, **params: Any) -> Any:
    """A page of events."""
    asked = {"actorId": "ann", "sessionId": "s1", **params}
    return clients.data.list_events(memoryId=memory_id, **asked)


def outcome(call: Callable[[], Any]) -> Any:
    """What a call returns, or the code of its error."""
    try:
        return call()
    except ClientError as error:
        return error.response["Error"]["Code"]


Probe = Callable[[Clients], Any]


def order(clients: Clients) -> Any:
    """The times of two events as they are listed."""
    memory_id = memory_of(clients)
    for at in (0, 1):
        put(clients, memory_id, at)
    events = listed(clients, memory_id)["events"]
    return [event["eventTimestamp"].timestamp() - BIRTH for event in events]


def event_id(clients: Clients) -> Any:
    """Whether an id has the documented form and the time of its event."""
    found = put(clients, memory_of(clients))["eventId"]
    return re.fullmatch(r"0000001760000000000#[0-9a-f]{8}", found) is not None


def event_filter(clients: Clients) -> Any:
    """How many events pass a filter that none fits."""
    memory_id = memory_of(clients)
    put(clients, memory_id)
    wanted = {"eventMetadata": [equals("kind", "x")]}
    return len(listed(clients, memory_id, filter=wanted)["events"])


def pages(clients: Clients) -> Any:
    """The size of the first page of 21 events, and whether there is more."""
    memory_id = memory_of(clients)
    for at in range(21):
        put(clients, memory_id, at)
    page = listed(clients, memory_id)
    return len(page["events"]), page.get("nextToken") is not None


def payload_default(clients: Clients) -> Any:
    """Whether payloads come unasked."""
    memory_id = memory_of(clients)
    put(clients, memory_id)
    return "payload" in listed(clients, memory_id)["events"][0]


def client_token(clients: Clients) -> Any:
    """How many events two calls with one token write."""
    memory_id = memory_of(clients)
    for _ in range(2):
        put(clients, memory_id, clientToken="t" * 40)
    return len(listed(clients, memory_id)["events"])


def unknown_memory(clients: Clients) -> Any:
    """A list of a memory that is not there."""
    return outcome(lambda: listed(clients, "nobody-0123456789")["events"])


def patterns(clients: Clients) -> Any:
    """Names and ids that the model forbids."""
    memory_id = memory_of(clients)
    calls = (
        lambda: put(clients, memory_id, actorId="a@b c") and "accepted",
        lambda: put(clients, memory_id, sessionId="s|1") and "accepted",
        lambda: memory_of(clients, name="bad-name!!") and "accepted",
        lambda: memory_of(clients, name="long", eventExpiryDuration=4_000) and "accepted",
    )
    return {outcome(call) for call in calls}


def empty_payload(clients: Clients) -> Any:
    """An event without content."""
    return outcome(lambda: put(clients, memory_of(clients), payload=[])["payload"])


def no_session(clients: Clients) -> Any:
    """An event without session."""
    memory_id = memory_of(clients)
    call = clients.data.create_event
    asked = {"memoryId": memory_id, "actorId": "ann", "payload": [said("x")]}
    answer = outcome(lambda: call(eventTimestamp=BIRTH, **asked)["event"]["sessionId"])
    return answer if answer == "ValidationException" else "generated"


def rootless_branch(clients: Clients) -> Any:
    """A branch that nobody forked."""
    call = outcome(lambda: put(clients, memory_of(clients), branch={"name": "alt"})["branch"])
    return call if isinstance(call, str) else "accepted"


def memory_id(clients: Clients) -> Any:
    """Whether an id begins with the name."""
    return memory_of(clients).startswith("demo-")


def twice_the_name(clients: Clients) -> Any:
    """A second memory of a name."""
    memory_of(clients)
    return outcome(lambda: memory_of(clients) and "accepted")


def after_update(clients: Clients) -> Any:
    """The status in the answer to an update."""
    answer = clients.control.update_memory(memoryId=memory_of(clients), description="d")
    return answer["memory"]["status"]


def templates(clients: Clients) -> Any:
    """What a strategy shows of its templates."""
    given = {"name": "facts", "namespaceTemplates": ["/{actorId}/"]}
    found = memory_of(clients, memoryStrategies=[{"semanticMemoryStrategy": given}])
    (strategy,) = clients.control.get_memory(memoryId=found)["memory"]["strategies"]
    return strategy.get("namespaceTemplates")


def indexed_keys(clients: Clients) -> Any:
    """Whether indexed keys are kept."""
    found = memory_of(clients, indexedKeys=[{"key": "k", "type": "STRING"}])
    return "indexedKeys" in clients.control.get_memory(memoryId=found)["memory"]


def memory_pages(clients: Clients) -> Any:
    """The size of a page of one memory."""
    for name in ("one", "two"):
        memory_of(clients, name=name)
    return len(clients.control.list_memories(maxResults=1)["memories"])


def extraction_settings(clients: Clients) -> Any:
    """A mode that the model lacks, and a variable that nobody declared."""
    memory_id = memory_of(clients)
    variables = {"namespaceVariables": {"agent": "gamma"}}
    calls = (
        lambda: put(clients, memory_id, extractionMode="NEVER") and "accepted",
        lambda: put(clients, memory_id, extractionConfig=variables) and "accepted",
    )
    return {outcome(call) for call in calls}


def malformed_memory(clients: Clients) -> Any:
    """A list of a memory whose id no memory can have."""
    return outcome(lambda: listed(clients, "no such memory!")["events"])


def changed_templates(clients: Clients) -> Any:
    """The templates of a strategy after they were modified."""
    given = {"name": "facts", "namespaceTemplates": ["/{actorId}/"]}
    found = memory_of(clients, memoryStrategies=[{"semanticMemoryStrategy": given}])
    (strategy,) = clients.control.get_memory(memoryId=found)["memory"]["strategies"]
    change = {"memoryStrategyId": strategy["strategyId"], "namespaceTemplates": ["/new/{actorId}/"]}
    clients.control.update_memory(
        memoryId=found, memoryStrategies={"modifyMemoryStrategies": [change]}
    )
    (strategy,) = clients.control.get_memory(memoryId=found)["memory"]["strategies"]
    return strategy.get("namespaceTemplates")


def namespace_keys(clients: Clients) -> Any:
    """Whether the keys of namespaces and the schema of records are kept."""
    schema = {"metadataSchema": [{"key": "topic", "type": "STRING"}]}
    given = {"name": "facts", "memoryRecordSchema": schema}
    found = memory_of(
        clients,
        namespaceKeys=[{"key": "agent"}],
        memoryStrategies=[{"semanticMemoryStrategy": given}],
    )
    memory = clients.control.get_memory(memoryId=found)["memory"]
    return "namespaceKeys" in memory, "memoryRecordSchema" in memory["strategies"][0]


def control_token(clients: Clients) -> Any:
    """How many memories two calls with one token make."""
    made = {memory_of(clients, name=name, clientToken="t" * 40) for name in ("one", "one")}
    return len(made)


def beyond(clients: Clients) -> Any:
    """What becomes of the operations that only one of them has."""
    memory_id = memory_of(clients)
    namespace = {"memoryId": memory_id, "namespace": "/a/"}
    found = f"mem-{'0' * 36}"
    said_now = {"conversational": said("x")["conversational"]}
    calls = {
        "list_actors": {"memoryId": memory_id},
        "list_sessions": {"memoryId": memory_id, "actorId": "ann"},
        "ingest_data": {
            "memoryId": memory_id,
            "actorId": "ann",
            "contentTimestamp": BIRTH,
            "source": {"inline": {"payload": [said_now]}},
        },
        "batch_create_memory_records": {"memoryId": memory_id, "records": [record()]},
        "batch_update_memory_records": {
            "memoryId": memory_id,
            "records": [{"memoryRecordId": found, "timestamp": BIRTH}],
        },
        "batch_delete_memory_records": {
            "memoryId": memory_id,
            "records": [{"memoryRecordId": found}],
        },
        "get_memory_record": {"memoryId": memory_id, "memoryRecordId": found},
        "delete_memory_record": {"memoryId": memory_id, "memoryRecordId": found},
        "list_memory_records": namespace,
        "retrieve_memory_records": {**namespace, "searchCriteria": {"searchQuery": "tea"}},
        "list_memory_extraction_jobs": {"memoryId": memory_id},
        "start_memory_extraction_job": {
            "memoryId": memory_id,
            "extractionJob": {"jobId": "0" * 8},
        },
    }
    return {name: _presence(getattr(clients.data, name), params) for name, params in calls.items()}


def _presence(call: Callable[..., Any], params: dict[str, Any]) -> str:
    try:
        outcome(lambda: call(**params))
    except NotImplementedError:
        return "not implemented"
    return "emulated"


DIFFERENCES: dict[str, dict[Probe, tuple[Any, Any]]] = {
    "order of events": {order: ([0, 1], [1, 0])},
    "event id": {event_id: (False, True)},
    "event filter, page size, token": {event_filter: (1, 0), pages: ((21, False), (20, True))},
    "`includePayloads` left out": {payload_default: (False, True)},
    "client token again, on either plane": {client_token: (2, 1), control_token: (2, 1)},
    "unknown memory, malformed id": {
        unknown_memory: ([], "ResourceNotFoundException"),
        malformed_memory: ([], "ValidationException"),
    },
    "`extractionMode`, `extractionConfig`": {
        extraction_settings: ({"accepted"}, {"ValidationException"})
    },
    "patterns, lengths, ranges": {patterns: ({"accepted"}, {"ValidationException"})},
    "empty payload, no session": {
        empty_payload: ("ValidationException", []),
        no_session: ("ValidationException", "generated"),
    },
    "branch without root": {rootless_branch: ("accepted", "ValidationException")},
    "id of a memory": {memory_id: (False, True)},
    "second memory of a name": {twice_the_name: ("accepted", "ValidationException")},
    "status after an update": {after_update: ("ACTIVE", "UPDATING")},
    "`namespaceTemplates` (also modified ones), `indexedKeys`, `namespaceKeys`, "
    "`memoryRecordSchema`": {
        templates: (None, ["/{actorId}/"]),
        changed_templates: (None, ["/new/{actorId}/"]),
        indexed_keys: (False, True),
        namespace_keys: ((False, False), (True, True)),
    },
    "pages of memories": {memory_pages: (2, 1)},
    "all records, jobs, actors, sessions, ingestion": {
        beyond: (dict.fromkeys(BEYOND, "not implemented"), dict.fromkeys(BEYOND, "emulated"))
    },
}
"""Each point of the page, with what shows it: moto's answer, and the emulator's."""

PROBES = {probe: both for probes in DIFFERENCES.values() for probe, both in probes.items()}


@pytest.mark.parametrize("probe", PROBES, ids=lambda probe: probe.__name__)
def test_difference(both: dict[str, Clients], probe: Probe) -> None:
    """Each known difference is as stated: moto's answer, and the emulator's."""
    assert (probe(both["moto"]), probe(both["emulator"])) == PROBES[probe]


def test_the_page_states_what_is_held_here() -> None:
    """No difference is on the page without a probe, and none is held that the page leaves out."""
    table = PAGE.read_text().split("| point | moto | emulator |\n")[1].splitlines()
    points = [row.split(" | ")[0].removeprefix("| ") for row in table[1:] if row.startswith("|")]
    assert points == list(DIFFERENCES)


def test_both_saw_the_requests(agentcore: Emulator, both: dict[str, Clients]) -> None:
    """moto and the emulator are really two: each counts its own requests."""
    memory_of(both["moto"])
    assert agentcore.log.counts() == {}
    memory_of(both["emulator"])
    assert agentcore.log.counts() == {"CreateMemory": 1}
