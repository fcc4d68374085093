"""Conversations of several sessions, with questions about them, from JSON lines.

A line is an object with a `kind`: `conversation` or `question`; other kinds are passed over.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, ValidationError, field_validator

from memkit.errors import InvalidInput

EXAMPLE = "the example"


class _Line(BaseModel):
    """What a file says and memkit does not ask for is passed over."""

    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True)


class Said(_Line):
    """One turn. `caption` describes an image that was shared with it."""

    id: str
    role: Literal["user", "assistant"]
    speaker: str | None = None
    time: AwareDatetime | None = None
    text: str
    caption: str | None = None

    @field_validator("time", mode="before")
    @classmethod
    def _naive_times_are_utc(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        moment = datetime.fromisoformat(value)
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)

    @property
    def shown(self) -> str:
        """The text, and what the image showed."""
        return f"{self.text} [shares image: {self.caption}]" if self.caption else self.text


class Sitting(_Line):
    """One session of a conversation."""

    id: str
    turns: tuple[Said, ...]


class Question(_Line):
    """A question about a conversation, and the turns that hold its answer.

    `before_session` is the place of the session before which it is asked; None is the end.
    """

    conv_id: str
    question: str
    answer: str = ""
    category: str = ""
    before_session: int | None = None
    evidence_turns: tuple[str, ...] = ()


class Conversation(_Line):
    """Sessions in order, and the questions about them."""

    conv_id: str
    sessions: tuple[Sitting, ...]
    questions: tuple[Question, ...] = ()

    @property
    def size(self) -> int:
        """How many turns."""
        return sum(len(session.turns) for session in self.sessions)

    def due(self, place: int | None) -> tuple[Question, ...]:
        """The questions to be asked before the session at `place`, or at the end."""
        return tuple(each for each in self.questions if each.before_session == place)


def read_conversations(name: str | None) -> tuple[Conversation, ...]:
    """The conversations of `FILE` or `FILE#CONV_ID`, plain or gzipped; None is the example.

    `InvalidInput` says which file and line cannot be used.
    """
    if name is None:
        text = files("memkit.cli").joinpath("example_conversation.jsonl").read_text("utf-8")
        return _gathered(EXAMPLE, text.splitlines())
    path, wanted = _located(name)
    found = _gathered(str(path), _lines(path))
    if wanted is None:
        return found
    chosen = tuple(each for each in found if each.conv_id == wanted)
    if not chosen:
        listed = ", ".join(each.conv_id for each in found)
        raise InvalidInput(f"{path} has no conversation {wanted!r}; it has {listed}")
    return chosen


def _located(name: str) -> tuple[Path, str | None]:
    """The file and the conversation in it. A file whose own name has a # is that file."""
    if Path(name).exists() or "#" not in name:
        return Path(name), None
    path, _, wanted = name.rpartition("#")
    return Path(path), wanted


def _lines(path: Path) -> Iterator[str]:
    """The lines of a file, unpacked if it is gzipped, whatever its name."""
    try:
        with path.open("rb") as raw:
            packed = raw.read(2) == b"\x1f\x8b"
        opening = gzip.open if packed else open
        with opening(path, "rt", encoding="utf-8") as text:
            yield from text
    except OSError as exc:
        reason = exc.strerror or "not a gzip file"
        raise InvalidInput(f"cannot read {path}: {reason}") from exc
    except (EOFError, UnicodeDecodeError) as exc:
        raise InvalidInput(f"cannot read {path}: cut short, or not UTF-8") from exc


def _gathered(name: str, lines: Iterator[str] | list[str]) -> tuple[Conversation, ...]:
    conversations: dict[str, Conversation] = {}
    questions: dict[str, list[Question]] = {}
    for number, line in enumerate(lines, start=1):
        match _read(name, number, line):
            case Conversation() as conversation:
                conversations[conversation.conv_id] = conversation
            case Question() as question:
                questions.setdefault(question.conv_id, []).append(question)
            case None:
                pass
    if not conversations:
        raise InvalidInput(f"{name} holds no conversation; see docs/demo.md for the form")
    return tuple(
        each.model_copy(update={"questions": tuple(questions.get(each.conv_id, ()))})
        for each in conversations.values()
    )


def _read(name: str, number: int, line: str) -> Conversation | Question | None:
    if not line.strip():
        return None
    try:
        value = json.loads(line)
        match value.get("kind") if isinstance(value, dict) else None:
            case "conversation":
                return Conversation.model_validate(value)
            case "question":
                return Question.model_validate(value)
            case _:
                return None
    except ValidationError as exc:
        first = exc.errors(include_input=False, include_context=False, include_url=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise InvalidInput(f"{name} line {number}: {place}: {first['msg']}") from None
    except (ValueError, RecursionError):
        raise InvalidInput(f"{name} line {number} is not JSON") from None
