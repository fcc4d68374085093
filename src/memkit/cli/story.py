"""The demo's story as events: what its teller yields, and what the command line shows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import JsonValue

from memkit.cli.conversation import Conversation
from memkit.errors import MemkitError

STEPS = 8


class StoryFailed(MemkitError):
    """A step of the story did not come out as it must."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """On what the story plays. `store` of None is an SQLite file in `folder`."""

    conversations: tuple[Conversation, ...]
    folder: Path
    store: str | None = None
    extractor: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One of the eight steps has ended. `lines` add to its result, `facts` are for programs."""

    number: int
    title: str
    ok: bool
    result: str
    lines: tuple[str, ...] = ()
    facts: Mapping[str, JsonValue] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Advance:
    """Work that takes a while has come this far."""

    what: str
    done: int
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A question that was asked, and what came back for it.

    `place` is that of the first recalled item that holds the answer, from 1. `recalled` are
    the contents worth showing, by their place: the first, and that one.
    """

    question: str
    expected: str
    place: int | None
    recalled: Mapping[int, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recall:
    """What asking all questions came to.

    `judged` questions name their evidence; `answered` of them had some among the first ten
    items, and `evidence` is the mean share of the evidence found there.
    """

    sessions: int
    turns: int
    asked: int
    judged: int
    answered: int
    evidence: float
    milliseconds: float
    examples: tuple[Answer, ...] = ()


StoryEvent = Step | Advance | Recall
Story = Callable[[Setting], Iterator[StoryEvent]]
"""Tells the story. Ends early, with the error, when a step fails."""
