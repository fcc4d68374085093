"""Ledgers that offer work wrongly."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Unpack

from memkit.contracts import MOST_CLAIMED, What
from memkit.errors import StoreUnavailable
from memkit.inmemory.pages import Span
from memkit.inmemory.state import EpisodeRow
from memkit.models import Claim, ConsolidationJob, Episode, Page, Scope
from memkit.testing.reading import all_episodes
from memkit.testing.wrong.store import Row, Terms, Wrong


class ClaimsSessionBySession(Wrong):
    """Takes the episodes of one session before those of the next."""

    breaks = "test_a_claim_holds_the_pending_episodes"

    async def claim(self, scope: Scope | None = None, **terms: Unpack[Terms]) -> Claim | None:
        """In the order of the sessions' names."""
        claim = await super().claim(scope, **terms)
        if claim is None:
            return None
        ordered = tuple(sorted(claim.episodes, key=lambda each: each.session_id))
        return claim.model_copy(update={"episodes": ordered})


class HidesRunningJobs(Wrong):
    """Lists the episodes of a job when it has ended."""

    breaks = "test_a_claim_is_a_running_job"

    def answered(self, _what: What, _span: Span, page: Page[Row]) -> Page[Row]:
        """Until then it has none."""
        return replace(page, rows=tuple(map(_unfinished, page.rows)))


def _unfinished(row: Row) -> Row:
    running = isinstance(row, ConsolidationJob) and row.status == "running"
    return row.model_copy(update={"episode_ids": ()}) if running else row


class ClaimsByTheScopeGiven(Wrong):
    """Looks for work under the scope that sessions were recorded with."""

    breaks = "test_episodes_are_claimed_by_their_home"

    async def claim(self, scope: Scope | None = None, **terms: Unpack[Terms]) -> Claim | None:
        """And gives the work of the home."""
        rows = [each for each in self._state.episodes.values() if each.stage == "pending"]
        homes = {each.skeleton.home for each in rows if each.skeleton.scope == scope}
        return await super().claim(min(homes, key=str) if homes else scope, **terms)


class ClaimsTheFirstScope(Wrong):
    """Gives the work of whichever scope it meets first."""

    breaks = "test_without_a_scope_the_oldest_work_comes_first"

    async def claim(self, scope: Scope | None = None, **terms: Unpack[Terms]) -> Claim | None:
        """In the order of the dict."""
        for home in list(self._state.pending) if scope is None else [scope]:
            claim = await super().claim(home, **terms)
            if claim is not None:
                return claim
        return None


class OverrunsTheBudget(Wrong):
    """Counts a budget when it has been passed."""

    breaks = "test_a_budget_bounds_a_claim"

    async def claim(self, scope: Scope | None = None, **terms: Unpack[Terms]) -> Claim | None:
        """Half as much again."""
        terms["budget"] += terms["budget"] // 2
        return await super().claim(scope, **terms)


class CountsTokensAlone(Wrong):
    """Takes as many small episodes as there are."""

    breaks = "test_small_episodes_are_claimed_in_parts"

    async def claim(self, scope: Scope | None = None, **terms: Unpack[Terms]) -> Claim | None:
        """All of them at once."""
        claim = await super().claim(scope, **terms)
        if claim is None or len(claim.episodes) < MOST_CLAIMED:
            return claim
        everything = tuple(await all_episodes(self, claim.scope))
        return claim.model_copy(update={"episodes": everything})


class StarvesTheLarge(Wrong):
    """Never takes an episode that is larger than the budget."""

    breaks = "test_a_budget_never_starves_an_episode"

    async def claim(self, scope: Scope | None = None, **terms: Unpack[Terms]) -> Claim | None:
        """Waits for a larger one."""
        large = [row for row in self._state.episodes.values() if _exceeds(row, terms["budget"])]
        return None if large else await super().claim(scope, **terms)


def _exceeds(row: EpisodeRow, budget: int) -> bool:
    return row.stage == "pending" and row.skeleton.tokens > budget


class PollsTooEarly(Wrong):
    """Asks for the next try in a named scope, and not when it looks through all."""

    breaks = "test_an_episode_is_not_due_before_its_next_try"

    async def claim(self, scope: Scope | None = None, **terms: Unpack[Terms]) -> Claim | None:
        """Two queries, one of them without the condition."""
        if scope is None:
            for row in self._state.episodes.values():
                row.retry_at = None
        return await super().claim(scope, **terms)


class WaitsInLine(Wrong):
    """Gives nothing while the oldest episode waits for its next try."""

    breaks = "test_what_waits_for_its_next_try_holds_nobody_up"

    async def claim(self, scope: Scope | None = None, **terms: Unpack[Terms]) -> Claim | None:
        """First in, first out."""
        ids = self._state.pending.get(scope, set()) if scope is not None else set()
        waiting = [self._state.episodes[each] for each in ids]
        first = min(waiting, key=lambda row: row.age, default=None)
        if first is not None and first.retry_at is not None and first.retry_at > terms["now"]:
            return None
        return await super().claim(scope, **terms)


class RetriesTogether(Wrong):
    """Retries a failed batch as a batch."""

    breaks = "test_what_was_tried_before_is_claimed_alone"

    async def claim(self, scope: Scope | None = None, **terms: Unpack[Terms]) -> Claim | None:
        """One poison episode takes the others with it, where all of them were tried."""
        rows = [
            self._state.episodes[each] for each in self._state.pending.get(scope or Scope(), ())
        ]
        tried = {row.skeleton.id: row.attempts for row in rows}
        together = len(rows) > 2 and sum(map(bool, tried.values())) > 1
        for row in rows if together else ():
            row.attempts = 0
        claim = await super().claim(scope, **terms)
        for row in rows if together else ():
            row.attempts += tried[row.skeleton.id]
        return claim


class SkipsWhatWasTried(Wrong):
    """Takes the fresh episodes around one that was tried before."""

    breaks = "test_what_was_tried_before_ends_a_batch"

    async def claim(self, scope: Scope | None = None, **terms: Unpack[Terms]) -> Claim | None:
        """What is difficult waits until the easy is done."""
        rows = [
            self._state.episodes[each] for each in self._state.pending.get(scope or Scope(), ())
        ]
        fresh = sum(not row.attempts for row in rows)
        tried = [row for row in rows if row.attempts]
        if fresh < 2 or len(tried) != 1 or terms["now"] < (tried[0].retry_at or terms["now"]):
            return await super().claim(scope, **terms)
        held, tried[0].retry_at = tried[0].retry_at, terms["now"] + timedelta(days=1)
        claim = await super().claim(scope, **terms)
        tried[0].retry_at = held
        return claim


class WaitsForTheWholeScope(Wrong):
    """Leaves a scope in peace while any of its sessions talks."""

    breaks = "test_a_session_that_talks_is_left_in_peace"

    async def claim(self, scope: Scope | None = None, **terms: Unpack[Terms]) -> Claim | None:
        """A calm session waits for a busy one."""
        idle = terms.get("idle")
        dates = [row.skeleton.recorded_at for row in self._state.episodes.values()]
        if idle is not None and not terms.get("max_wait") and terms["now"] - max(dates) < idle:
            return None
        return await super().claim(scope, **terms)


class WaitsForEver(Wrong):
    """Waits for a session to stop, however long it talks."""

    breaks = "test_a_session_that_never_stops_is_due_in_the_end"

    async def claim(self, scope: Scope | None = None, **terms: Unpack[Terms]) -> Claim | None:
        """`max_wait` is not looked at."""
        terms["max_wait"] = None
        return await super().claim(scope, **terms)


class ClaimsOldRevisions(Wrong):
    """Gives along what was revised since."""

    breaks = "test_only_the_newest_of_a_revised_message_is_claimed"

    async def claim(self, scope: Scope | None = None, **terms: Unpack[Terms]) -> Claim | None:
        """The whole body of each episode."""
        claim = await super().claim(scope, **terms)
        if claim is None:
            return None
        ids = dict.fromkeys(each.id for each in claim.episodes)
        whole = tuple(self._state.episodes[each].episode for each in ids)
        return claim.model_copy(update={"episodes": whole})


class ClaimsTheGone(Wrong):
    """Offers episodes whose bodies are gone."""

    breaks = "test_what_is_gone_is_not_claimed"

    async def claim(self, scope: Scope | None = None, **terms: Unpack[Terms]) -> Claim | None:
        """An extractor is asked about nothing."""
        for row in list(self._state.episodes.values()):
            if row.stage == "gone" and scope is None:
                self._state.mark(row, "pending")
        return await super().claim(scope, **terms)


class GivesTheBeginning(Wrong):
    """Gives along how a session began, not how it went on."""

    breaks = "test_the_settled_end_of_a_session_comes_along"

    async def claim(self, scope: Scope | None = None, **terms: Unpack[Terms]) -> Claim | None:
        """The first messages that were settled."""
        wanted = terms.get("context", 8)
        terms["context"] = wanted and 1000
        claim = await super().claim(scope, **terms)
        if claim is None:
            return None
        return claim.model_copy(update={"context": tuple(_first(claim.context, wanted))})


def _first(episodes: tuple[Episode, ...], wanted: int) -> list[Episode]:
    kept: list[Episode] = []
    for each in episodes:
        messages = each.messages[:wanted]
        wanted -= len(messages)
        kept += [each.model_copy(update={"messages": messages})] if messages else []
    return kept


class GivesContextUnasked(Wrong):
    """Takes none for all."""

    breaks = "test_no_context_is_given_that_was_not_asked_for"

    async def claim(self, scope: Scope | None = None, **terms: Unpack[Terms]) -> Claim | None:
        """The last 0 of a list is the whole list."""
        terms["context"] = terms.get("context", 8) or 1000
        return await super().claim(scope, **terms)


class FailsWithoutWork(Wrong):
    """Takes an empty store for one that is not there."""

    breaks = "test_nothing_is_due_where_nothing_waits"

    async def claim(self, scope: Scope | None = None, **terms: Unpack[Terms]) -> Claim | None:
        """A worker that starts first fails."""
        if not self._state.episodes:
            raise StoreUnavailable("nobody has recorded yet")
        return await super().claim(scope, **terms)
