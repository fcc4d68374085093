"""JSON values, and typed access to the members of a request that was validated."""

from __future__ import annotations

import json
import math
from decimal import ROUND_FLOOR, Decimal
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
Members: TypeAlias = "dict[str, Json]"

DEEPEST = 200
TOO_DEEP = f"nested more than {DEEPEST} deep"


def parse_json(text: bytes) -> Json:
    """Parse strict JSON; everything that is not strict JSON is a `ValueError`."""
    try:
        parsed: Json = json.loads(text, parse_constant=_refuse, parse_float=_finite)
    except RecursionError as exc:
        raise ValueError(TOO_DEEP) from exc
    if _is_deep(parsed):
        raise ValueError(TOO_DEEP)
    return parsed


def _is_deep(value: Json) -> bool:
    """Whether `value` is nested deeper than an answer around it could still be rendered."""
    level = [value]
    for _ in range(DEEPEST):
        inner = [as_members(each).values() or as_list(each) for each in level]
        level = [each for values in inner for each in values]
        if not level:
            return False
    return True


def render_json(value: Json) -> bytes:
    """Serialize a value the way answers are sent."""
    return json.dumps(value, allow_nan=False, separators=(",", ":")).encode()


def canonical(value: Json) -> str:
    """Render a value so that equal values give equal text."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def to_milliseconds(seconds: float) -> int:
    """Floor epoch seconds to milliseconds, without binary rounding."""
    return int((Decimal(str(seconds)) * 1_000).to_integral_value(ROUND_FLOOR))


def to_seconds(milliseconds: int) -> float:
    """Return the number that stands for a time on the wire."""
    return milliseconds / 1_000


def as_members(value: Json) -> Members:
    """Return a JSON object, or an empty one where there is none."""
    return value if isinstance(value, dict) else {}


def as_list(value: Json) -> list[Json]:
    """Return a JSON array, or an empty one where there is none."""
    return value if isinstance(value, list) else []


def without_nulls(members: Mapping[str, Json]) -> Members:
    """Drop members that are null: on this wire they mean absent."""
    return {name: value for name, value in members.items() if value is not None}


def by_id(members: Members) -> Members:
    """Return the members with the memory by its id, also where it was named by its ARN."""
    named = members.get("memoryId")
    return {**members, "memoryId": named.rpartition("/")[2]} if isinstance(named, str) else members


class Params:
    """The members of a validated structure; a null member counts as absent."""

    def __init__(self, members: Mapping[str, Json]) -> None:
        self.members = without_nulls(members)

    def __contains__(self, name: str) -> bool:
        return name in self.members

    def text(self, name: str, default: str | None = None) -> str:
        """Return a string member; without a default it must be there."""
        value = self.members.get(name, default)
        if not isinstance(value, str):
            raise TypeError(name)
        return value

    def text_or_none(self, name: str) -> str | None:
        """Return a string member, or None."""
        return self.text(name) if name in self else None

    def whole(self, name: str, default: int) -> int:
        """Return an integer member."""
        value = self.members.get(name, default)
        if not isinstance(value, int):
            raise TypeError(name)
        return value

    def truth(self, name: str, *, default: bool) -> bool:
        """Return a boolean member."""
        return bool(self.members.get(name, default))

    def moment(self, name: str) -> int:
        """Return a timestamp member in milliseconds."""
        value = self.members[name]
        if not isinstance(value, int | float):
            raise TypeError(name)
        return to_milliseconds(value)

    def part(self, name: str) -> Params:
        """Return a structure member; an absent one is empty."""
        return Params(as_members(self.members.get(name)))

    def parts(self, name: str) -> list[Params]:
        """Return a list of structures; an absent one is empty."""
        return [Params(as_members(entry)) for entry in as_list(self.members.get(name))]

    def texts(self, name: str) -> list[str]:
        """Return a list of strings; an absent one is empty."""
        return [str(entry) for entry in as_list(self.members.get(name))]


def _refuse(constant: str) -> float:
    raise ValueError(constant)


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(text)
    return number
