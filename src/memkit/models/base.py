"""What every value has in common: frozen, strict about its fields, and silent about its content."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Self, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from memkit.errors import InvalidInput

if TYPE_CHECKING:
    from pydantic import ModelWrapValidatorHandler


class Model(BaseModel):
    """A frozen value. A bad one raises `InvalidInput`, which names fields and never content."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", hide_input_in_errors=True, allow_inf_nan=False
    )

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A copy with other values, not validated."""
        copied = super().model_copy(update=update, deep=deep)
        # What a cached_property worked out from the old values would be copied along.
        for name in copied.__dict__.keys() - type(self).model_fields.keys():
            del copied.__dict__[name]
        return copied

    @model_validator(mode="wrap")
    @classmethod
    def _refuse_as_memkit(cls, value: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        try:
            return handler(value)
        except ValidationError as exc:
            raise InvalidInput(_advice(cls.__name__, exc)) from None


Value = TypeVar("Value", bound=Model)


def unchecked(kind: type[Value], **fields: object) -> Value:
    """A value whose fields, all of them, are known to be right.

    Made as pydantic makes a copy, at a fifth of the price of a validation.
    """
    value = kind.__new__(kind)
    put = object.__setattr__
    put(value, "__dict__", fields)
    put(value, "__pydantic_fields_set__", set(kind.__pydantic_fields__))
    put(value, "__pydantic_extra__", None)
    put(value, "__pydantic_private__", None)
    return value


def _advice(name: str, error: ValidationError) -> str:
    problems = error.errors(include_input=False, include_context=False, include_url=False)
    # The one message of pydantic that quotes what it was given.
    unknown_tag = {"union_tag_invalid": "has an unknown type"}
    listed = (
        f"{_place(each['loc']) or name}: {unknown_tag.get(each['type'], each['msg'])}"
        for each in problems
    )
    return f"not a valid {name}: {'; '.join(listed)}"


def _place(location: tuple[int | str, ...]) -> str:
    """Names and numbers; a caller's own keys may be anything, and are then left out."""
    return ".".join(
        str(part) if isinstance(part, int) or part.isidentifier() else "?" for part in location
    )


# The system's own randomness lets other threads go first each time it is asked. Nobody else
# seeds this one, and a child process goes its own way.
_random = random.Random()  # noqa: S311  # ids are unique, not secret
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_random.seed)


def new_id() -> str:
    """A fresh UUIDv7 as 36 characters: ids made later sort later, by a quarter microsecond.

    RFC 9562, with its method 3: the 12 bits after the version hold a fraction of the
    millisecond.
    """
    milliseconds, nanoseconds = divmod(time.time_ns(), 1_000_000)
    fraction = nanoseconds * 4096 // 1_000_000
    head = milliseconds << 16 | 0x7000 | fraction
    tail = 0x8000_0000_0000_0000 | _random.getrandbits(62)
    digits = f"{head:016x}{tail:016x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def utcnow() -> datetime:
    """The wall clock, aware, in UTC: the default of every `clock` parameter."""
    return datetime.now(UTC)
