"""Rules of the machine: claims, and how they end."""

from __future__ import annotations

from datetime import timedelta
from typing import Literal, Required, TypedDict, Unpack

from hypothesis import strategies as st
from hypothesis.stateful import rule

from memkit.models import (
    Changes,
    Claim,
    Completed,
    Dead,
    Failed,
    Query,
    Released,
    Scope,
    SettleOutcome,
    Skipped,
    Usage,
)
from memkit.testing.stateful import alike, material
from memkit.testing.stateful.forgetting import Forgetting
from memkit.testing.stateful.ground import pick, picked
from memkit.testing.stateful.side_by_side import Answers
from memkit.testing.stateful.writing import MINUTE, Draft, drafts


class Terms(TypedDict, total=False):
    """What a claim asks for."""

    budget: Required[int]
    idle: timedelta | None
    max_wait: timedelta | None
    context: int


Ending = Literal["completed", "skipped", "failed", "spared", "dead", "released"]
endings = st.sampled_from(
    ("completed", "completed", "skipped", "failed", "spared", "dead", "released")
)
checksums = st.sampled_from(("c-1", "c-2"))


class Working(Forgetting):
    """What workers do: any number of them, the dead ones too."""

    @rule(
        scope=st.none() | material.scopes,
        budget=st.sampled_from((1, 25, 1000)),
        idle=st.none() | material.minutes,
        max_wait=st.none() | material.minutes,
        context=st.sampled_from((0, 1, 8)),
    )
    def claim(
        self, scope: Scope | None, budget: int, idle: int | None, max_wait: int | None, context: int
    ) -> None:
        """Ask for work."""
        self.take(
            scope,
            budget=budget,
            idle=None if idle is None else idle * MINUTE,
            max_wait=None if max_wait is None else max_wait * MINUTE,
            context=context,
        )

    def take(self, scope: Scope | None, **terms: Unpack[Terms]) -> None:
        """Ask for work, and keep what is granted."""
        now = self.now
        granted = self.stores.ask(
            lambda store: store.claim(scope, now=now, lease=self.lease, **terms), alike.claim
        )
        claims = [] if granted is None else [each for each in granted.all if each is not None]
        if claims:
            self.claims.append(Answers(tuple(claims)))
            self.look_back(self.claims[-1])

    def look_back(self, claims: Answers[Claim]) -> None:
        """Ask what is known already of what is claimed."""
        items = [each for each in self.items if each.scope == claims.model.scope]
        query = Query(
            scopes=(claims.model.scope,),
            now=self.now,
            tokens=tuple({token for each in items for token in each.tokens.split()}),
            exact=tuple({each.content_hash for each in items[-3:]}),
        )
        self.stores.tell(
            lambda store, claim: store.background(claim, query, checksum="c-1"),
            claims,
            alike.background,
        )

    @rule(place=material.places, scope=st.none() | material.scopes, added=drafts)
    def overtake(self, place: int, scope: Scope | None, added: Draft) -> None:
        """A worker is slow: another has taken over when it settles at last, and again."""
        self.take(scope, budget=1000)
        for claims in pick(self.claims, place):
            outcome = self.ending(claims.model, "completed", [added], "c-1", 0)
            self.stores.clock.advance(self.lease)
            self.take(claims.model.scope, budget=1000)
            newest = [each for each in self.claims[-1:] if each.model.scope == claims.model.scope]
            for each in (claims, claims, *newest):
                self.end(each, outcome)

    @rule(place=material.places)
    def renew(self, place: int) -> None:
        """Hold on to a claim, or to one that is lost."""
        for claims in pick(self.claims, place):
            self.look_back(claims)
            self.stores.tell(
                lambda store, claim: store.renew(claim, lease=self.lease), claims, alike.claim
            )

    @rule(
        place=material.places,
        ending=endings,
        added=st.lists(drafts, max_size=2),
        checksum=checksums,
        minutes=material.minutes,
    )
    def settle(
        self, place: int, ending: Ending, added: list[Draft], checksum: str, minutes: int
    ) -> None:
        """End a claim, in time or late, once or again."""
        for claims in pick(self.claims, place):
            outcome = self.ending(claims.model, ending, added, checksum, minutes)
            self.end(claims, outcome)

    def end(self, claims: Answers[Claim], outcome: SettleOutcome) -> None:
        """Settle the claim that each store gave."""
        now = self.now
        self.stores.tell(
            lambda store, claim: store.settle(claim, outcome, now=now), claims, alike.job
        )

    def ending(
        self, claim: Claim, ending: Ending, added: list[Draft], checksum: str, minutes: int
    ) -> SettleOutcome:
        """The outcome that is drawn, for this claim."""
        retry_at, usage = self.now + minutes * MINUTE, Usage(calls=1, input_tokens=9)
        match ending:
            case "completed":
                items = tuple(self.drawn(each, claim.scope) for each in added)
                return Completed(changes=Changes(add=items), checksum=checksum, usage=usage)
            case "skipped":
                return Skipped(checksum=checksum)
            case "failed" | "spared":
                return Failed(error="timeout", retry_at=retry_at, counts=ending == "failed")
            case "dead":
                return Dead(error="refused", usage=usage)
            case "released":
                return Released()

    @rule(places=st.lists(material.places, max_size=3))
    def requeue(self, places: list[int]) -> None:
        """Give dead and failed episodes another chance."""
        chosen = picked(self.claims, places)
        ids = self.stores.words(lambda place: [each.all[place].job_id for each in chosen])
        self.stores.tell(lambda store, job_ids: store.requeue(job_ids), ids)
