"""Messages between LangChain and memkit."""

from __future__ import annotations

import base64
import hashlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
    message_to_dict,
)

from memkit.errors import InvalidInput
from memkit.models import MediaBlock, Message, TextBlock, ToolCallBlock, ToolResultBlock
from memkit_adapters.langgraph.messages import from_langchain, to_langchain

BODY = base64.b64encode(b"a small picture").decode()
DIGEST = "urn:sha256:" + hashlib.sha256(b"a small picture").hexdigest()
CALL = {"name": "weather", "args": {"city": "Oslo"}, "id": "call-1", "type": "tool_call"}

LOSSLESS: dict[str, BaseMessage] = {
    "human": HumanMessage("hello", id="m1", name="Maya"),
    "human without id": HumanMessage("hello"),
    "empty text": HumanMessage(""),
    "empty list": HumanMessage([]),
    "id that is no key": HumanMessage("hello", id=""),
    "list of strings": HumanMessage(["one", "two"]),
    "list of one text": HumanMessage([{"type": "text", "text": "one"}]),
    "text with annotations": AIMessage(
        [{"type": "text", "text": "x", "annotations": [{"type": "citation", "url": "u"}]}]
    ),
    "plain text document": HumanMessage(
        [{"type": "text-plain", "text": "page", "mime_type": "text/plain", "title": "T"}]
    ),
    "image by url": HumanMessage([{"type": "image", "url": "https://x/y.png"}]),
    "image by file id": HumanMessage([{"type": "image", "file_id": "f1", "id": "b1"}]),
    "image by id, older": HumanMessage([{"type": "image", "source_type": "id", "id": "f1"}]),
    "image by url, OpenAI": HumanMessage(
        [{"type": "image_url", "image_url": {"url": "https://x/y.png", "detail": "low"}}]
    ),
    "image by url, bare": HumanMessage([{"type": "image_url", "image_url": "https://x/y.png"}]),
    "image by url, Anthropic": HumanMessage(
        [{"type": "image", "source": {"type": "url", "url": "https://x/y.png"}}]
    ),
    "document by file id, Anthropic": HumanMessage(
        [{"type": "document", "source": {"type": "file", "file_id": "f1"}, "title": "T"}]
    ),
    "audio": HumanMessage([{"type": "audio", "url": "u", "mime_type": "audio/wav"}]),
    "video": HumanMessage([{"type": "video", "url": "u", "extras": {"fps": 25}}]),
    "file": HumanMessage(
        [{"type": "file", "url": "u", "mime_type": "application/pdf", "extras": {"name": "a.pdf"}}]
    ),
    "file by id, OpenAI": HumanMessage([{"type": "file", "file": {"file_id": "f1"}}]),
    "media, Google": HumanMessage(
        [{"type": "media", "mime_type": "video/mp4", "file_uri": "gs://x/y"}]
    ),
    "tool result inside, Anthropic": HumanMessage(
        [{"type": "tool_result", "tool_use_id": "1", "content": "sunny", "is_error": True}]
    ),
    "blocks memkit has no word for": HumanMessage(
        [{"type": "non_standard", "value": {"q": [1, None]}}, {"cachePoint": {"type": "default"}}]
    ),
    "system": SystemMessage("be brief", id="s1"),
    "developer": SystemMessage("be brief", additional_kwargs={"__openai_role__": "developer"}),
    "ai": AIMessage("hi", id="a1", name="bot", response_metadata={"model_name": "m"}),
    "ai with usage": AIMessage(
        "hi", usage_metadata={"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}
    ),
    "ai with tool call": AIMessage("", tool_calls=[CALL]),
    "ai with text and tool calls": AIMessage("looking", tool_calls=[CALL, {**CALL, "id": "c2"}]),
    "ai with tool call without id": AIMessage("", tool_calls=[{**CALL, "id": None}]),
    "ai with invalid tool call": AIMessage(
        "",
        invalid_tool_calls=[
            {"name": "f", "args": "{", "id": "1", "error": "cut", "type": "invalid_tool_call"}
        ],
    ),
    "ai with tool call in content": AIMessage([CALL], tool_calls=[CALL]),
    "ai with tool use, Anthropic": AIMessage(
        [
            {"type": "text", "text": "looking"},
            {
                "type": "tool_use",
                "id": "call-1",
                "name": "weather",
                "input": {"city": "Oslo"},
                "cache_control": {"type": "ephemeral"},
            },
        ],
        tool_calls=[CALL],
    ),
    "ai with function call, OpenAI": AIMessage(
        [
            {
                "type": "function_call",
                "call_id": "call-1",
                "name": "weather",
                "arguments": '{"city":  "Oslo"}',
                "id": "fc-1",
            }
        ],
        tool_calls=[CALL],
    ),
    "server tools": AIMessage(
        [
            {"type": "server_tool_call", "id": "1", "name": "search", "args": {"q": "x"}},
            {
                "type": "server_tool_result",
                "tool_call_id": "1",
                "status": "success",
                "output": {"hits": 0},
            },
        ]
    ),
    "reasoning": AIMessage([{"type": "reasoning", "reasoning": "hm", "extras": {"a": 1}}]),
    "thinking, Anthropic": AIMessage(
        [
            {"type": "thinking", "thinking": "hm", "signature": "s"},
            {"type": "redacted_thinking", "data": "secret"},
        ]
    ),
    "refusal": AIMessage([{"type": "refusal", "refusal": "no"}]),
    "other kwargs": AIMessage("hi", additional_kwargs={"lc_source": "summarization"}),
    "tool": ToolMessage("sunny", tool_call_id="call-1", name="weather", id="t1"),
    "tool failed": ToolMessage("no answer", tool_call_id="call-1", status="error"),
    "tool with blocks and artifact": ToolMessage(
        [{"type": "text", "text": "sunny"}, {"type": "image", "url": "u"}],
        tool_call_id="call-1",
        artifact={"raw": [1, 2]},
    ),
    "chat": ChatMessage("x", role="critic"),
    "chat as user": ChatMessage("x", role="user", id="c1"),
    "function": FunctionMessage("42", name="sum"),
    "remove": RemoveMessage("m1"),
}


@pytest.mark.parametrize("message", LOSSLESS.values(), ids=LOSSLESS.keys())
def test_every_kind_and_block_comes_back_equal(message: BaseMessage) -> None:
    """LangChain to memkit to LangChain loses nothing, and memkit's form is plain JSON."""
    kept = Message.model_validate_json(from_langchain([message])[0].model_dump_json())
    assert to_langchain([kept]) == [message]


BODIES: dict[str, dict[str, object]] = {
    "standard": {"type": "image", "base64": BODY, "mime_type": "image/png"},
    "older": {"type": "image", "source_type": "base64", "data": BODY, "mime_type": "image/png"},
    "OpenAI": {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{BODY}"}},
    "OpenAI, responses": {"type": "input_image", "image_url": f"data:image/png;base64,{BODY}"},
    "Anthropic": {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": BODY},
    },
    "Google": {"type": "media", "mime_type": "image/png", "data": BODY},
    "bytes": {"type": "image", "base64": b"a small picture", "mime_type": "image/png"},
}


@pytest.mark.parametrize("block", BODIES.values(), ids=BODIES.keys())
def test_a_body_becomes_a_reference(block: dict[str, object]) -> None:
    """Bytes are never kept: the block names its body by digest, with type and size."""
    message = from_langchain([HumanMessage([block])])[0]
    (media,) = message.content
    assert isinstance(media, MediaBlock)
    assert (media.media, media.reference, media.media_type) == ("image", DIGEST, "image/png")
    assert BODY not in message.model_dump_json()
    (written,) = to_langchain([message])
    assert written.content[0] == {
        "type": "image",
        "url": DIGEST,
        "mime_type": "image/png",
        "extras": {"size": 15},
    }
    assert from_langchain([written]) == [message]


def test_a_body_in_a_tools_answer_becomes_a_reference() -> None:
    """What a tool answered is kept in its own shape, without the bytes."""
    answer = ToolMessage(
        [{"type": "image", "base64": BODY, "mime_type": "image/png"}], tool_call_id="1"
    )
    assert BODY not in from_langchain([answer])[0].model_dump_json()


def test_strangers_are_kept_by_their_text() -> None:
    """A value that JSON cannot say never stops a message: it is kept as text."""
    odd = AIMessage("hi", additional_kwargs={"n": float("nan"), "o": {1: {2}}, "c": complex(1)})
    kwargs = to_langchain(from_langchain([odd]))[0].additional_kwargs
    assert json.dumps(kwargs, allow_nan=False)
    assert kwargs == {"n": "nan", "o": {"1": [2]}, "c": "(1+0j)"}


def test_roles_and_text_are_readable() -> None:
    """Roles are memkit's words, and the text is what a reader sees."""
    messages = from_langchain(
        [
            SystemMessage("be brief"),
            HumanMessage([{"type": "text", "text": "look"}, {"type": "image", "url": "u"}]),
            AIMessage([{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "nice"}]),
            ToolMessage("42", tool_call_id="1"),
            ChatMessage("x", role="critic"),
        ]
    )
    assert [each.role for each in messages] == ["system", "user", "assistant", "tool", "assistant"]
    assert [each.text for each in messages] == ["be brief", "look", "nice", "", "x"]


SPELLINGS: dict[str, object] = {
    "role": {"role": "user", "content": "hello"},
    "type": {"type": "human", "content": "hello"},
    "stored": message_to_dict(HumanMessage("hello")),
    "serialized": {
        "lc": 1,
        "type": "constructor",
        "id": ["langchain", "schema", "messages", "HumanMessage"],
        "kwargs": {"content": "hello", "type": "human"},
    },
    "pair": ("user", "hello"),
    "text": "hello",
}


@pytest.mark.parametrize("spelling", SPELLINGS.values(), ids=SPELLINGS.keys())
def test_any_spelling_of_a_message_is_read(spelling: object) -> None:
    """Whatever LangGraph accepts as a message is one for memkit too."""
    (message,) = from_langchain([spelling])
    assert (message.role, message.text) == ("user", "hello")


def test_chunks_and_unknown_roles_are_read() -> None:
    """A chunk is the message it is a part of; a role nobody knows does not stop the rest."""
    chunk, critic, empty = from_langchain(
        [
            AIMessageChunk("hi", id="a1"),
            {"role": "critic", "content": "weak", "id": "c1"},
            {"role": "assistant", "content": None},
        ]
    )
    assert (chunk.role, chunk.text, chunk.key) == ("assistant", "hi", "a1")
    assert (critic.role, critic.text, critic.key) == ("assistant", "weak", "c1")
    assert empty.content == ()


@pytest.mark.parametrize(
    "nonsense",
    [3, None, {"content": "x"}, {"role": "user"}, ("a",), {"role": "tool", "content": "x"}],
)
def test_what_is_no_message_is_refused(nonsense: object) -> None:
    """Refusal is typed, and its message does not quote what it was given."""
    with pytest.raises(InvalidInput, match="not a message") as caught:
        from_langchain([nonsense])
    assert caught.value.__cause__ is None


def test_a_message_from_elsewhere_can_be_shown_to_langchain() -> None:
    """Time and metadata survive, and several tool results in one become one message each."""
    message = Message.model_validate(
        {
            "role": "user",
            "content": [
                ToolResultBlock(call_id="1", content="sunny"),
                ToolResultBlock(call_id="2", content={"t": 3}, is_error=True),
                TextBlock(text="and now?"),
            ],
            "key": "k1",
            "time": "2026-03-02T08:30:00Z",
            "metadata": {"tracking": 7},
        }
    )
    first, second, said = to_langchain([message])
    assert isinstance(first, ToolMessage)
    assert isinstance(second, ToolMessage)
    assert (first.tool_call_id, first.content, first.id) == ("1", "sunny", "k1")
    assert (second.tool_call_id, second.status, second.id) == ("2", "error", None)
    assert (said.type, said.content, said.id) == ("human", "and now?", None)
    alone = message.model_copy(update={"content": (TextBlock(text="and now?"),)})
    assert from_langchain(to_langchain([alone])) == [alone]


def test_a_tool_call_from_elsewhere_is_one_for_langchain() -> None:
    """The assistant's tool calls stand where models look for them."""
    call = ToolCallBlock(id="1", name="weather", arguments={"city": "Oslo"})
    (written,) = to_langchain([Message(role="assistant", content=(TextBlock(text="hm"), call))])
    assert isinstance(written, AIMessage)
    assert written.content == "hm"
    assert written.tool_calls == [{**CALL, "id": "1"}]


TEXTS = st.text(max_size=20)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
TYPES = st.sampled_from(
    ["text", "image", "file", "tool_use", "tool_result", "reasoning", "thinking", "media", "odd"]
)
KEYS = st.sampled_from(["text", "url", "name", "id", "input", "content", "tool_use_id", "thinking"])
BLOCKS = TEXTS | st.builds(
    lambda sort, rest: {**rest, "type": sort}, TYPES, st.dictionaries(KEYS, JSON, max_size=4)
)


@given(
    content=TEXTS | st.lists(BLOCKS, max_size=4), kwargs=st.dictionaries(TEXTS, JSON, max_size=2)
)
def test_any_content_comes_back_equal(
    content: str | list[object], kwargs: dict[str, object]
) -> None:
    """No JSON content is refused or changed, however malformed its blocks are."""
    message = HumanMessage(content, additional_kwargs={f"x{key}": kwargs[key] for key in kwargs})
    assert to_langchain(from_langchain([message])) == [message]
