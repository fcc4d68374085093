"""JSON-plain copies of what frameworks put into messages, without the bytes of media."""

from __future__ import annotations

import base64
import binascii
import hashlib
import math
from collections.abc import Mapping
from typing import NamedTuple

from pydantic import JsonValue

DATA_URL = "data:"

DEEPEST = 40
"""Levels of nesting; memory refuses many more, and nobody reads them."""


class Body(NamedTuple):
    """A media body told apart from the message it came in."""

    reference: str
    size: int
    media_type: str | None = None


def body(value: bytes | str, media_type: str | None = None) -> Body:
    """`value` (bytes, base64 or a data URL) by its SHA-256: the same body, the same name."""
    if isinstance(value, str) and value.startswith(DATA_URL):
        header, _, value = value.removeprefix(DATA_URL).partition(",")
        media_type = header.partition(";")[0] or media_type
    content = value if isinstance(value, bytes) else _decoded(value)
    return Body(f"urn:sha256:{hashlib.sha256(content).hexdigest()}", len(content), media_type)


def plain(value: object, depth: int = 0) -> JsonValue:  # noqa: PLR0911  # one per sort of value
    """`value` as JSON can say it: bodies by reference, strangers and depths by their text."""
    if depth > DEEPEST:
        return str(value)
    match value:
        case None | bool() | int():
            return value
        case str():
            return body(value).reference if is_data_url(value) else value
        case float():
            return value if math.isfinite(value) else str(value)
        case bytes() | bytearray() | memoryview():
            return body(bytes(value)).reference
        case Mapping():
            return {str(key): plain(each, depth + 1) for key, each in value.items()}
        case list() | tuple() | set() | frozenset():
            return [plain(each, depth + 1) for each in value]
        case _:
            return str(value)


def plain_mapping(value: Mapping[str, object]) -> dict[str, JsonValue]:
    """`plain` for what is a mapping, so that callers need not tell it apart again."""
    return {str(key): plain(each) for key, each in value.items()}


def is_data_url(value: str) -> bool:
    """True for a URL that holds its own body in base64."""
    return value.startswith(DATA_URL) and ";base64," in value[:200]


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return text.encode("utf-8", "surrogatepass")
