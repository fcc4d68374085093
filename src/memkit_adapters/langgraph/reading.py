"""A LangChain message as memkit keeps it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    ToolMessage,
)
from pydantic import JsonValue

from memkit.errors import ScopeError
from memkit.models import (
    ContentBlock,
    Message,
    Role,
    ToolCallBlock,
    ToolResultBlock,
    check_id,
)
from memkit_adapters.langgraph.blocks import read_content, without_bodies
from memkit_adapters.langgraph.plain import plain, plain_mapping

ROLES: Mapping[str, Role] = {
    "human": "user",
    "user": "user",
    "ai": "assistant",
    "assistant": "assistant",
    "model": "assistant",
    "system": "system",
    "developer": "system",
    "remove": "system",
    "tool": "tool",
    "function": "tool",
}
"""Whose words they are, by LangChain's type or a free role."""

FOREIGN = "langchain"
OWN = "memkit"

_UNUSUAL = {"chat", "function", "remove"}
"""Types that the role does not tell."""

_PLACED = {
    *("content", "type", "id", "name", "additional_kwargs"),
    *("tool_calls", "tool_call_id", "status"),
}
"""Fields that have a place of their own in a `Message`."""


def read_message(message: BaseMessage) -> Message:
    """The message with its blocks, its id as the key, and the rest in its metadata."""
    kwargs, own = _own(message.additional_kwargs)
    key = _key(message.id)
    form = _rest(message, kwargs)
    if key is None and message.id is not None:
        form["id"] = message.id
    stated = own.get("metadata")
    metadata = plain_mapping(stated) if isinstance(stated, Mapping) else {}
    return Message(
        role=_role(message),
        content=_content(message),
        key=key,
        name=message.name,
        time=_time(own.get("time")),
        metadata=metadata | ({FOREIGN: form} if form else {}),
    )


def _own(kwargs: Mapping[str, object]) -> tuple[dict[str, object], Mapping[str, object]]:
    """The kwargs of others, and what memkit had put there itself."""
    own = kwargs.get(OWN)
    if not isinstance(own, Mapping):
        return dict(kwargs), {}
    return {name: value for name, value in kwargs.items() if name != OWN}, own


def _role(message: BaseMessage) -> Role:
    """A free role that nobody knows is somebody in the system, not the user."""
    said_by = message.role.casefold() if isinstance(message, ChatMessage) else message.type
    return ROLES.get(said_by, "assistant")


def _key(message_id: str | None) -> str | None:
    try:
        return None if message_id is None else check_id("message id", message_id)
    except ScopeError:
        return None


def _time(stated: object) -> datetime | None:
    try:
        moment = datetime.fromisoformat(stated) if isinstance(stated, str) else None
    except ValueError:
        return None
    return moment if moment is not None and moment.tzinfo else None


def _content(message: BaseMessage) -> tuple[ContentBlock, ...]:
    match message:
        case ToolMessage():
            failed = message.status == "error"
            return (_result(message.tool_call_id, message.content, is_error=failed),)
        case FunctionMessage():
            return (_result(message.name, message.content),)
        case AIMessage():
            return _with_calls(read_content(message.content), message)
        case _:
            return read_content(message.content)


def _result(call_id: str, content: object, *, is_error: bool = False) -> ToolResultBlock:
    return ToolResultBlock(call_id=call_id, content=without_bodies(content), is_error=is_error)


def _with_calls(blocks: Sequence[ContentBlock], message: AIMessage) -> tuple[ContentBlock, ...]:
    """The blocks with the tool calls: marked where they stand among them already, else added."""
    calls = [
        ToolCallBlock(id=call["id"] or "", name=call["name"], arguments=plain(call["args"]))
        for call in message.tool_calls
    ]
    marked: list[ContentBlock] = []
    for block in blocks:
        bare = block.model_copy(update={"extra": {}})
        if isinstance(bare, ToolCallBlock) and bare in calls:
            calls.remove(bare)
            marked.append(bare.model_copy(update={"extra": {**block.extra, "listed": True}}))
        else:
            marked.append(block)
    return (*marked, *calls)


def _rest(message: BaseMessage, kwargs: Mapping[str, object]) -> dict[str, JsonValue]:
    """Every field that is set and has no place of its own, and the shape of the content."""
    fields = [*type(message).model_fields, *(message.model_extra or {})]
    values = {name: getattr(message, name) for name in fields if name not in _PLACED}
    kept = {name: value for name, value in values.items() if value not in (None, [], {})}
    if kwargs:
        kept["additional_kwargs"] = kwargs
    if message.type in _UNUSUAL:
        kept["type"] = message.type
    if not isinstance(message.content, str):
        kept["content"] = "list"
    return plain_mapping(kept)
