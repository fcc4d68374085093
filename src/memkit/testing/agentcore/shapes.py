"""Shapes of the service models: what a value may look like, compiled once."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from memkit.testing.agentcore.values import Json, as_list, as_members

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, kw_only=True)
class Member:
    """A named part of a structure, and where on the wire it stands."""

    shape: Shape
    location: str
    wire_name: str
    is_client_token: bool


@dataclass(kw_only=True, eq=False)
class Shape:
    """What the model says about one type of value."""

    name: str
    kind: str
    members: dict[str, Member] = field(default_factory=dict)
    required: frozenset[str] = frozenset()
    element: Shape | None = None
    key: Shape | None = None
    minimum: float | None = None
    maximum: float | None = None
    pattern: re.Pattern[str] | None = None
    choices: frozenset[str] = frozenset()
    is_union: bool = False
    is_document: bool = False


class ShapeBook:
    """The shapes of one model, compiled when first asked for."""

    def __init__(self, raw: Mapping[str, Json]) -> None:
        self._raw = raw
        self._compiled: dict[str, Shape] = {}

    def shape(self, name: str) -> Shape:
        """Return the compiled shape of that name."""
        if name not in self._compiled:
            raw = as_members(self._raw[name])
            # Registered before its parts are compiled: a shape may contain itself.
            shape = self._compiled[name] = _bare(name, raw)
            self._fill(shape, raw)
        return self._compiled[name]

    def _fill(self, shape: Shape, raw: Mapping[str, Json]) -> None:
        for name, member in as_members(raw.get("members")).items():
            shape.members[name] = self._member(name, as_members(member))
        # Lists keep their parts under "member", maps under "key" and "value".
        element = as_members(raw.get("member") or raw.get("value"))
        if element:
            shape.element = self.shape(str(element["shape"]))
        if raw.get("key"):
            shape.key = self.shape(str(as_members(raw["key"])["shape"]))

    def _member(self, name: str, raw: Mapping[str, Json]) -> Member:
        return Member(
            shape=self.shape(str(raw["shape"])),
            location=str(raw.get("location", "body")),
            wire_name=str(raw.get("locationName", name)),
            is_client_token=bool(raw.get("idempotencyToken")),
        )


def _bare(name: str, raw: Mapping[str, Json]) -> Shape:
    pattern = raw.get("pattern")
    return Shape(
        name=name,
        kind=str(raw["type"]),
        required=frozenset(str(entry) for entry in as_list(raw.get("required"))),
        minimum=_number(raw.get("min")),
        maximum=_number(raw.get("max")),
        # The models' \s and \d are Java's, which know ASCII only.
        pattern=re.compile(pattern, re.ASCII) if isinstance(pattern, str) else None,
        choices=frozenset(str(entry) for entry in as_list(raw.get("enum"))),
        is_union=bool(raw.get("union")),
        is_document=bool(raw.get("document")),
    )


def _number(value: Json) -> float | None:
    return value if isinstance(value, int | float) else None
