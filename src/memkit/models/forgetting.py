"""What is to be forgotten, and the receipt for it."""

from __future__ import annotations

from pydantic import AwareDatetime, Field

from memkit.models.base import Model
from memkit.models.scope import Scope


class WholeScope(Model):
    """Everything of one scope (a home): items, episodes, jobs."""

    scope: Scope


class Session(Model):
    """One session's messages, and what was learnt from them alone.

    `scope` is the scope the session was recorded with.
    """

    scope: Scope
    session_id: str


class Items(Model):
    """Items by id; their evidence stays."""

    scope: Scope
    ids: tuple[str, ...] = Field(min_length=1)


class Messages(Model):
    """Messages of a session by key, and what was learnt from them alone."""

    scope: Scope
    session_id: str
    keys: tuple[str, ...] = Field(min_length=1)


class Episodes(Model):
    """Whole episodes by id, and what was learnt from them alone: the revoking of a source.

    `scope` is their home.
    """

    scope: Scope
    ids: tuple[str, ...] = Field(min_length=1)


Target = WholeScope | Session | Items | Messages | Episodes


class Receipt(Model):
    """What a forget removed, counted. `redacted` messages had their text replaced instead."""

    at: AwareDatetime
    epoch: int
    items: int = 0
    episodes: int = 0
    messages: int = 0
    redacted: int = 0
    jobs: int = 0


class Tombstone(Model):
    """A content that was forgotten in a scope; only its hash is kept.

    It blocks an item whose newest source was recorded at or before `at`.
    """

    id: str
    scope: Scope
    content_hash: str
    at: AwareDatetime
