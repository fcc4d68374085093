"""Rules of the machine: recording and remembering."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Literal, get_args

from hypothesis import strategies as st
from hypothesis.stateful import initialize, rule
from pydantic import JsonValue

from memkit.decay import Policy
from memkit.models import (
    Changes,
    MemoryItem,
    Patch,
    Scope,
    Status,
    Supersession,
)
from memkit.testing.stateful import alike, material
from memkit.testing.stateful.ground import Ground, pick, picked
from memkit.testing.stateful.material import SCOPES, marked
from memkit.testing.values import DAY, a_message, a_reinforcement, an_episode, an_item, tokens_of

MINUTE = timedelta(minutes=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """An item as Hypothesis draws it, before it has a scope, a date and sources."""

    text: str
    kind: str
    importance: float
    policy: Policy
    pinned: bool
    ttl: int | None
    key: str | None
    value: JsonValue
    status: Status
    sources: list[int]


drafts = st.builds(
    Draft,
    text=material.written,
    kind=material.kinds,
    importance=material.importances,
    policy=material.policies,
    pinned=st.booleans(),
    ttl=st.none() | material.minutes,
    key=material.item_keys,
    value=material.values,
    status=st.sampled_from(("active", "active", "active", "superseded", "quarantined")),
    sources=st.lists(material.places, max_size=2),
)
Edit = Literal["reword", "empty", "hide", "date", "end", "remove", "meet"]
edits = st.sampled_from(get_args(Edit))
Choice = Literal["none", "right", "wrong"]
choices = st.sampled_from(("none", "none", "right", "wrong"))
shares = st.booleans()


class Writing(Ground):
    """What callers put into a memory, and how they change it."""

    @initialize(
        said=st.lists(st.tuples(material.common, material.message_keys), min_size=2, max_size=4),
        added=st.lists(drafts, min_size=1, max_size=4),
    )
    def begin(self, said: list[tuple[str, str | None]], added: list[Draft]) -> None:
        """Begin with a few sessions and items, so that every step meets something."""
        for place, each in enumerate(said):
            self.record(SCOPES[place % 2], SCOPES[place % 2], "s", [each, each])
        for place, draft in enumerate(added):
            scope = SCOPES[place % 2]
            self.apply(scope, Changes(add=(self.drawn(draft, scope),)))

    @rule(minutes=material.minutes)
    def wait(self, minutes: int) -> None:
        """Let time go by."""
        self.stores.clock.advance(minutes=minutes)

    @rule(
        scope=material.scopes,
        share=shares,
        session_id=material.sessions,
        said=st.lists(st.tuples(material.written, material.message_keys), max_size=3),
        revise=st.booleans(),
        head=choices,
        ttl=st.none() | material.minutes,
    )
    def append(  # noqa: PLR0913  # drawn one by one
        self,
        *,
        scope: Scope,
        share: bool,
        session_id: str,
        said: list[tuple[str, str | None]],
        revise: bool,
        head: Choice,
        ttl: int | None,
    ) -> None:
        """Record an episode, at the head that is expected or not."""
        home = SCOPES[-1] if share and scope == SCOPES[0] else scope
        there = self.stores.peek(lambda store: store.tail(scope, session_id, limit=1)).head
        expected = {"none": None, "right": there, "wrong": there + 1}[head]
        self.record(scope, home, session_id, said, expected=expected, revise=revise, ttl=ttl)

    def record(  # noqa: PLR0913  # as an episode has it
        self,
        scope: Scope,
        home: Scope,
        session_id: str,
        said: list[tuple[str, str | None]],
        *,
        expected: int | None = None,
        revise: bool = True,
        ttl: int | None = None,
    ) -> None:
        """Append one episode."""
        now = self.now
        messages = (a_message(marked(text, home), key=key, at=now) for text, key in said)
        expires_at = None if ttl is None else now + ttl * MINUTE
        episode = an_episode(
            *messages,
            episode_id=self.fresh_id(),
            scope=scope,
            home=home,
            session_id=session_id,
            at=now,
            expires_at=expires_at,
        )
        self.stores.ask(
            lambda store: store.append([episode], expected_head=expected, revise=revise)
        )
        self.episodes.append(episode)

    @rule(places=st.lists(material.places, max_size=3), revise=st.booleans())
    def append_again(self, places: list[int], revise: bool) -> None:
        """Hand in what was handed in before, by the same ids and then by others."""
        known = picked(self.episodes, places)
        self.stores.ask(lambda store: store.append(known, revise=revise))
        anew = [each.model_copy(update={"id": self.fresh_id()}) for each in known]
        self.stores.ask(lambda store: store.append(anew, revise=revise))
        self.episodes += anew

    @rule(scope=material.scopes, added=st.lists(drafts, min_size=1, max_size=3), epoch=choices)
    def add(self, scope: Scope, added: list[Draft], epoch: Choice) -> None:
        """Remember, perhaps under an epoch that has passed."""
        items = tuple(self.drawn(each, scope) for each in added)
        self.apply(scope, Changes(add=items), epoch)

    @rule(place=material.places, told=st.booleans())
    def say_again(self, place: int, told: bool) -> None:
        """Remember once more what was remembered before, forgotten since or not."""
        for known in pick(self.items, place):
            fresh = an_item(known.content, item_id=self.fresh_id(), scope=known.scope, at=self.now)
            sources = () if told else tuple(self.said(known.scope)[-2:])
            again = fresh.model_copy(update={"sources": sources or known.sources})
            self.items.append(again)
            self.apply(known.scope, Changes(add=(again,)))

    @rule(
        edits=st.lists(st.tuples(edits, material.places), min_size=1, max_size=4),
        foreign=st.sampled_from((None, None, None, None, *SCOPES)),
        text=material.written,
        importance=material.importances,
        added=st.lists(drafts, max_size=1),
        epoch=choices,
    )
    def change(  # noqa: PLR0913  # drawn one by one
        self,
        *,
        edits: list[tuple[Edit, int]],
        foreign: Scope | None,
        text: str,
        importance: float,
        added: list[Draft],
        epoch: Choice,
    ) -> None:
        """Edit, end, remove and reinforce items: of one scope, perhaps of others, of none."""
        now = self.now
        chosen = [(edit, item) for edit, place in edits for item in pick(self.kept(), place)]
        for scope in {foreign or item.scope for _, item in chosen[:1]}:
            content = marked(f"{text} {len(self.items)}", scope)
            values: dict[Edit, dict[str, object]] = {
                "reword": {"content": content, "tokens": tokens_of(content)},
                "empty": {"value": None, "importance": importance},
                "hide": {"status": "quarantined"},
                "date": {"ends_at": now + DAY if importance else None, "importance": importance},
            }
            changes = Changes(
                add=tuple(self.drawn(each, scope) for each in added),
                update=tuple(
                    Patch.model_validate(
                        {"id": item.id, **values[edit]}
                        | ({"if_fades_at": item.fades_at} if edit == "date" else {})
                    )
                    for edit, item in chosen
                    if edit in values
                ),
                supersede=tuple(
                    Supersession(id=item.id, by=self.fresh_id(), at=now)
                    for edit, item in chosen
                    if edit == "end"
                ),
                remove=tuple(item.id for edit, item in chosen if edit == "remove"),
                reinforce=tuple(
                    a_reinforcement(
                        item, importance=importance, at=now, sources=self.said(scope)[:1]
                    )
                    for edit, item in chosen
                    if edit == "meet"
                ),
            )
            self.apply(scope, changes, epoch)

    def drawn(self, draft: Draft, scope: Scope) -> MemoryItem:
        """The item that `draft` is in `scope`, now."""
        item = an_item(
            marked(draft.text, scope),
            item_id=self.fresh_id(),
            scope=scope,
            at=self.now,
            importance=draft.importance,
            policy=None if draft.pinned else draft.policy,
            ttl=None if draft.ttl is None else draft.ttl * MINUTE,
            pinned=draft.pinned,
            kind=draft.kind,
            status=draft.status,
            sources=picked(self.said(scope), draft.sources),
            key=draft.key,
            value=draft.value,
        )
        self.items.append(item)
        return item

    def apply(self, scope: Scope, changes: Changes, epoch: Choice = "none") -> None:
        """Carry `changes` out, guarded by an epoch of each store's own if one is known."""
        words = self.epochs.get(scope)
        if words is None or epoch == "none":
            self.stores.ask(lambda store: store.apply(scope, changes), alike.applied)
            return
        behind = 1 if epoch == "wrong" else 0
        self.stores.tell(
            lambda store, known: store.apply(scope, changes, epoch=known - behind),
            words,
            alike.applied,
        )
