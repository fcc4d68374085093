"""Rules of the machine: every way to look, and what must never be seen."""

from __future__ import annotations

import sys
from functools import partial

from hypothesis import strategies as st
from hypothesis.stateful import invariant, rule

from memkit.models import Candidate, Candidates, MemoryItem, Query, Scope, Stats, Tail, content_hash
from memkit.testing.around import LedgerStore
from memkit.testing.ledgers.suite import was_settled
from memkit.testing.reading import all_episodes, all_items, all_jobs, all_tombstones
from memkit.testing.stateful import alike, material
from memkit.testing.stateful.ground import picked
from memkit.testing.stateful.material import SCOPES, canary, marked
from memkit.testing.stateful.side_by_side import Answers
from memkit.testing.stateful.working import Working
from memkit.text import tokenize

limits = st.sampled_from((1, 2, 100))


class Reading(Working):
    """What is asked of a memory."""

    @rule(
        asked=st.lists(material.scopes, min_size=1, max_size=3, unique=True),
        text=material.written,
        strongest=st.sampled_from((0, 1, 2, 50)),
        kinds=st.none() | st.lists(material.kinds, min_size=1, max_size=2, unique=True),
    )
    def find(self, asked: list[Scope], text: str, strongest: int, kinds: list[str] | None) -> None:
        """Ask for candidates by strength, words and content at once."""
        query = Query(
            scopes=tuple(asked),
            now=self.now,
            strongest=strongest,
            tokens=tokenize(text),
            exact=tuple(content_hash(marked(text, scope)) for scope in asked),
            kinds=None if kinds is None else tuple(kinds),
        )
        found = self.stores.ask(lambda store: store.find(query), alike.candidates)
        assert found is not None
        self.see(found, asked)

    def see(self, found: Answers[Candidates], asked: list[Scope]) -> None:
        """No row of another scope, and no word of one."""
        for row in (row for each in found.all for row in _rows(each)):
            assert row.scope in asked
            self.own(repr(row), row.scope)

    def own(self, shown: str, scope: Scope) -> None:
        """The canaries of other scopes are nowhere in what `scope` is shown."""
        assert not any(canary(each) in shown for each in SCOPES if each != scope)

    @rule(scope=material.scopes, places=st.lists(material.places, max_size=4))
    def get(self, scope: Scope, places: list[int]) -> None:
        """Ask for items by id, one's own and others'."""
        ids = [each.id for each in picked(self.items, places)][::-1]
        got = self.stores.ask(lambda store: store.get(scope, ids))
        assert got is not None
        self.own(repr(got), scope)

    @rule(scope=st.none() | material.scopes, session_id=st.none() | material.sessions, limit=limits)
    def scan(self, scope: Scope | None, session_id: str | None, limit: int) -> None:
        """Read everything, in pages of any size."""
        listed = self.stores.ask(
            lambda store: all_items(store, scope, session_id=session_id, limit=limit)
        )
        told = self.stores.ask(
            lambda store: all_episodes(store, scope, session_id=session_id, limit=limit)
        )
        assert listed is not None
        assert told is not None
        if scope is not None:
            self.own(repr((listed, told)), scope)
        self.stores.ask(lambda store: all_tombstones(store, scope), alike.tombstones)
        self.list_jobs(scope)

    def list_jobs(self, scope: Scope | None) -> None:
        """Read all jobs, in the order in which they were claimed."""
        ids = self.stores.words(lambda place: [each.all[place].job_id for each in self.claims])
        self.stores.tell(partial(_jobs, scope=scope), ids)

    @rule(scope=st.none() | material.scopes)
    def count(self, scope: Scope | None) -> None:
        """Count what there is."""
        self.stores.ask(partial(_stats, scope=scope))

    @rule()
    def reopen_it(self) -> None:
        """Close the store and open what it keeps."""
        self.stores.reopen(self.reopen)

    @invariant()
    def memories_agree(self) -> None:
        """Whatever was done, all hold the same items."""
        self.stores.ask(all_items)

    def teardown(self) -> None:
        """Look at everything once more, in every way, and let go of the stores."""
        try:
            if sys.exc_info()[0] is None:
                self.look()
        finally:
            super().teardown()

    def look(self) -> None:
        """All that a store can be asked for, of every scope that was used and one that looks alike.

        A call finds nothing where nothing was ever put, so each is made only where it may.
        """
        self.stores.ask(all_episodes)
        self.stores.ask(all_tombstones, alike.tombstones)
        self.list_jobs(None)
        hashes = tuple({each.content_hash for each in self.items})
        tokens = tuple({token for each in self.items for token in each.tokens.split()})
        for scope in SCOPES:
            query = Query(scopes=(scope,), now=self.now, strongest=100, tokens=tokens, exact=hashes)
            found = self.stores.ask(partial(_find, query=query), alike.candidates)
            assert found is not None
            self.see(found, [scope])
        for counted in dict.fromkeys((None, *SCOPES[:3], *(each.scope for each in self.items))):
            self.stores.ask(partial(_stats, scope=counted))
        for scope, key in dict.fromkeys((each.scope, each.key) for each in self.items):
            self.stores.ask(partial(_by_key, scope=scope, key=key or "nothing"))
        for scope, session_id in dict.fromkeys(
            (each.scope, each.session_id) for each in self.episodes
        ):
            self.stores.ask(partial(_tail, scope=scope, session_id=session_id))
        for scope in dict.fromkeys(each.model.scope for each in self.claims):
            for checksum in ("c-1", "c-2"):
                self.stores.ask(partial(was_settled, scope=scope, checksum=checksum))


async def _jobs(store: LedgerStore, ids: list[str], *, scope: Scope | None) -> list[object]:
    jobs = await all_jobs(store, scope)
    return [alike.job(each) for each in sorted(jobs, key=lambda job: ids.index(job.id))]


async def _find(store: LedgerStore, *, query: Query) -> Candidates:
    return await store.find(query)


async def _by_key(store: LedgerStore, *, scope: Scope, key: str) -> MemoryItem | None:
    return await store.by_key(scope, key)


async def _tail(store: LedgerStore, *, scope: Scope, session_id: str) -> Tail:
    return await store.tail(scope, session_id, limit=100)


async def _stats(store: LedgerStore, *, scope: Scope | None) -> Stats:
    return await store.stats(scope)


def _rows(found: Candidates) -> tuple[Candidate, ...]:
    return (*found.strongest, *found.text, *found.exact)
