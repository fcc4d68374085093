"""Messages: LangChain's to memkit's and back, every kind, without loss but for media bodies.

A body in base64 becomes `urn:sha256:...` with its size and type; everything else returns as
it was. What memkit has no field for is kept in `metadata["langchain"]`, and what LangChain
has none for (time, other metadata) in `additional_kwargs["memkit"]`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from langchain_core.messages import (
    BaseMessage,
    BaseMessageChunk,
    ChatMessage,
    convert_to_messages,
    message_chunk_to_message,
    messages_from_dict,
)

from memkit.errors import InvalidInput
from memkit.models import Message
from memkit_adapters.langgraph.reading import ROLES, read_message
from memkit_adapters.langgraph.writing import write_message


def from_langchain(messages: Iterable[object]) -> list[Message]:
    """memkit's messages for LangChain's: objects, chunks, dicts, (role, text) pairs or text.

    `InvalidInput` for what is none of these.
    """
    return [read_message(as_langchain(each)) for each in messages]


def to_langchain(messages: Iterable[Message]) -> list[BaseMessage]:
    """LangChain's messages for memkit's. Results of several tools in one become several."""
    return [written for each in messages for written in write_message(each)]


def as_langchain(message: object) -> BaseMessage:
    """The message object for any spelling of a message. `InvalidInput` if it is none."""
    if isinstance(message, BaseMessageChunk):
        return message_chunk_to_message(message)
    if isinstance(message, BaseMessage):
        return message
    try:
        return _converted(message)
    except (ValueError, TypeError, KeyError, NotImplementedError) as exc:
        problem = type(exc).__name__
    # Their message quotes the content, ours must not: so it is not chained.
    raise InvalidInput(
        f"not a message ({problem}): give a BaseMessage, a dict with role and content, "
        "or a (role, text) pair"
    )


def _converted(message: object) -> BaseMessage:
    if isinstance(message, (str, tuple, list)):
        return convert_to_messages([message])[0]
    if not isinstance(message, Mapping):
        raise TypeError(type(message).__name__)
    if isinstance(message.get("data"), Mapping):
        return messages_from_dict([dict(message)])[0]
    role = message.get("role", message.get("type"))
    if isinstance(role, str) and role not in ROLES and message.get("lc") is None:
        return ChatMessage(role=role, content=message["content"] or "", id=message.get("id"))
    return convert_to_messages([dict(message)])[0]
