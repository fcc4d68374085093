"""Ledgers that know too little, or too much, of what a claim is about."""

from __future__ import annotations

from dataclasses import replace

from memkit.models import Background, Candidates, Claim, MemoryItem, Query
from memkit.testing.wrong.store import Wrong


class FindsNothingForClaims(Wrong):
    """Leaves the candidates to another call."""

    breaks = "test_a_background_finds_what_finding_finds"

    async def background(self, claim: Claim, query: Query, *, checksum: str) -> Background:
        """What is related is not looked for."""
        found = await super().background(claim, query, checksum=checksum)
        return replace(found, found=Candidates())


class KnowsNoQuarantine(Wrong):
    """Gives active items alone."""

    breaks = "test_what_says_the_same_is_given_whole"

    async def background(self, claim: Claim, query: Query, *, checksum: str) -> Background:
        """What is quarantined piles up."""
        found = await super().background(claim, query, checksum=checksum)
        exact = {each.id for each in found.found.exact}
        kept = (each for each in found.items if each.status == "active" or each.id not in exact)
        return replace(found, items=tuple(kept))


class KnowsWordsAlone(Wrong):
    """Goes by what items say, not by where they came from."""

    breaks = "test_what_came_from_a_revised_message_is_given_whole"

    async def background(self, claim: Claim, query: Query, *, checksum: str) -> Background:
        """What a revised message had led to stays for good."""
        found = await super().background(claim, query, checksum=checksum)
        exact = {each.id for each in found.found.exact}
        return replace(found, items=tuple(each for each in found.items if each.id in exact))


class RevisesItself(Wrong):
    """Takes whatever has the same key for revised."""

    breaks = "test_what_a_claim_came_to_before_is_no_revision"

    async def background(self, claim: Claim, query: Query, *, checksum: str) -> Background:
        """The items of the episodes that are claimed, too."""
        found = await super().background(claim, query, checksum=checksum)
        known = {each.id: each for each in (*found.items, *self._own(claim))}
        return replace(found, items=tuple(known[each] for each in sorted(known)))

    def _own(self, claim: Claim) -> list[MemoryItem]:
        claimed = set(claim.episode_ids)
        return [
            item
            for item in self._state.items.values()
            if any(each.episode_id in claimed for each in item.sources)
        ]


class SharesChecksums(Wrong):
    """Takes what one scope settled for settled in all."""

    breaks = "test_a_checksum_is_settled_once_its_job_completed"

    async def background(self, claim: Claim, query: Query, *, checksum: str) -> Background:
        """Two users who say the same are one."""
        found = await super().background(claim, query, checksum=checksum)
        jobs = (row.job for row in self._state.jobs.values())
        known = {each.checksum for each in jobs if each.status == "completed"}
        return replace(found, settled=checksum in known)
