"""What is kept of a message: cleaned, stripped of memkit's own and of tools, redacted, bounded."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from pydantic import JsonValue

from memkit.config import RecordRules
from memkit.errors import InvalidInput
from memkit.models import (
    ContentBlock,
    EpisodeFlag,
    MediaBlock,
    Message,
    ReasoningBlock,
    TextBlock,
    ToolCallBlock,
    ToolResultBlock,
)
from memkit.models.message import ROLES, dated, only_text, spoken
from memkit.render import strip_blocks
from memkit.text import clean

if TYPE_CHECKING:
    from memkit.redact import Redactor

Said = Message | Mapping[str, object]
"""A message as `record` takes it: a `Message`, or a mapping with its fields."""

DEEPEST = 64
"""How many levels of JSON are taken."""
_ROLE_AND_CONTENT = 2
_LONGEST_SECRET = 4096
_ABSURD = 10
"""So many times the longest message: refused, not cut."""


@dataclass(slots=True)
class Kept:
    """What is kept of one message; `message` of None is nothing."""

    message: Message | None
    flags: AbstractSet[EpisodeFlag] = frozenset()


class Intake:
    """Decides what is kept of messages."""

    def __init__(self, rules: RecordRules, redactor: Redactor | None) -> None:
        self._rules = rules
        self._redactor = redactor

    def keep(self, given: Said, *, now: datetime | None = None) -> Kept:
        """What is kept of `given`, said `now` if it does not say when.

        `InvalidInput` if it is no message, or an absurd one.
        """
        message = given if isinstance(given, Message) else _message(given, now)
        if message.time is None and now is not None:
            message = dated(message, now)
        text = only_text(message)
        if text is not None and self._is_kept_as_it_is(text):
            return Kept(message)
        return self._washed(message)

    def _is_kept_as_it_is(self, text: str) -> bool:
        return (
            len(text) <= self._rules.max_message_characters
            and not text.isspace()
            and text != ""
            and strip_blocks(text) == text
            and not clean(text)[1]
            and (
                self._redactor is None or self._redactor.redact(text, where="episode") == (text, 0)
            )
        )

    def _washed(self, message: Message) -> Kept:
        if sum(map(len, _texts(message))) > _ABSURD * self._rules.max_message_characters:
            raise InvalidInput(
                f"a message of over {_ABSURD * self._rules.max_message_characters} characters; "
                "record it in parts, or by reference (record.max_message_characters)"
            )
        wash = _Wash(self._rules, self._redactor)
        return Kept(wash.message(message), wash.flags)


def _message(given: Mapping[str, object], now: datetime | None) -> Message:
    if not isinstance(given, Mapping):
        raise InvalidInput(f"a message must be a Message or a mapping, not {type(given).__name__}")
    if len(given) == _ROLE_AND_CONTENT:
        role, text = given.get("role"), given.get("content")
        # As most are, and nothing is left to be validated.
        if type(text) is str and role in ROLES:
            return spoken(role, text, now)
    return Message.model_validate(dict(given))


def _texts(message: Message) -> Iterator[str]:
    return (each.text for each in message.content if isinstance(each, TextBlock | ReasoningBlock))


@dataclass(slots=True)
class _Wash:
    """One message on its way in, and what had to be done to it."""

    rules: RecordRules
    redactor: Redactor | None
    flags: set[EpisodeFlag] = field(default_factory=set)

    def message(self, message: Message) -> Message | None:
        content = tuple(
            block for each in message.content if (block := self._block(each)) is not None
        )
        if not content:
            return None
        metadata = self._metadata(message.metadata)
        name = message.name and self._text(message.name)
        changed = {
            "content": content if _differ(content, message.content) else message.content,
            "metadata": metadata,
            "name": name,
        }
        if all(changed[field] is getattr(message, field) for field in changed):
            return message
        return message.model_copy(update=changed)

    def _block(self, block: ContentBlock) -> ContentBlock | None:
        update: dict[str, object] = {}
        match block:
            case TextBlock():
                update["text"] = self._text(strip_blocks(block.text))
            case ReasoningBlock():
                update["text"] = self._text(block.text)
            case MediaBlock():
                update["reference"] = self._reference(block.reference)
            case ToolCallBlock() | ToolResultBlock() if not self.rules.keep_tool_traffic:
                return None
            case ToolCallBlock():
                update["arguments"] = self._bounded(block.arguments)
            case ToolResultBlock():
                update["content"] = self._bounded(block.content)
        if not str(update.get("text", "-")).strip():
            return None
        update["extra"] = self._extra(block.extra)
        if all(value is getattr(block, name) for name, value in update.items()):
            return block
        return block.model_copy(update=update)

    def _text(self, text: str) -> str:
        most = self.rules.max_message_characters
        # What will be cut off is not looked at, but for a secret that the cut would halve.
        washed = self._redacted(text[: most + _LONGEST_SECRET])
        if len(text) > most or len(washed) > most:
            self.flags.add("truncated")
            washed = washed[:most]
        return text if washed == text else washed

    def _redacted(self, text: str) -> str:
        washed, sanitized = clean(text)
        if sanitized:
            self.flags.add("sanitized")
        if self.redactor is not None:
            washed, count = self.redactor.redact(washed, where="episode")
            if count:
                self.flags.add("redacted")
        return washed

    def _reference(self, reference: str) -> str:
        """A place, never the thing itself: what a data URL carries is left out."""
        head, comma, body = reference.partition(",")
        if reference[:5].lower() == "data:" and body:
            self.flags.add("truncated")
            reference = f"{head}{comma}..."
        return self._text(reference)

    def _metadata(self, metadata: dict[str, JsonValue]) -> dict[str, JsonValue]:
        if not metadata:
            return metadata
        if _size(metadata) > self.rules.max_metadata_characters:
            raise InvalidInput(
                f"metadata of over {self.rules.max_metadata_characters} characters "
                "(record.max_metadata_characters)"
            )
        return self._table(metadata, 0)

    def _extra(self, extra: dict[str, JsonValue]) -> dict[str, JsonValue]:
        """What a framework said; too much of it is left out rather than refused."""
        if not extra:
            return extra
        if _size(extra) > self.rules.max_metadata_characters:
            self.flags.add("truncated")
            return {}
        return self._table(extra, 0)

    def _bounded(self, value: JsonValue) -> JsonValue:
        if _size(value) <= self.rules.max_message_characters:
            return self._json(value, 0)
        self.flags.add("truncated")
        return self._text(json.dumps(value, ensure_ascii=False))

    def _json(self, value: JsonValue, depth: int) -> JsonValue:
        match value:
            case str():
                return self._text(value)
            case dict():
                return self._table(value, depth)
            case list():
                _check_depth(depth)
                washed = [self._json(each, depth + 1) for each in value]
                return washed if _differ(washed, value) else value
            case _:
                return value

    def _table(self, table: dict[str, JsonValue], depth: int) -> dict[str, JsonValue]:
        _check_depth(depth)
        washed = {self._text(key): self._json(each, depth + 1) for key, each in table.items()}
        return washed if _differ([*washed, *washed.values()], [*table, *table.values()]) else table


def _check_depth(depth: int) -> None:
    if depth > DEEPEST:
        raise InvalidInput(f"JSON nested more than {DEEPEST} levels deep")


def _differ(washed: Collection[object], given: Collection[object]) -> bool:
    """Whether anything is another object: equal values were left as they are."""
    pairs = zip(washed, given, strict=False)
    return len(washed) != len(given) or any(one is not other for one, other in pairs)


def _size(value: JsonValue) -> int:
    try:
        return len(json.dumps(value, ensure_ascii=False))
    except ValueError:
        raise InvalidInput("a number has more digits than Python writes out") from None
