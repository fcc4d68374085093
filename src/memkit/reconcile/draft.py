"""Proposals on their way to items: with evidence, origin and final content, each content once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from memkit.models import (
    Claim,
    Episode,
    Extraction,
    ExtractionRequest,
    Kind,
    Message,
    Origin,
    Proposal,
    Source,
    content_hash,
)
from memkit.models.base import unchecked
from memkit.reconcile.rules import Rules
from memkit.text import clean

_MOST_TRUSTED_FIRST: tuple[Origin, ...] = ("user", "told", "assistant", "imported", "tool")


@dataclass(frozen=True, slots=True)
class Turn:
    """A message as evidence: where it stands, and when it was said."""

    episode: Episode
    offset: int
    said_at: datetime
    own_scope: bool

    @property
    def message(self) -> Message:
        """What was said, and by whom."""
        return self.episode.messages[self.offset]

    @property
    def source(self) -> Source:
        """How an item that rests on this names it."""
        return unchecked(
            Source,
            episode_id=self.episode.id,
            session_id=self.episode.session_id,
            position=self.episode.position + self.offset,
            key=self.message.key,
            recorded_at=self.episode.recorded_at,
        )


@dataclass(frozen=True, slots=True)
class Removal:
    """A known item that is said to hold no longer."""

    target: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Draft:
    """An item to be, before it is known whether it is remembered already."""

    content: str
    digest: str
    kind: Kind
    importance: float
    origin: Origin
    sources: tuple[Source, ...]
    observed_at: datetime
    targets: tuple[str, ...] = ()

    def united(self, other: Draft) -> Draft:
        """Both as one: the same content was proposed twice."""
        return replace(
            self,
            importance=max(self.importance, other.importance),
            origin=min(self.origin, other.origin, key=_MOST_TRUSTED_FIRST.index),
            sources=tuple(dict.fromkeys(self.sources + other.sources)),
            observed_at=max(self.observed_at, other.observed_at),
            targets=tuple(dict.fromkeys(self.targets + other.targets)),
        )


def place_turns(claim: Claim, now: datetime) -> tuple[Turn, ...]:
    """The messages of the claim, in the order in which requests number them."""
    return tuple(
        # Nothing is observed in the future, or nobody could ever correct it.
        Turn(episode, offset, min(message.time or episode.recorded_at, now), own_scope)
        for episode in claim.episodes
        for own_scope in [episode.scope == claim.scope]
        for offset, message in enumerate(episode.messages)
    )


def draft_all(
    turns: tuple[Turn, ...], request: ExtractionRequest, extraction: Extraction, rules: Rules
) -> tuple[list[Draft], list[Removal]]:
    """The items proposed, each content once, and the removals that count."""
    if not turns:
        return [], []
    item_ids = {known.number: known.item_id for known in request.known}
    drafts: dict[str, Draft] = {}
    removals: list[Removal] = []
    for proposal in extraction.proposals:
        draft = _draft(proposal, turns, rules)
        target = None if draft.origin in rules.quarantined else item_ids.get(proposal.target or 0)
        if proposal.action == "remove":
            removals += [Removal(target, draft.observed_at)] if target else []
        elif draft.content:
            if proposal.action == "update" and target:
                draft = replace(draft, targets=(target,))
            earlier = drafts.get(draft.digest)
            drafts[draft.digest] = earlier.united(draft) if earlier else draft
    return list(drafts.values()), removals


def _draft(proposal: Proposal, turns: tuple[Turn, ...], rules: Rules) -> Draft:
    numbers = sorted({number for number in proposal.sources if 0 < number <= len(turns)})
    cited = tuple(turns[number - 1] for number in numbers)
    content = final_content(proposal, rules)
    return Draft(
        content=content,
        digest=content_hash(content),
        kind=proposal.kind,
        importance=rules.importance if proposal.importance is None else proposal.importance,
        origin=proposal.origin or _origin(cited, turns),
        sources=tuple(turn.source for turn in cited or turns),
        observed_at=max(turn.said_at for turn in cited or turns),
    )


def final_content(proposal: Proposal, rules: Rules) -> str:
    """The content as an item will carry it: storable and redacted; "" if nothing is left."""
    content = clean(proposal.content)[0]
    if rules.redactor is not None:
        content, _ = rules.redactor.redact(content, where="item")
    return content.strip()


def _origin(cited: tuple[Turn, ...], turns: tuple[Turn, ...]) -> Origin:
    """Who said it. What cites nothing may come from the least trusted of all."""
    roles = {turn.message.role for turn in cited or turns}
    if roles == {"tool"} or ("tool" in roles and not cited):
        return "tool"
    return "user" if "user" in roles else "assistant"
