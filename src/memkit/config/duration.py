"""Durations as people write them: "30s", "5m", "1h30m", "90d"."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Annotated

from pydantic import (
    BeforeValidator,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    PlainSerializer,
    WithJsonSchema,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from memkit.errors import ConfigError

_UNITS = {
    "ms": timedelta(milliseconds=1),
    "s": timedelta(seconds=1),
    "m": timedelta(minutes=1),
    "h": timedelta(hours=1),
    "d": timedelta(days=1),
    "w": timedelta(weeks=1),
}
_NEVER = "never"
LONGEST = timedelta(days=36_500)
"""A hundred years: added to any date that is now, it is still a date."""

_PIECE = re.compile(r"(\d+(?:\.\d+)?)(ms|[smhdw])")
_WHOLE = r"^(\d+(\.\d+)?(ms|[smhdw]))+$"


def parse_duration(value: object) -> timedelta:
    """A duration given as text or as a `timedelta`; `ConfigError` for anything else.

    A bare number is refused: nobody could say of what.
    """
    if isinstance(value, timedelta):
        if value > LONGEST:
            raise ConfigError(f"a duration may be {LONGEST.days} days long at most")
        return value
    if not isinstance(value, str) or not re.match(_WHOLE, value.strip()):
        raise ConfigError(f"{value!r} is no duration; write it like 30s, 5m, 1h30m or 90d")
    pieces = _PIECE.findall(value)
    try:
        total = sum((float(count) * _UNITS[unit] for count, unit in pieces), timedelta())
    except OverflowError:
        total = timedelta.max
    if total > LONGEST:
        raise ConfigError(f"{value!r} is too long a duration; at most {LONGEST.days}d are taken")
    return total


def format_duration(value: timedelta) -> str:
    """Text that `parse_duration` reads back as `value`, in whole milliseconds."""
    if not value:
        return "0s"
    whole = (name for name in ("w", "d", "h", "m", "s", "ms") if not value % _UNITS[name])
    unit = next(whole, "ms")
    return f"{value // _UNITS[unit]}{unit}"


Duration = Annotated[
    timedelta,
    BeforeValidator(parse_duration),
    PlainSerializer(format_duration, return_type=str, when_used="json"),
    WithJsonSchema({"type": "string", "pattern": _WHOLE, "examples": ["30s", "5m", "90d"]}),
]


class OrNever:
    """Says of an optional setting that "never" is nothing: TOML has no other word for it."""

    def __get_pydantic_core_schema__(
        self, source: object, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.no_info_before_validator_function(
            lambda value: None if value == _NEVER else value, handler(source)
        )

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return {"anyOf": [handler(schema), {"const": _NEVER}]}
