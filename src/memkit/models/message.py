"""What was said: messages, their content blocks, and the episode that keeps them."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Annotated, Literal, get_args

from pydantic import AwareDatetime, Field, JsonValue, field_validator

from memkit.errors import InvalidInput
from memkit.models.base import Model, unchecked
from memkit.models.scope import Scope, check_id

_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"))

Role = Literal["user", "assistant", "system", "tool"]
ROLES: tuple[Role, ...] = get_args(Role)


class Block(Model):
    """One piece of a message. `extra` keeps what a framework said and memkit has no word for."""

    extra: dict[str, JsonValue] = Field(default_factory=dict)


class TextBlock(Block):
    """Plain text."""

    type: Literal["text"] = "text"
    text: str


class ToolCallBlock(Block):
    """The assistant asks for a tool."""

    type: Literal["tool_call"] = "tool_call"
    id: str
    name: str
    arguments: JsonValue = None


class ToolResultBlock(Block):
    """What a tool answered; `content` is the framework's own JSON."""

    type: Literal["tool_result"] = "tool_result"
    call_id: str
    content: JsonValue = None
    is_error: bool = False


class MediaBlock(Block):
    """An image, a sound, a video or a file, by reference: never its bytes."""

    type: Literal["media"] = "media"
    media: Literal["image", "audio", "video", "file"]
    reference: str
    media_type: str | None = None


class ReasoningBlock(Block):
    """What the model thought aloud. Kept for the round trip, never extracted."""

    type: Literal["reasoning"] = "reasoning"
    text: str


ContentBlock = Annotated[
    TextBlock | ToolCallBlock | ToolResultBlock | MediaBlock | ReasoningBlock,
    Field(discriminator="type"),
]


class Message(Model):
    """One message of a session.

    `content` may be given as text. `key` is the framework's stable id, if it has one: the
    same key is the same message. `time` is when it was said; recording fills it in.
    `name` is the speaker's, where the conversation has more than two.
    """

    role: Role
    content: tuple[ContentBlock, ...]
    key: str | None = None
    time: AwareDatetime | None = None
    name: str | None = None
    metadata: dict[str, JsonValue] = Field(default_factory=dict)

    @field_validator("content", mode="before")
    @classmethod
    def _text_is_a_block(cls, value: object) -> object:
        return ({"type": "text", "text": value},) if isinstance(value, str) else value

    @field_validator("time")
    @classmethod
    def _time_can_be_written(cls, value: datetime | None) -> datetime | None:
        if value is None:
            return None
        try:
            in_utc = value.astimezone(UTC)
        except OverflowError:
            raise InvalidInput("a message's time is outside the years 1 to 9999 of UTC") from None
        # ISO 8601 knows no offset of seconds, and would be wrong by them.
        is_odd = (value.utcoffset() or timedelta(0)) % timedelta(minutes=1)
        return in_utc if is_odd else value

    @field_validator("key", mode="before")
    @classmethod
    def _key_is_an_id(cls, value: object) -> str | None:
        return value if value is None else check_id("message key", value)

    @property
    def text(self) -> str:
        """What a reader sees: the text blocks, one to a line."""
        return "\n".join([block.text for block in self.content if isinstance(block, TextBlock)])

    @cached_property
    def digest(self) -> str:
        """16 hex digits of SHA-256 over role, name and content: equal digests, same message.

        Neither key nor time nor metadata takes part: frameworks mint those anew.
        """
        name = "null" if self.name is None else _CANONICAL.encode(self.name)
        content = ",".join([_canonical(block) for block in self.content])
        said = f'["{self.role}",{name},[{content}]]'
        # ASCII escapes keep a lone surrogate encodable.
        return hashlib.sha256(said.encode()).hexdigest()[:16]


def _canonical(block: ContentBlock) -> str:
    """The one JSON of a block: sorted names, no blanks, ASCII."""
    if isinstance(block, TextBlock) and not block.extra:
        return f'{{"extra":{{}},"text":{_CANONICAL.encode(block.text)},"type":"text"}}'
    return _CANONICAL.encode(block.model_dump(mode="json"))


def only_text(message: Message) -> str | None:
    """The text of a message that is said in one, by nobody in particular, and is nothing else."""
    if len(message.content) == 1 and message.name is None and not message.metadata:
        [block] = message.content
        if isinstance(block, TextBlock) and not block.extra:
            return block.text
    return None


def spoken(role: Role, text: str, time: datetime | None, key: str | None = None) -> Message:
    """A message of one text, by nobody in particular."""
    block = unchecked(TextBlock, extra={}, type="text", text=text)
    return unchecked(
        Message, role=role, content=(block,), key=key, time=time, name=None, metadata={}
    )


def dated(message: Message, time: datetime) -> Message:
    """The message, said at `time`; its digest goes by other fields and is kept."""
    return unchecked(type(message), **{**message.__dict__, "time": time})


def key_hash(key: str) -> str:
    """16 hex digits of SHA-256 of a message key: what is kept of it when its body is gone."""
    return hashlib.sha256(key.encode()).hexdigest()[:16]


EpisodeFlag = Literal["sanitized", "redacted", "truncated"]


class Episode(Model):
    """The new messages that one `record` call added to one session: evidence, kept as said.

    `scope` is the scope as the caller gave it; (`scope`, `session_id`) is the session.
    `home` is the projected scope under which what is learnt from it will be kept; claims,
    epochs and forgetting go by `home`. `position` is the number of messages recorded in the
    session before this episode; the store sets it. `tokens` estimates the size for budgets.
    `messages` is empty once the body has been purged or forgotten.
    """

    id: str
    scope: Scope
    home: Scope
    session_id: str
    messages: tuple[Message, ...]
    recorded_at: AwareDatetime
    expires_at: AwareDatetime | None = None
    position: int = Field(default=0, ge=0)
    tokens: int = Field(default=0, ge=0)
    flags: tuple[EpisodeFlag, ...] = ()

    @field_validator("session_id", mode="before")
    @classmethod
    def _session_is_an_id(cls, value: object) -> str:
        return check_id("session_id", value)


class Tail(Model):
    """The end of a session as the store has it.

    `head` is the number of messages recorded so far: the position of the next. `digests`
    and `keys` belong to the newest messages, oldest first, bodies purged or not; a message
    without a key has `None`, and a key whose body is gone is listed as its `key_hash`.
    """

    head: int = 0
    digests: tuple[str, ...] = ()
    keys: tuple[str | None, ...] = ()


class Appended(Model):
    """What became of one episode.

    `stored` messages are new, `skipped` were there already (or were forgotten and may not
    come back), `revised` are new contents of known keys and are among `stored`. `stale`
    means that the session no longer ended at `expected_head` and nothing was stored.
    `episode_id` is the episode that holds them: an earlier one if all were skipped.
    """

    episode_id: str | None
    head: int
    stored: int = 0
    skipped: int = 0
    revised: int = 0
    stale: bool = False
