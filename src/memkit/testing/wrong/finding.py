"""Stores that find wrongly."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

from memkit.models import Candidate, Candidates, MemoryItem, Query, Scope
from memkit.testing.wrong.store import Wrong

Rows = tuple[Candidate, ...]


def _each(found: Candidates, change: Callable[[Rows], Rows]) -> Candidates:
    return replace(
        found,
        strongest=change(found.strongest),
        text=change(found.text),
        exact=change(found.exact),
    )


class MatchesScopesAsPatterns(Wrong):
    """Compares user ids with LIKE."""

    breaks = "test_scopes_are_equal_or_different"

    async def find(self, query: Query) -> Candidates:
        """Asks in every scope that looks like one of the query's."""
        alike = (
            each for each in self._state.shelves for asked in query.scopes if _is_like(each, asked)
        )
        return await super().find(replace(query, scopes=(*query.scopes, *alike)))


def _is_like(scope: Scope, asked: Scope) -> bool:
    if scope.user_id is None or asked.user_id is None:
        return False
    parts = (".*" if each == "%" else re.escape(each) for each in asked.user_id)
    rest = (scope.agent_id, scope.workflow_id) == (asked.agent_id, asked.workflow_id)
    return rest and re.fullmatch("".join(parts), scope.user_id, re.DOTALL) is not None


class SearchesASCII(Wrong):
    """Knows no letters but the Latin ones."""

    breaks = "test_any_text_may_be_searched"

    async def find(self, query: Query) -> Candidates:
        """Drops every other token."""
        return await super().find(
            replace(query, tokens=tuple(each for each in query.tokens if each.isascii()))
        )


class SearchesWithStars(Wrong):
    """Hands tokens to a search engine as they are."""

    breaks = "test_any_token_may_be_searched"

    async def find(self, query: Query) -> Candidates:
        """A star at the end stands for any ending."""
        bare = tuple(each.rstrip("*") if each != "*" else each for each in query.tokens)
        return await super().find(replace(query, tokens=bare))


class FindsTheEmpty(Wrong):
    """Says that it was cut short where there was nothing."""

    breaks = "test_an_empty_store_finds_nothing"

    async def find(self, query: Query) -> Candidates:
        """Truncated, of nothing."""
        found = await super().find(query)
        return replace(found, truncated=found.truncated or not self._state.items)


class AnswersUnasked(Wrong):
    """Fills the strongest channel whether it is asked for or not."""

    breaks = "test_a_channel_that_is_not_asked_for_is_empty"

    async def find(self, query: Query) -> Candidates:
        """One item at least."""
        alone = not query.strongest and len(self._state.items) == 1 and not query.kinds
        return await super().find(replace(query, strongest=1) if alone else query)


class NamesTheLastSource(Wrong):
    """Says that an item came from where it was met last."""

    breaks = "test_a_candidate_carries_its_item"

    async def find(self, query: Query) -> Candidates:
        """Takes the place of the last source."""
        return _each(await super().find(query), lambda rows: tuple(map(self._moved, rows)))

    def _moved(self, row: Candidate) -> Candidate:
        sources = self._state.items[row.id].sources
        return row._replace(position=sources[-1].position) if sources else row


class PlacesWhatWasTold(Wrong):
    """Gives a session to what came from none."""

    breaks = "test_an_item_without_sources_names_no_place"

    async def find(self, query: Query) -> Candidates:
        """Empty text in place of nothing."""
        return _each(
            await super().find(query),
            lambda rows: tuple(row._replace(session_id=row.session_id or "") for row in rows),
        )


class BreaksTiesAtWill(Wrong):
    """Leaves the order of equals to the index."""

    breaks = "test_the_strongest_fade_last"

    async def find(self, query: Query) -> Candidates:
        """The last written comes first."""
        found = await super().find(query)
        ordered = sorted(found.strongest, key=lambda row: row.id, reverse=True)
        return replace(
            found,
            strongest=tuple(sorted(ordered, key=lambda row: (row.policy, -row.fades_at))),
        )


class CutsAcrossPolicies(Wrong):
    """Takes the strongest of all policies together."""

    breaks = "test_the_strongest_cover_every_policy"

    async def find(self, query: Query) -> Candidates:
        """One limit for all."""
        found = await super().find(query)
        first = sorted(found.strongest, key=lambda row: -row.fades_at)[: query.strongest]
        one_scope = len(query.scopes) == 1
        return replace(found, strongest=tuple(first)) if one_scope else found


class MatchesPartsOfWords(Wrong):
    """Searches with LIKE '%word%'."""

    breaks = "test_words_are_whole_and_any_of_them_will_do"

    async def find(self, query: Query) -> Candidates:
        """Asks for every token that begins like one of the query's."""
        longer = {
            token
            for scope in query.scopes
            for token in self._state.shelf(scope).by_token
            if any(token.startswith(each) for each in query.tokens if len(each) > 2)
        }
        return await super().find(replace(query, tokens=(*query.tokens, *sorted(longer))))


class ListsTwice(Wrong):
    """Joins without DISTINCT."""

    breaks = "test_an_item_is_one_candidate_of_a_channel"

    async def find(self, query: Query) -> Candidates:
        """Once for each time that the scope was named."""
        found = await super().find(query)
        named = {scope: query.scopes.count(scope) for scope in query.scopes}
        return _each(
            found, lambda rows: tuple(row for row in rows for _ in range(named[row.scope]))
        )


class CutsInSilence(Wrong):
    """Cuts the text channel and does not say so."""

    breaks = "test_the_text_channel_is_cut_and_says_so"

    async def find(self, query: Query) -> Candidates:
        """Never truncated."""
        return replace(await super().find(query), truncated=False)


class CountsTheFaded(Wrong):
    """Counts every row of the scopes as population."""

    breaks = "test_the_population_counts_what_is_live"

    async def find(self, query: Query) -> Candidates:
        """Expired and quarantined ones too."""
        found = await super().find(query)
        rows = sum(len(self._state.shelf(scope).ids) for scope in query.scopes)
        return replace(found, population=rows if query.tokens else 0)


class FindsByBeginning(Wrong):
    """Takes what begins alike for equal."""

    breaks = "test_equal_content_is_found_by_its_hash"

    async def find(self, query: Query) -> Candidates:
        """Adds the hashes of all that begins with one that matches."""
        items = list(self._state.items.values())
        whole = [each.content for each in items if each.content_hash in query.exact]
        longer = {
            each.content_hash for each in items for one in whole if each.content.startswith(one)
        }
        return await super().find(replace(query, exact=(*query.exact, *sorted(longer))))


class NarrowsTextOnly(Wrong):
    """Lets items of every kind into the strongest."""

    breaks = "test_kinds_narrow_every_channel"

    async def find(self, query: Query) -> Candidates:
        """Asks for the strongest without kinds."""
        found = await super().find(query)
        every = await super().find(replace(query, kinds=None))
        return replace(found, strongest=every.strongest)


class AsksTheFirstScope(Wrong):
    """Looks for the strongest in one scope only."""

    breaks = "test_several_scopes_answer_together"

    async def find(self, query: Query) -> Candidates:
        """The first of those asked."""
        found = await super().find(query)
        rows = tuple(row for row in found.strongest if row.scope == query.scopes[0])
        return replace(found, strongest=rows)


class FindsWhatExpiresNow(Wrong):
    """Compares dates with the wrong sign of equality."""

    breaks = "test_what_has_expired_is_absent_before_it_is_purged"

    async def find(self, query: Query) -> Candidates:
        """At its `expires_at` an item is still there."""
        return await super().find(replace(query, now=query.now - timedelta(microseconds=1)))


class FindsHistory(Wrong):
    """Finds by hash whatever the status."""

    breaks = "test_what_is_not_active_is_absent"

    async def find(self, query: Query) -> Candidates:
        """Adds what was superseded by nobody."""
        found, items = await super().find(query), self._state.items.values()
        old = (each for each in items if each.status == "superseded" and not each.superseded_by)
        asked = (each for each in old if each.scope in query.scopes)
        rows = tuple(_bare(each) for each in asked if each.content_hash in query.exact)
        return replace(found, exact=(*found.exact, *rows))


class OverlooksQuarantine(Wrong):
    """Finds by hash what is active only."""

    breaks = "test_what_is_quarantined_is_found_by_its_hash"

    async def find(self, query: Query) -> Candidates:
        """Leaves out every other status."""
        found, items = await super().find(query), self._state.items
        active = tuple(row for row in found.exact if items[row.id].status == "active")
        return replace(found, exact=active)


def _bare(item: MemoryItem) -> Candidate:
    return Candidate(
        id=item.id,
        scope=item.scope,
        content=item.content,
        kind=item.kind,
        origin=item.origin,
        policy=item.policy,
        fades_at=0,
        observed_at=0,
    )


class TouchesWhatItFinds(Wrong):
    """Counts how often an item was recalled."""

    breaks = "test_finding_writes_nothing"

    async def find(self, query: Query) -> Candidates:
        """A write on the read path."""
        found = await super().find(query)
        for row in found.strongest:
            item = self._state.items[row.id]
            if item.observed_at < query.now and not item.sources:
                self.rewrite(row.id, metadata={"recalled": 1})
        return found
