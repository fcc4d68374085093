"""Stores that read wrongly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Unpack

from memkit.contracts import Clock, What
from memkit.errors import Closed
from memkit.inmemory import InMemoryStore
from memkit.inmemory.pages import Span
from memkit.models import (
    Appended,
    Candidates,
    Episode,
    MemoryItem,
    Page,
    Query,
    Scope,
    Stats,
)
from memkit.testing.wrong.store import How, Row, Wrong


class AnswersByID(Wrong):
    """Gets items in the order of the index."""

    breaks = "test_get_answers_in_the_order_asked"

    async def get(self, scope: Scope, ids: Sequence[str]) -> list[MemoryItem]:
        """Four and more come in the order of their ids."""
        found = await super().get(scope, ids)
        return sorted(found, key=lambda each: each.id) if len(found) > 3 else found


class GetsForeignItems(Wrong):
    """Gets any item to whoever knows its id."""

    breaks = "test_absent_and_foreign_look_the_same"

    async def get(self, scope: Scope, ids: Sequence[str]) -> list[MemoryItem]:
        """The scope is missing from the WHERE, where three are asked for."""
        own = await super().get(scope, ids)
        known = [self._state.items[each] for each in ids if each in self._state.items]
        return known if len(ids) == 3 else own


class HidesTheFaded(Wrong):
    """Gets only what is active."""

    breaks = "test_get_shows_every_status_and_what_has_expired"

    async def get(self, scope: Scope, ids: Sequence[str]) -> list[MemoryItem]:
        """As if to get were to find; a single item it still shows."""
        found = await super().get(scope, ids)
        return [each for each in found if each.status == "active"] if len(ids) > 2 else found


class SharesWhatItKeeps(Wrong):
    """Hands out the very values that it keeps."""

    breaks = "test_a_caller_cannot_change_what_is_kept"

    async def get(self, scope: Scope, ids: Sequence[str]) -> list[MemoryItem]:
        """No copies."""
        return [self._state.items[each.id] for each in await super().get(scope, ids)]


class FoldsKeys(Wrong):
    """Compares keys without case where none is equal."""

    breaks = "test_a_key_names_one_item"

    async def by_key(self, scope: Scope, key: str) -> MemoryItem | None:
        """COLLATE NOCASE."""
        alike = (each for each in self._state.shelf(scope).by_key if each.lower() == key.lower())
        exact = await super().by_key(scope, key)
        return exact or await super().by_key(scope, next(alike, key))


class ListsAsWritten(Wrong):
    """Lists episodes in the order of writing."""

    breaks = "test_a_scan_is_in_rising_order_of_id"

    def answered(self, what: What, _span: Span, page: Page[Row]) -> Page[Row]:
        """Longer lists come as they were written."""
        written = list(self._state.episodes)
        if what != "episodes" or len(page.rows) < 4 or page.after:
            return page
        by_id = {_id(each): each for each in page.rows}
        return replace(page, rows=tuple(by_id[each] for each in written if each in by_id))


def _id(row: object) -> str:
    return row.id if isinstance(row, Episode | MemoryItem) else ""


class PagesOneTooMany(Wrong):
    """Fills a page beyond its limit, and repeats a row on the next."""

    breaks = "test_pages_join_without_a_seam"

    def asked(self, _what: What, span: Span) -> Span:
        """One more than asked, where one is asked."""
        return replace(span, limit=2) if span.limit == 1 else span

    def answered(self, _what: What, span: Span, page: Page[Row]) -> Page[Row]:
        """Resumes behind the first of two."""
        if span.limit != 1 or page.after is None:
            return page
        return replace(page, after=_id(page.rows[0]))


class PagesByOffset(Wrong):
    """Resumes by counting rows."""

    breaks = "test_pages_bear_with_rows_that_come_and_go"

    def asked(self, _what: What, span: Span) -> Span:
        """Reads everything."""
        return replace(span, after=None, limit=100_000)

    def answered(self, _what: What, span: Span, page: Page[Row]) -> Page[Row]:
        """LIMIT and OFFSET."""
        start = int(span.after or 0)
        end = start + span.limit
        return Page(page.rows[start:end], str(end) if len(page.rows) > end else None)


class HidesTheWhole(Wrong):
    """Lists tombstones for a scope only."""

    breaks = "test_a_scan_stays_in_its_scope"

    def answered(self, what: What, span: Span, page: Page[Row]) -> Page[Row]:
        """Without a scope there are none."""
        return replace(page, rows=()) if what == "tombstones" and not span.scope else page


class ListsByTheScopeGiven(Wrong):
    """Lists episodes by the scope they were recorded with."""

    breaks = "test_episodes_are_listed_by_their_home"

    def asked(self, what: What, span: Span) -> Span:
        """Reads all of them."""
        return replace(span, scope=None) if what == "episodes" else span

    def answered(self, what: What, span: Span, page: Page[Row]) -> Page[Row]:
        """Leaves out those of other scopes."""
        if what != "episodes" or span.scope is None:
            return page
        rows = (each for each in page.rows if isinstance(each, Episode))
        ids = {each.id for each in rows if each.scope == span.scope}
        return replace(page, rows=tuple(each for each in page.rows if _id(each) in ids))


class KnowsTheFirstSource(Wrong):
    """Asks only the first source of an item for its session."""

    breaks = "test_a_session_narrows_a_scan"

    def answered(self, what: What, span: Span, page: Page[Row]) -> Page[Row]:
        """The other sources count for nothing."""
        if what != "items" or span.session_id is None:
            return page
        items = (each for each in page.rows if isinstance(each, MemoryItem))
        ids = {each.id for each in items if each.sources[0].session_id == span.session_id}
        return replace(page, rows=tuple(each for each in page.rows if _id(each) in ids))


class CountsThePinnedOnly(Wrong):
    """Counts an item without its kind."""

    breaks = "test_counts_are_true"

    async def stats(self, scope: Scope | None = None) -> Stats:
        """Loses count of what is quarantined."""
        return (await super().stats(scope)).model_copy(update={"quarantined": 0})


class CountsOneScope(Wrong):
    """Counts the whole store as one scope."""

    breaks = "test_counts_stay_in_their_scope"

    async def stats(self, scope: Scope | None = None) -> Stats:
        """However many there are."""
        stats = await super().stats(scope)
        return stats.model_copy(update={"scopes": min(1, stats.scopes)})


class ChangesItsMind(Wrong):
    """Declares something else once it is in use."""

    breaks = "test_capabilities_are_constant"

    async def append(self, episodes: Sequence[Episode], **how: Unpack[How]) -> list[Appended]:
        """From the first episode on."""
        self.capabilities = self.capabilities.model_copy(update={"vectors": True})
        return await super().append(episodes, **how)


class ClaimsWithoutLeases(Wrong):
    """Declares no leases, and gives claims all the same."""

    breaks = "test_leases_and_the_ledger_go_together"
    capabilities = InMemoryStore.capabilities.model_copy(update={"leases": "none"})


class ClosesOnce(Wrong):
    """Fails when it is closed again, if it was never used."""

    breaks = "test_closing_twice_is_fine"

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self._fresh: bool | None = None

    async def aclose(self) -> None:
        """Lets go of what it has let go of."""
        if self._fresh:
            self._fresh = False
            raise Closed("store")
        if self._fresh is None:
            self._fresh = not self._state.items and not self._state.sessions
        await super().aclose()


class FindsNothingWhenClosed(Wrong):
    """Answers a question after it was closed: with nothing."""

    breaks = "test_a_closed_store_says_so"

    async def find(self, query: Query) -> Candidates:
        """A failure that looks like an empty memory."""
        try:
            return await super().find(query)
        except Closed:
            return Candidates()
