"""What an extractor is given, and what it may propose."""

from __future__ import annotations

from typing import Literal

from pydantic import AwareDatetime, Field

from memkit.models.base import Model, unchecked
from memkit.models.item import Kind, Origin
from memkit.models.job import Usage
from memkit.models.message import Episode, Message
from memkit.models.scope import Scope


class Turn(Model):
    """A message to extract from, with its place. `number` is how proposals cite it, from 1."""

    number: int
    session_id: str
    position: int
    message: Message


class Known(Model):
    """A related item already remembered; `number` is how proposals target it, from 1."""

    number: int
    item_id: str
    content: str
    kind: Kind


class Strategy(Model):
    """What to look for, and how long to keep it.

    `ttl_days` of `None` means that only decay ends it.
    """

    type: Literal["semantic", "preference", "summary", "episodic", "procedural", "custom"]
    name: str
    namespaces: tuple[str, ...] = ()
    instructions: str | None = None
    ttl_days: float | None = Field(default=None, gt=0)

    @property
    def kind(self) -> Kind:
        """The kind of the items it makes: its type, or its name where that is custom."""
        return self.name if self.type == "custom" else self.type


class ExtractionRequest(Model):
    """One call of an extractor. `context` is settled already and must not be extracted."""

    scope: Scope
    turns: tuple[Turn, ...]
    context: tuple[Message, ...] = ()
    known: tuple[Known, ...] = ()
    strategies: tuple[Strategy, ...] = ()
    now: AwareDatetime

    @classmethod
    def from_episodes(
        cls,
        episodes: tuple[Episode, ...],
        *,
        context: tuple[Episode, ...] = (),
        known: tuple[Known, ...] = (),
        strategies: tuple[Strategy, ...] = (),
        now: AwareDatetime,
    ) -> ExtractionRequest:
        """The request for one claim's episodes, their messages numbered from 1."""
        placed = (
            (episode.session_id, episode.position + offset, message)
            for episode in episodes
            for offset, message in enumerate(episode.messages)
        )
        return cls(
            scope=episodes[0].home,
            turns=tuple(
                unchecked(
                    Turn,
                    number=number,
                    session_id=session_id,
                    position=position,
                    message=message,
                )
                for number, (session_id, position, message) in enumerate(placed, start=1)
            ),
            context=tuple(message for episode in context for message in episode.messages),
            known=known,
            strategies=strategies,
            now=now,
        )


class Proposal(Model):
    """What an extractor proposes. Core decides what becomes of it.

    `importance` of `None` takes the configured default. `target` is the number of a known
    item that an update replaces or a remove ends. `sources` are turn numbers; empty means
    all turns of the request. `origin` of `None` is taken from the sources' roles.
    """

    action: Literal["add", "update", "remove"] = "add"
    content: str = ""
    kind: Kind = "semantic"
    importance: float | None = Field(default=None, ge=0, le=1)
    target: int | None = None
    sources: tuple[int, ...] = ()
    origin: Origin | None = None


class Extraction(Model):
    """What one call of an extractor came to: proposals, possibly none, and the cost.

    `model` names the language model, if one was used. `dropped` counts malformed or surplus
    entries of the reply that were left out.
    """

    proposals: tuple[Proposal, ...] = ()
    usage: Usage = Usage()
    model: str | None = None
    dropped: int = 0
