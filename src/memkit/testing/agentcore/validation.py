"""The walker that compares a value with its shape, for requests and for answers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from memkit.testing.agentcore.values import Json, without_nulls

if TYPE_CHECKING:
    from collections.abc import Mapping

    from memkit.testing.agentcore.shapes import Shape

LAST_SECOND = 253_402_300_799  # the end of year 9999, where Python's datetime ends too

Problem: TypeAlias = tuple[str, str]
Problems: TypeAlias = Iterator[Problem]


@dataclass(frozen=True, kw_only=True)
class Walker:
    """Finds everything in a value that its shape forbids.

    `may_lack` names members that may be absent although required, `unbounded` shapes whose
    maximum is not looked at.
    """

    refuse_unknown: bool = False
    may_lack: frozenset[str] = frozenset()
    unbounded: frozenset[str] = frozenset()

    def problems(self, shape: Shape, value: Json, path: str = "") -> Problems:
        """Yield pairs of path and complaint, in the order of the value."""
        if shape.is_document:
            return _document(value, path)
        match shape.kind:
            case "structure":
                return self._structure(shape, value, path)
            case "list":
                return self._list(shape, value, path)
            case "map":
                return self._map(shape, value, path)
        return SCALARS[shape.kind](shape, value, path)

    def _structure(self, shape: Shape, value: Json, path: str) -> Problems:
        if not isinstance(value, dict):
            yield path, "must be an object"
            return
        present = without_nulls(value)
        yield from self._shortfalls(shape, present, path)
        for name, part in present.items():
            member = shape.members.get(name)
            if member is not None:
                yield from self.problems(member.shape, part, _join(path, name))

    def _shortfalls(self, shape: Shape, present: Mapping[str, Json], path: str) -> Problems:
        for name in sorted(shape.required - present.keys() - self.may_lack):
            yield _join(path, name), "must not be null"
        known = present.keys() & shape.members.keys()
        if shape.is_union and len(known) != 1:
            yield path, f"must have exactly one of {', '.join(sorted(shape.members))}"
        if self.refuse_unknown:
            for name in sorted(present.keys() - known):
                yield _join(path, name), "is not a member of the model"

    def _list(self, shape: Shape, value: Json, path: str) -> Problems:
        if not isinstance(value, list):
            yield path, "must be a list"
            return
        yield from self._size(shape, len(value), path)
        if shape.element is not None:
            for index, part in enumerate(value):
                yield from self.problems(shape.element, part, f"{path}[{index}]")

    def _map(self, shape: Shape, value: Json, path: str) -> Problems:
        if not isinstance(value, dict):
            yield path, "must be a map"
            return
        yield from self._size(shape, len(value), path)
        for name, part in value.items():
            if shape.key is not None:
                yield from self.problems(shape.key, name, f"{path}.key")
            if shape.element is not None:
                yield from self.problems(shape.element, part, _join(path, name))

    def _size(self, shape: Shape, size: int, path: str) -> Problems:
        if shape.name not in self.unbounded:
            yield from _bounds(shape, size, path, "length")


def known_part(shape: Shape, value: Json) -> Json:
    """Return a valid value without nulls and without members that the model does not know."""
    if shape.is_document:
        return value
    if isinstance(value, dict) and shape.kind == "structure":
        return {
            name: known_part(shape.members[name].shape, part)
            for name, part in value.items()
            if name in shape.members and part is not None
        }
    element = shape.element
    if isinstance(value, dict) and element is not None:
        return {name: known_part(element, part) for name, part in value.items()}
    if isinstance(value, list) and element is not None:
        return [known_part(element, part) for part in value]
    return value


def _string(shape: Shape, value: Json, path: str) -> Problems:
    if not isinstance(value, str):
        yield path, "must be a string"
        return
    too_long_or_short = list(_bounds(shape, len(value), path, "length"))
    yield from too_long_or_short
    if shape.choices and value not in shape.choices:
        yield path, f"must be one of {', '.join(sorted(shape.choices))}"
    # A pattern is not tried on a text of the wrong length: some patterns take quadratic time.
    if shape.pattern and not too_long_or_short and not shape.pattern.fullmatch(value):
        yield path, f"must match the pattern {shape.pattern.pattern}"
    if any("\ud800" <= char <= "\udfff" for char in value):
        yield path, "must not contain a lone surrogate"


def _integer(shape: Shape, value: Json, path: str) -> Problems:
    if isinstance(value, bool) or not isinstance(value, int):
        yield path, "must be an integer"
        return
    yield from _bounds(shape, value, path, "value")


def _double(shape: Shape, value: Json, path: str) -> Problems:
    if isinstance(value, bool) or not isinstance(value, int | float):
        yield path, "must be a number"
        return
    if abs(value) > 1e308 or not math.isfinite(value):
        yield path, "must be a finite double"
    yield from _bounds(shape, value, path, "value")


def _boolean(_: Shape, value: Json, path: str) -> Problems:
    if not isinstance(value, bool):
        yield path, "must be a boolean"


def _timestamp(_: Shape, value: Json, path: str) -> Problems:
    if isinstance(value, bool) or not isinstance(value, int | float):
        yield path, "must be a number of epoch seconds"
    elif not 0 <= value <= LAST_SECOND:
        yield path, "must be between 1970 and 9999"


def _document(value: Json, path: str) -> Problems:
    if value is None:
        yield path, "must not be null"


def _bounds(shape: Shape, measure: float, path: str, what: str) -> Problems:
    if shape.minimum is not None and measure < shape.minimum:
        yield path, f"must have {what} greater than or equal to {shape.minimum}"
    if shape.maximum is not None and measure > shape.maximum:
        yield path, f"must have {what} less than or equal to {shape.maximum}"


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


SCALARS: dict[str, Callable[[Shape, Json, str], Problems]] = {
    "string": _string,
    "integer": _integer,
    "long": _integer,
    "double": _double,
    "float": _double,
    "boolean": _boolean,
    "timestamp": _timestamp,
}
