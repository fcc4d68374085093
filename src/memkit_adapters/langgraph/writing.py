"""A message of memkit's as LangChain has it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)
from pydantic import JsonValue

from memkit.models import ContentBlock, Message, Role, TextBlock, ToolCallBlock, ToolResultBlock
from memkit_adapters.langgraph.blocks import write_block
from memkit_adapters.langgraph.reading import FOREIGN, OWN

_CLASSES: Mapping[str, type[BaseMessage]] = {
    "human": HumanMessage,
    "ai": AIMessage,
    "system": SystemMessage,
    "tool": ToolMessage,
    "chat": ChatMessage,
    "function": FunctionMessage,
    "remove": RemoveMessage,
}
_TYPES: Mapping[Role, str] = {
    "user": "human",
    "assistant": "ai",
    "system": "system",
    "tool": "tool",
}
_ANSWERS = {"tool", "function"}

Fields = dict[str, object]


def write_message(message: Message) -> list[BaseMessage]:
    """The message; or several, where a framework had put results of several tools into one."""
    fields = _fields(message)
    kind = str(fields.pop("type", _TYPES[message.role]))
    listed = fields.pop("content", None) == "list"
    results = _results_apart(message.content)
    if kind in _ANSWERS:
        answers = results or [ToolResultBlock(call_id="", content=message.text)]
        return _apart([_answer(kind, each, fields) for each in answers])
    if not results:
        return [_said(kind, message.content, fields, listed=listed)]
    said = [block for block in message.content if block not in results]
    answered = [_answer("tool", each, fields) for each in results]
    rest = [_said(kind, said, fields, listed=listed)] if said else []
    return _apart([*answered, *rest])


def _results_apart(blocks: Sequence[ContentBlock]) -> list[ToolResultBlock]:
    """Results that are messages of their own with LangChain, not blocks among others."""
    return [
        block
        for block in blocks
        if isinstance(block, ToolResultBlock) and FOREIGN not in block.extra
    ]


def _apart(messages: list[BaseMessage]) -> list[BaseMessage]:
    """The pieces of one message: only the first may have its id."""
    return [*messages[:1], *(each.model_copy(update={"id": None}) for each in messages[1:])]


def _fields(message: Message) -> Fields:
    """What the message says besides its content, by LangChain's names."""
    stated = message.metadata.get(FOREIGN)
    fields: Fields = dict(stated) if isinstance(stated, dict) else {}
    kwargs = fields.get("additional_kwargs")
    own = _own(message)
    fields["additional_kwargs"] = {
        **(kwargs if isinstance(kwargs, dict) else {}),
        **({OWN: own} if own else {}),
    }
    fields["id"] = fields.get("id") if message.key is None else message.key
    return fields | {"name": message.name}


def _own(message: Message) -> dict[str, JsonValue]:
    """What LangChain has no field for."""
    others = {key: value for key, value in message.metadata.items() if key != FOREIGN}
    own: dict[str, JsonValue] = {"metadata": others} if others else {}
    return own | ({"time": message.time.isoformat()} if message.time else {})


def _answer(kind: str, block: ToolResultBlock, fields: Fields) -> BaseMessage:
    if kind == "function":
        return _built(kind, block.content, {**fields, "name": fields["name"] or block.call_id})
    status = "error" if block.is_error else "success"
    return _built(kind, block.content, {**fields, "tool_call_id": block.call_id, "status": status})


def _said(
    kind: str, blocks: Sequence[ContentBlock], fields: Fields, *, listed: bool
) -> BaseMessage:
    """A message of its own kind. Only the assistant's keep tool calls beside the content."""
    if kind != "ai":
        return _built(kind, _content(blocks, listed=listed), fields)
    calls = [block for block in blocks if isinstance(block, ToolCallBlock)]
    apart = [block for block in calls if FOREIGN not in block.extra]
    tool_calls = [
        {"name": call.name, "args": call.arguments, "id": call.id or None, "type": "tool_call"}
        for call in calls
        if call in apart or call.extra.get("listed")
    ]
    content = _content([block for block in blocks if block not in apart], listed=listed)
    return _built(kind, content, {**fields, "tool_calls": tool_calls})


def _content(blocks: Sequence[ContentBlock], *, listed: bool) -> JsonValue:
    """Text where it is only that, and had not been a list."""
    match blocks:
        case [] if not listed:
            return ""
        case [TextBlock(text=text, extra={})] if not listed:
            return text
        case _:
            return [write_block(each) for each in blocks]


def _built(kind: str, content: JsonValue, fields: Fields) -> BaseMessage:
    if kind == "remove":
        return RemoveMessage(str(fields.pop("id") or ""), **fields)
    return _CLASSES[kind](content=_shown(content), **fields)


def _shown(content: JsonValue) -> str | list[str | dict[str, JsonValue]]:
    """A content as LangChain takes it: text, or a list of texts and tables."""
    if isinstance(content, list):
        return [each if isinstance(each, str | dict) else str(each) for each in content]
    return content if isinstance(content, str) else json.dumps(content)
