"""Changes as they take shape, draft by draft."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from memkit.decay import NEVER, end
from memkit.models import Changes, Claim, MemoryItem, Reinforcement, Source, Status, Supersession
from memkit.reconcile.draft import Draft, Turn
from memkit.reconcile.rules import Rules
from memkit.text import tokenize

logger = logging.getLogger(__name__)


@dataclass(slots=True, kw_only=True)
class Decision:
    """Changes as they take shape. `room` is how many items may still be ended."""

    claim: Claim
    model: str | None
    known: Mapping[str, MemoryItem]
    rules: Rules
    now: datetime
    make_id: Callable[[], str]
    room: int
    placed: dict[str, str] = field(default_factory=dict)
    added: dict[str, MemoryItem] = field(default_factory=dict)
    met_again: dict[str, Reinforcement | None] = field(default_factory=dict)
    ended: dict[str, Supersession] = field(default_factory=dict)
    spared: set[str] = field(default_factory=set)
    alike: dict[str, list[MemoryItem]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for item in self.known.values():
            if item.key is None:
                self.alike.setdefault(item.content_hash, []).append(item)

    def keep(self, draft: Draft) -> None:
        """Reinforce the item that has this content, or add one."""
        status: Status = "quarantined" if draft.origin in self.rules.quarantined else "active"
        twin = self._twin(draft, status)
        if twin is None:
            item = self._item(draft, status)
            self.added[item.id] = item
        else:
            self.met_again[twin.id] = self._reinforcement(twin, draft)
        self.placed[draft.digest] = item.id if twin is None else twin.id

    def replace_targets(self, draft: Draft) -> None:
        """Supersede what `draft` updates, or make `draft` history where it is the older."""
        successor = self.placed[draft.digest]
        for target in draft.targets:
            old = self.known.get(target)
            if old is None or target == successor or not self._is_free(old):
                continue
            if draft.observed_at >= old.observed_at:
                self.end(target, by=successor, at=draft.observed_at)
            elif successor in self.added:
                self.added[successor] = self.added[successor].model_copy(
                    update={
                        "status": "superseded",
                        "superseded_by": target,
                        "valid_to": old.observed_at,
                    }
                )

    def end(self, target: str, *, by: str | None, at: datetime) -> None:
        """Supersede `target` if it is free, was not observed later, and there is room."""
        old = self.known.get(target)
        if old is None or not self._is_free(old) or at < old.observed_at:
            return
        heir = self.known.get(by or "")
        if heir is not None and heir.status != "active":
            return
        if len(self.ended) < self.room:
            self.ended[target] = Supersession(id=target, by=by, at=at)
        else:
            self.spared.add(target)

    def retire_revised(self, turns: tuple[Turn, ...]) -> None:
        """Supersede what rests on nothing but older contents of revised messages."""
        newest = {
            _place(turn.source): turn for turn in turns if turn.own_scope and turn.message.key
        }
        heirs = {
            _place(source): item.id
            for item in self.added.values()
            if item.status == "active"
            for source in item.sources
        }
        for item in self.known.values():
            later = [newest.get(_place(source)) for source in item.sources]
            if later and self._is_free(item) and all(map(_revises, later, item.sources)):
                by = next(filter(None, (heirs.get(_place(each)) for each in item.sources)), None)
                at = max(turn.said_at for turn in later if turn)
                self.ended[item.id] = Supersession(id=item.id, by=by, at=at)

    def changes(self) -> Changes:
        """What was decided."""
        if self.spared:
            logger.warning(
                "job %s wanted to end %d items more than one run may",
                self.claim.job_id,
                len(self.spared),
            )
        return Changes(
            add=tuple(self.added.values()),
            supersede=tuple(self.ended.values()),
            reinforce=tuple(filter(None, self.met_again.values())),
        )

    def _is_free(self, item: MemoryItem) -> bool:
        """Whether this run may end `item`: neither the host nor the run itself holds it."""
        held = item.pinned or item.key is not None or item.status != "active"
        return not held and item.id not in self.met_again and item.id not in self.ended

    def _twin(self, draft: Draft, status: Status) -> MemoryItem | None:
        """The item that has this content already: first one that rests on this evidence too."""
        alike = self.alike.get(draft.digest, [])
        repeated = (item for item in alike if not _new_sources(item, draft))
        return next(repeated, None) or next(
            (item for item in alike if item.status in {"active", status}), None
        )

    def _item(self, draft: Draft, status: Status) -> MemoryItem:
        policy = self.rules.policy(draft.kind)
        fades_at = policy.fades_at(draft.importance, self.now)
        ttl = self.rules.ttl.get(draft.kind)
        return MemoryItem(
            id=self.make_id(),
            scope=self.claim.scope,
            content=draft.content,
            kind=draft.kind,
            importance=draft.importance,
            created_at=self.now,
            observed_at=draft.observed_at,
            reinforced_at=self.now,
            policy=policy.name,
            fades_at=fades_at,
            ends_at=end(self.now, ttl),
            status=status,
            valid_from=draft.observed_at,
            sources=draft.sources,
            origin=draft.origin,
            job_id=self.claim.job_id,
            model=self.model,
            tokens=" ".join(tokenize(draft.content, self.rules.language)),
        )

    def _reinforcement(self, item: MemoryItem, draft: Draft) -> Reinforcement | None:
        """What meeting `item` again comes to; None when the evidence is not new."""
        sources = _new_sources(item, draft)
        if not sources:
            return None
        importance = max(item.importance_at(self.now), draft.importance)
        policy = NEVER if item.pinned else self.rules.policy(item.kind)
        fades_at = policy.fades_at(importance, self.now)
        return Reinforcement(
            id=item.id,
            importance=importance,
            reinforced_at=self.now,
            policy=policy.name,
            fades_at=fades_at,
            pinned=item.pinned,
            observed_at=draft.observed_at,
            sources=sources,
        )


def _place(source: Source) -> tuple[str, str | None]:
    return source.session_id, source.key


def _revises(later: Turn | None, source: Source) -> bool:
    return (
        later is not None
        and later.source.episode_id != source.episode_id
        and later.source.recorded_at >= source.recorded_at
    )


def _new_sources(item: MemoryItem, draft: Draft) -> tuple[Source, ...]:
    """What `draft` rests on and `item` does not yet."""
    had = {(source.episode_id, source.position) for source in item.sources}
    return tuple(
        source for source in draft.sources if (source.episode_id, source.position) not in had
    )
