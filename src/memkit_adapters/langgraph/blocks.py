"""Content blocks: LangChain's and its providers' to memkit's, and back without loss.

What memkit has no field for goes into `extra["langchain"]`. A block that memkit has no word
for at all is carried in a reasoning block without text, which nothing reads or extracts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import assert_never

from pydantic import JsonValue

from memkit.models import (
    ContentBlock,
    MediaBlock,
    ReasoningBlock,
    TextBlock,
    ToolCallBlock,
    ToolResultBlock,
)
from memkit_adapters.langgraph.media import read_media, write_media
from memkit_adapters.langgraph.plain import plain, plain_mapping

BARE = "bare"
"""Marks a text that stood in a list of blocks as a bare string."""

_TEXTS = {"text": "text", "text-plain": "text", "refusal": "refusal", "output_text": "text"}
_THOUGHTS = {"reasoning": "reasoning", "thinking": "thinking"}
_CALLS = {
    "tool_call": ("id", "args"),
    "tool_use": ("id", "input"),
    "server_tool_call": ("id", "args"),
    "server_tool_use": ("id", "input"),
    "function_call": ("call_id", "arguments"),
}
_RESULTS = {
    "tool_result": ("tool_use_id", "content"),
    "server_tool_result": ("tool_call_id", "output"),
    "function_call_output": ("call_id", "output"),
}


def read_block(block: object) -> ContentBlock:
    """One entry of a LangChain message's content."""
    if isinstance(block, str):
        return TextBlock(text=block, extra={"langchain": BARE})
    if not isinstance(block, Mapping):
        return _opaque(block)
    sort = str(block.get("type"))
    return (
        _read_text(sort, block)
        or _read_thought(sort, block)
        or _read_call(sort, block)
        or _read_result(sort, block)
        or read_media(block)
        or _opaque(block)
    )


def write_block(block: ContentBlock) -> JsonValue:
    """The entry that `read_block` read, or the standard one for a block from elsewhere."""
    form = block.extra.get("langchain")
    match block:
        case TextBlock():
            return block.text if form == BARE else _written(form, "text", _TEXTS, block.text)
        case ReasoningBlock():
            opaque = block.extra.get("opaque")
            return form if opaque else _written(form, "reasoning", _THOUGHTS, block.text)
        case ToolCallBlock():
            return _write_call(block)
        case ToolResultBlock():
            return _write_result(block)
        case MediaBlock():
            return write_media(block)
        case _:
            assert_never(block)


def read_content(content: object) -> tuple[ContentBlock, ...]:
    """The blocks of a content, be it text or a list."""
    if isinstance(content, str):
        # Stated, because pydantic copies a default that can change.
        return (TextBlock(text=content, extra={}),) if content else ()
    return tuple(map(read_block, content)) if isinstance(content, list) else ()


def without_bodies(content: object) -> JsonValue:
    """A tool's answer in its own shape, media by reference."""
    if isinstance(content, list):
        return [write_block(read_block(each)) for each in content]
    return plain(content)


def _read_text(sort: str, block: Mapping[str, object]) -> TextBlock | None:
    key = _TEXTS.get(sort)
    text = block.get(key) if key else None
    if not key or not isinstance(text, str):
        return None
    return TextBlock(text=text, extra=_form(block, "text", {key}))


def _read_thought(sort: str, block: Mapping[str, object]) -> ReasoningBlock | None:
    key = _THOUGHTS.get(sort)
    text = block.get(key) if key else None
    if not key or not isinstance(text, str):
        return None
    return ReasoningBlock(text=text, extra=_form(block, "reasoning", {key}))


def _read_call(sort: str, block: Mapping[str, object]) -> ToolCallBlock | None:
    id_key, arguments_key = _CALLS.get(sort, ("", ""))
    name, call_id = block.get("name"), block.get(id_key)
    if arguments_key not in block or not isinstance(name, str) or not isinstance(call_id, str):
        return None
    arguments = block[arguments_key]
    taken = {"name", id_key} | (set() if isinstance(arguments, str) else {arguments_key})
    return ToolCallBlock(
        id=call_id,
        name=name,
        arguments=_parsed(arguments),
        extra={"langchain": _rest(block, taken)},
    )


def _write_call(block: ToolCallBlock) -> dict[str, JsonValue]:
    form = block.extra.get("langchain")
    written = dict(form) if isinstance(form, dict) else {"type": "tool_call"}
    id_key, arguments_key = _CALLS.get(str(written.get("type")), ("id", "args"))
    return {"name": block.name, id_key: block.id, arguments_key: block.arguments} | written


def _read_result(sort: str, block: Mapping[str, object]) -> ToolResultBlock | None:
    id_key, content_key = _RESULTS.get(sort, ("", ""))
    call_id = block.get(id_key)
    if content_key not in block or not isinstance(call_id, str):
        return None
    return ToolResultBlock(
        call_id=call_id,
        content=without_bodies(block.get(content_key)),
        is_error=bool(block.get("is_error")) or block.get("status") == "error",
        extra={"langchain": _rest(block, {id_key, content_key})},
    )


def _write_result(block: ToolResultBlock) -> dict[str, JsonValue]:
    form = block.extra.get("langchain")
    written = dict(form) if isinstance(form, dict) else {"type": "tool_result"}
    id_key, content_key = _RESULTS.get(str(written.get("type")), _RESULTS["tool_result"])
    own: dict[str, JsonValue] = {id_key: block.call_id, content_key: block.content}
    return written | own


def _opaque(block: object) -> ReasoningBlock:
    return ReasoningBlock(text="", extra={"langchain": plain(block), "opaque": True})


def _form(block: Mapping[str, object], standard: str, taken: set[str]) -> dict[str, JsonValue]:
    """What the block says besides `taken`; nothing if that is only the standard type."""
    rest = _rest(block, taken)
    return {} if rest == {"type": standard} else {"langchain": rest}


def _rest(block: Mapping[str, object], taken: set[str]) -> dict[str, JsonValue]:
    return plain_mapping({key: value for key, value in block.items() if key not in taken})


def _written(
    form: JsonValue, standard: str, keys: Mapping[str, str], text: str
) -> dict[str, JsonValue]:
    written = dict(form) if isinstance(form, dict) else {"type": standard}
    return {**written, keys[str(written["type"])]: text}


def _parsed(arguments: object) -> JsonValue:
    """Arguments as JSON. Some providers give them as text, which stays in the form as well."""
    if not isinstance(arguments, str):
        return plain(arguments)
    try:
        return plain(json.loads(arguments))
    except (ValueError, RecursionError):
        return arguments
