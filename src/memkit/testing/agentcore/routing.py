"""From a raw request line and body to an operation and its parameters."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, unquote_to_bytes

from memkit.testing.agentcore.errors import ServiceError, invalid
from memkit.testing.agentcore.values import Members, parse_json

if TYPE_CHECKING:
    from collections.abc import Iterable

    from memkit.testing.agentcore.models import Operation


class Router:
    """Finds the operation of a request by method and raw path.

    The path is split before it is decoded: an actor may contain slashes, which arrive as %2F.
    """

    def __init__(self, operations: Iterable[Operation]) -> None:
        by_literals = sorted(operations, key=lambda operation: -len(_literals(operation.path)))
        self._routes = [(operation, _regex(operation.path)) for operation in by_literals]

    def find(self, method: str, raw_path: str) -> tuple[Operation, dict[str, str]]:
        """Return the operation and its decoded path parameters."""
        for operation, regex in self._routes:
            if operation.method == method and (match := regex.fullmatch(raw_path)):
                return operation, {name: _decode(part) for name, part in match.groupdict().items()}
        code = "UnknownOperationException"
        raise ServiceError(code, f"no memory operation answers {method} {raw_path[:200]}")


def bind(operation: Operation, path: dict[str, str], query: str, body: bytes) -> Members:
    """Gather the parameters of an operation from path, query string and body."""
    asked = dict(parse_qsl(query, keep_blank_values=True))
    params = _parse_body(body)
    for name, member in operation.request.members.items():
        if member.location == "body":
            continue
        params.pop(name, None)
        source = path if member.location == "uri" else asked
        if member.wire_name in source:
            params[name] = source[member.wire_name]
    return params


def _parse_body(body: bytes) -> Members:
    if not body.strip():
        return {}
    try:
        parsed = parse_json(body)
    except ValueError as exc:
        msg = "the body is not valid JSON"
        raise invalid(msg, reason="CannotParse") from exc
    if not isinstance(parsed, dict):
        msg = "the body must be a JSON object"
        raise invalid(msg, reason="CannotParse")
    return parsed


def _decode(segment: str) -> str:
    try:
        return unquote_to_bytes(segment).decode()
    except UnicodeDecodeError as exc:
        msg = "the path is not UTF-8"
        raise invalid(msg, reason="CannotParse") from exc


def _literals(template: str) -> str:
    return re.sub(r"\{\w+\}", "", template)


def _regex(template: str) -> re.Pattern[str]:
    parts = re.split(r"\{(\w+)\}", template.rstrip("/"))
    # re.split leaves literals at even places and names at odd ones.
    pattern = "".join(
        f"(?P<{part}>[^/]+)" if index % 2 else re.escape(part) for index, part in enumerate(parts)
    )
    return re.compile(f"{pattern}/?")
