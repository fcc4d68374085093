"""What is remembered, and the messages it came from."""

from __future__ import annotations

import hashlib
from datetime import datetime
from functools import cached_property
from typing import Literal

from pydantic import AwareDatetime, Field, JsonValue, field_validator

from memkit.decay import Policy
from memkit.models.base import Model
from memkit.models.scope import Scope, check_id
from memkit.text import fold

Kind = str
"""One of `KINDS`, or one declared as a strategy."""

KINDS: tuple[Kind, ...] = ("semantic", "preference", "summary", "episodic", "procedural")
"""The kinds that need no declaring."""

Status = Literal["active", "superseded", "quarantined"]
Origin = Literal["user", "assistant", "tool", "told", "imported"]
"""Who said it: the user, the assistant, a tool, the host by `remember`, or an import."""


def content_hash(content: str) -> str:
    """32 hex digits of SHA-256 over the folded content: equal hashes are the same memory."""
    return hashlib.sha256(fold(content).encode("utf-8", "surrogatepass")).hexdigest()[:32]


class Source(Model):
    """A message that an item came from; `position` is its place in the session."""

    episode_id: str
    session_id: str
    position: int = Field(ge=0)
    key: str | None = None
    recorded_at: AwareDatetime


class MemoryItem(Model):
    """One thing remembered.

    `importance` holds as of `reinforced_at`. `policy` names the decay policy by which
    `fades_at` was computed (see `memkit.decay`); `ends_at` is the end of an item's time to
    live, however important it is. `observed_at` is when the newest source was said.
    `tokens` are the search tokens of `content`, made by core and indexed by stores.
    `key` and `value` are the caller's own: `key` is unique per scope, `value` exact JSON.
    """

    id: str
    scope: Scope
    content: str = Field(min_length=1)
    kind: Kind = "semantic"
    importance: float = Field(default=0.5, ge=0, le=1)
    created_at: AwareDatetime
    observed_at: AwareDatetime
    reinforced_at: AwareDatetime
    policy: str
    fades_at: AwareDatetime
    ends_at: AwareDatetime | None = None
    pinned: bool = False
    status: Status = "active"
    valid_from: AwareDatetime | None = None
    valid_to: AwareDatetime | None = None
    superseded_by: str | None = None
    sources: tuple[Source, ...] = ()
    origin: Origin = "told"
    job_id: str | None = None
    model: str | None = None
    key: str | None = None
    value: JsonValue = None
    metadata: dict[str, JsonValue] = Field(default_factory=dict)
    tokens: str = ""

    @field_validator("key", mode="before")
    @classmethod
    def _key_is_an_id(cls, value: object) -> str | None:
        return value if value is None else check_id("item key", value)

    @cached_property
    def content_hash(self) -> str:
        """See `content_hash` of this module."""
        return content_hash(self.content)

    def importance_at(self, now: datetime) -> float:
        """What is left of its importance at `now`, by the policy that it carries.

        To nine digits, as dates are whole microseconds: to be reinforced by what it has already
        adds nothing.
        """
        return round(Policy.from_name(self.policy).importance(self.fades_at, now), 9)

    @property
    def expires_at(self) -> datetime:
        """When it counts as absent: once it has faded, or its time is up."""
        return self.fades_at if self.ends_at is None else min(self.fades_at, self.ends_at)
