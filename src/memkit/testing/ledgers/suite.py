"""What the rules of a ledger share: claims made in one line."""

from __future__ import annotations

from datetime import datetime

from memkit.contracts import Ledger
from memkit.models import (
    Changes,
    Claim,
    Completed,
    MemoryItem,
    Query,
    Scope,
    new_id,
)
from memkit.testing.around import LedgerStore
from memkit.testing.suite import StoreSuite
from memkit.testing.values import HERE, NOW

PLENTY = 100_000
"""A budget that no test exhausts."""


class LedgerSuite(StoreSuite):
    """A store that is a ledger, and the usual ways to ask it for work."""

    async def offered(
        self,
        store: LedgerStore,
        scope: Scope | None = HERE,
        *,
        now: datetime = NOW,
        budget: int = PLENTY,
    ) -> Claim | None:
        """What there is to do at `now`, if anything."""
        return await store.claim(scope, now=now, budget=budget, lease=self.lease)

    async def claimed(
        self,
        store: LedgerStore,
        scope: Scope | None = HERE,
        *,
        now: datetime = NOW,
        budget: int = PLENTY,
    ) -> Claim:
        """A claim that must be there to have."""
        claim = await self.offered(store, scope, now=now, budget=budget)
        assert claim is not None, "nothing was due"
        return claim


def completed(*add: MemoryItem, checksum: str = "c-1") -> Completed:
    """A run that decided to remember `add`."""
    return Completed(changes=Changes(add=add), checksum=checksum)


def ids(claim: Claim) -> list[str]:
    """The ids of the claimed episodes, in their order."""
    return [each.id for each in claim.episodes]


def a_claim(scope: Scope = HERE) -> Claim:
    """A claim that nobody made: enough to ask for its background."""
    return Claim(job_id=new_id(), scope=scope, fence=0, epoch=0, attempts=1, episodes=())


async def was_settled(store: Ledger, scope: Scope, checksum: str) -> bool:
    """Whether this input of `scope` was read to the end before."""
    query = Query(scopes=(scope,), now=NOW)
    return (await store.background(a_claim(scope), query, checksum=checksum)).settled
