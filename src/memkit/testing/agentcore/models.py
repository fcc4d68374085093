"""The memory operations of both planes, read out of botocore's service models."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Literal, Protocol

from botocore.loaders import Loader

from memkit.testing.agentcore.shapes import Shape, ShapeBook
from memkit.testing.agentcore.values import Json, Members, as_list, as_members

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Plane = Literal["bedrock-agentcore", "bedrock-agentcore-control"]
PLANES: tuple[Plane, ...] = ("bedrock-agentcore", "bedrock-agentcore-control")

EXPECTED = frozenset(
    {
        *("CreateMemory", "GetMemory", "ListMemories", "UpdateMemory", "DeleteMemory"),
        *("CreateEvent", "GetEvent", "ListEvents", "DeleteEvent"),
        *("ListActors", "ListSessions", "IngestData"),
        *("BatchCreateMemoryRecords", "BatchUpdateMemoryRecords", "BatchDeleteMemoryRecords"),
        *("GetMemoryRecord", "DeleteMemoryRecord", "ListMemoryRecords", "RetrieveMemoryRecords"),
        *("ListMemoryExtractionJobs", "StartMemoryExtractionJob"),
    }
)


class ModelLoader(Protocol):
    """The part of botocore's loader that is used."""

    def load_service_model(self, service_name: str, type_name: str) -> Members:
        """Return the model file of a service as JSON."""
        ...


@dataclass(frozen=True, kw_only=True, eq=False)
class Operation:
    """One operation: how it is asked, and what it may answer."""

    name: str
    plane: Plane
    method: str
    path: str
    status: int
    request: Shape
    answer: Shape
    errors: Mapping[str, Shape]

    @property
    def client_token(self) -> str | None:
        """The member that makes repeating the operation safe."""
        for name, member in self.request.members.items():
            if member.is_client_token:
                return name
        return None


@cache
def load_operations() -> Mapping[str, Operation]:
    """Read both models; fail when an operation that is emulated has gone."""
    loader: ModelLoader = Loader()
    found = {
        operation.name: operation for plane in PLANES for operation in _operations(loader, plane)
    }
    if missing := EXPECTED - found.keys():
        msg = f"botocore's models lack {', '.join(sorted(missing))}: install a newer botocore"
        raise RuntimeError(msg)
    return found


def _operations(loader: ModelLoader, plane: Plane) -> Iterator[Operation]:
    model = loader.load_service_model(plane, "service-2")
    book = ShapeBook(as_members(model["shapes"]))
    for name, raw in as_members(model["operations"]).items():
        operation = as_members(raw)
        http = as_members(operation["http"])
        if str(http["requestUri"]).startswith("/memories"):
            yield _operation(name, plane, operation, book)


def _operation(name: str, plane: Plane, raw: Mapping[str, Json], book: ShapeBook) -> Operation:
    http = as_members(raw["http"])
    errors = [str(as_members(error)["shape"]) for error in as_list(raw.get("errors"))]
    status = http.get("responseCode", 200)
    return Operation(
        name=name,
        plane=plane,
        method=str(http["method"]),
        path=str(http["requestUri"]),
        status=status if isinstance(status, int) else 200,
        request=book.shape(str(as_members(raw["input"])["shape"])),
        answer=book.shape(str(as_members(raw["output"])["shape"])),
        errors={error: book.shape(error) for error in errors},
    )
