"""Two thousand requests out of the models: nothing but modelled answers."""

from __future__ import annotations

import http.client
import json
import re
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import botocore.parsers
import botocore.session
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memkit.testing.agentcore import Emulator
from memkit.testing.agentcore.models import EXPECTED, PLANES, Operation, load_operations
from memkit.testing.agentcore.shapes import Shape
from memkit.testing.agentcore.validation import Walker
from memkit.testing.agentcore.values import as_members
from tests.agentcore.bench import BIRTH, Bench, new_memory, texts

REQUESTS = 2_000
STOCK = 150
KEPT_NAMESPACE = "/a/"
MEANINGFUL = {
    "ActorId": ["ann", "a/b:c"],
    "SessionId": ["s1", "s2"],
    "Namespace": [KEPT_NAMESPACE, "/", "/facts/ann/"],
    "BranchName": ["main", "alt"],
    "MetadataKey": ["kind", "rank", "tags", "x-amz-agentcore-memory-createdAt"],
}
JUNK = st.sampled_from(
    [None, True, 0, -1, 1.5, 2**70, "", "é\n", "x" * 300, [], {}, [None], {"a": 1}]
)
DOCUMENTS = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=2), inner, max_size=2)
    ),
    max_leaves=4,
)


class World:
    """An emulator that is full of everything, and one connection to it."""

    def __init__(self, emulator: Emulator) -> None:
        self.emulator = emulator
        self.connection = http.client.HTTPConnection(urlsplit(emulator.endpoint_url).netloc)
        self.ids: dict[str, list[str]] = {}
        self.spare: list[str] = []
        self.sent = 0
        self.succeeded: set[str] = set()
        self._fill()

    def send(self, operation: Operation, params: dict[str, Any]) -> tuple[int, Any, bytes]:
        """Ask, with parameters where the model puts them."""
        self.sent += 1
        body, query, path = dict(params), {}, operation.path
        for name, member in operation.request.members.items():
            if member.location == "uri":
                path = path.replace(f"{{{member.wire_name}}}", quote(str(body.pop(name)), safe=""))
            elif member.location == "querystring" and name in body:
                query[member.wire_name] = str(body.pop(name))
        target = f"{path}?{urlencode(query)}" if query else path
        self.connection.request(operation.method, target, json.dumps(body))
        answer = self.connection.getresponse()
        return answer.status, answer.headers, answer.read()

    def _fill(self) -> None:
        clients = self.emulator.boto_clients()
        facts = {"name": "facts", "namespaceTemplates": ["/facts/{actorId}/"]}
        bench = Bench(
            self.emulator,
            clients,
            new_memory(
                clients,
                indexedKeys=[
                    {"key": "kind", "type": "STRING"},
                    {"key": "rank", "type": "NUMBER"},
                    {"key": "tags", "type": "STRINGLIST"},
                ],
                memoryStrategies=[{"semanticMemoryStrategy": facts}],
            ),
        )
        records = [bench.record(f"r{number}", metadata=texts(kind="x")) for number in range(STOCK)]
        self.emulator.faults.add("Extraction", "extraction_fails", times=STOCK // 2)
        events = [bench.event(at=at)["eventId"] for at in range(STOCK)]
        self.emulator.clock.advance(60)
        jobs = bench.list_memory_extraction_jobs(maxResults=50)["jobs"]
        self.ids = {
            "MemoryId": [bench.memory_id],
            "MemoryRecordId": records,
            "EventId": events,
            "MemoryStrategyId": bench.strategy_ids(),
            "jobId": [job["jobID"] for job in jobs],
        }
        self.spare = [new_memory(clients, name=f"spare{number}") for number in range(5)]
        clients.data.close()
        clients.control.close()


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    """One world for all requests: what they leave behind meets the next."""
    with Emulator() as emulator:
        made = World(emulator)
        yield made
        made.connection.close()
        assert emulator.crashes == []
        assert made.sent >= REQUESTS
        assert made.succeeded >= EXPECTED


def values(shape: Shape, ids: dict[str, list[str]]) -> st.SearchStrategy[Any]:
    """Values of a shape: mostly right, sometimes not."""
    right = _right(shape, ids)
    return st.integers(0, 24).flatmap(lambda dice: JUNK if dice == 0 else right)


def _right(shape: Shape, ids: dict[str, list[str]]) -> st.SearchStrategy[Any]:
    if shape.is_document:
        return DOCUMENTS
    if known := ids.get(shape.name) or MEANINGFUL.get(shape.name):
        return st.sampled_from(known)
    makers: dict[str, Callable[[], st.SearchStrategy[Any]]] = {
        "structure": lambda: st.deferred(lambda: _structures(shape, ids)),
        "list": lambda: _collections(shape, ids),
        "map": lambda: _collections(shape, ids),
        "string": lambda: _strings(shape),
        "integer": lambda: _integers(shape),
        "double": lambda: st.floats(-10, 10),
        "timestamp": lambda: st.floats(BIRTH, BIRTH + 100) | st.just(int(BIRTH)),
        "boolean": st.booleans,
    }
    return makers[shape.kind]()


def _integers(shape: Shape) -> st.SearchStrategy[int]:
    low = int(shape.minimum or 0)
    return st.integers(low, int(shape.maximum or low + 100))


def _structures(shape: Shape, ids: dict[str, list[str]]) -> st.SearchStrategy[Any]:
    members = {
        name: st.sampled_from(ids[name]) if name in ids else values(member.shape, ids)
        for name, member in shape.members.items()
    }
    if shape.is_union:
        return st.one_of(*(st.fixed_dictionaries({name: one}) for name, one in members.items()))
    required = {name: one for name, one in members.items() if name in shape.required}
    optional = {name: one for name, one in members.items() if name not in shape.required}
    return st.fixed_dictionaries(required, optional=optional)


def _collections(shape: Shape, ids: dict[str, list[str]]) -> st.SearchStrategy[Any]:
    assert shape.element is not None
    # Keys and strategies are unique in a memory, which two of them seldom are by chance.
    most = 1 if re.search("Key|Strateg", shape.name) else 3
    low, high = int(shape.minimum or 0), min(most, int(shape.maximum or most))
    inner = values(shape.element, ids)
    if shape.key is None:
        return st.lists(inner, min_size=low, max_size=high)
    return st.dictionaries(_right(shape.key, ids), inner, min_size=low, max_size=high)


def _strings(shape: Shape) -> st.SearchStrategy[str]:
    if shape.choices:
        return st.sampled_from(sorted(shape.choices))
    if shape.pattern is not None:
        return st.from_regex(re.compile(shape.pattern.pattern, re.ASCII), fullmatch=True)
    return st.text("ab /.{}", min_size=int(shape.minimum or 0), max_size=8)


OPERATIONS = load_operations()
PARSER = botocore.parsers.create_parser("rest-json")
MODELS = {plane: botocore.session.Session().get_service_model(plane) for plane in PLANES}
GENERATED: dict[str, st.SearchStrategy[Any]] = {}


@settings(
    max_examples=REQUESTS,
    deadline=None,
    database=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)
@given(data=st.data())
def test_only_modelled_answers(world: World, data: st.DataObject) -> None:
    """Every answer is the operation's own, or one of its errors, and botocore parses it."""
    name = data.draw(st.sampled_from(sorted(EXPECTED)))
    operation = OPERATIONS[name]
    if name not in GENERATED:
        GENERATED[name] = _structures(operation.request, world.ids)
    params = repaired(data.draw(GENERATED[name]), data.draw(st.integers(0, 9)))
    in_path = [n for n, member in operation.request.members.items() if member.location == "uri"]
    # No path can be without them.
    params |= {one: "nothing" for one in in_path if params[one] in (None, "")}
    if name == "DeleteMemory" and params["memoryId"] == world.ids["MemoryId"][0]:
        params["memoryId"] = world.spare.pop() if world.spare else "gone-0123456789"
    status, headers, body = world.send(operation, params)
    if status == operation.status:
        world.succeeded.add(name)
    check(operation, status, headers, body)


def repaired(params: dict[str, Any], dice: int) -> dict[str, Any]:
    """Lift what chance alone seldom gets right: tokens, and one of two places."""
    if dice == 0:
        return params
    params.pop("nextToken", None)
    if "namespacePath" in params:
        params.pop("namespace", None)
    return params


def check(operation: Operation, status: int, headers: Any, body: bytes) -> None:
    """Compare an answer with the model, twice: by hand and with botocore's parser."""
    answer = json.loads(body)
    if status == operation.status:
        walker = Walker(refuse_unknown=True, may_lack=frozenset({"payload"}))
        problems = list(walker.problems(operation.answer, answer))
    else:
        error = operation.errors[headers["x-amzn-ErrorType"]]
        assert error.name != "ServiceException", answer
        problems = list(Walker(refuse_unknown=True).problems(error, answer))
    assert problems == []
    model = MODELS[operation.plane].operation_model(operation.name)
    response = {"status_code": status, "headers": headers, "body": body}
    parsed = PARSER.parse(response, model.output_shape)
    if status == operation.status:
        assert parsed.keys() - {"ResponseMetadata"} == answer.keys()
    else:
        assert parsed["Error"]["Code"] == headers["x-amzn-ErrorType"]
        assert parsed["Error"]["Message"] == as_members(answer)["message"]
