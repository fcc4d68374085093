"""Messages to record, from a file or standard input: a JSON array, or JSON lines."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TextIO

from memkit.errors import InvalidInput
from memkit.models import Message

FORM = '{"role": "user", "content": "..."}'


def read_transcript(file: TextIO, name: str) -> list[Message]:
    """The messages in `file`; `InvalidInput` names the entry that is none."""
    try:
        return list(_messages(file.read(), name))
    except UnicodeDecodeError:
        raise InvalidInput(f"{name} is not UTF-8") from None


def _messages(text: str, name: str) -> Iterator[Message]:
    for number, entry in enumerate(_entries(text, name), start=1):
        if not isinstance(entry, dict):
            raise InvalidInput(f"{name}: entry {number} is not a message; give {FORM}")
        try:
            yield Message.model_validate(entry)
        except InvalidInput as exc:
            raise InvalidInput(f"{name}: entry {number}: {exc}") from None


def _entries(text: str, name: str) -> Iterator[object]:
    if text.lstrip().startswith("["):
        entries = _parsed(text, name)
        yield from entries if isinstance(entries, list) else ()
        return
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip():
            yield _parsed(line, f"{name} line {number}")


def _parsed(text: str, name: str) -> object:
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        raise InvalidInput(f"{name} is not JSON; give one message a line: {FORM}") from None
    return value
