"""Consolidation as a gate needs it: never in the same words twice, and soon taken over."""

from __future__ import annotations

from datetime import timedelta

from memkit.config import Config
from memkit.models import Extraction, ExtractionRequest, Proposal, Usage, new_id

FACTS = 2
"""How many items each message becomes."""

LEASE = timedelta(milliseconds=60)
QUICK = Config.model_validate(
    {
        "consolidate": {
            "batch_tokens": 400,
            "lease": LEASE,
            "deadline": LEASE * 0.9,
            "max_attempts": 100_000,
            "backoff": timedelta(milliseconds=1),
        }
    }
)
"""Runs that were broken off leave leases behind, which soon end, and attempts, which never do.

Batches stay small: core drops what it holds for more facts than that much text can hold.
"""


class Retelling:
    """So many facts of each message, worded anew each time, as a model would.

    The same evidence extracted twice is then seen as too many items: no two merge.
    """

    fingerprint = "retelling"

    def __init__(self) -> None:
        self.calls = 0

    async def extract(self, request: ExtractionRequest) -> Extraction:
        """See `Extractor.extract`."""
        self.calls += 1
        return Extraction(
            proposals=tuple(
                Proposal(
                    content=f"fact {number} of {turn.message.text[:80]}, as told in {new_id()}",
                    importance=0.8,
                    sources=(turn.number,),
                )
                for turn in request.turns
                for number in range(FACTS)
            ),
            usage=Usage(calls=1),
        )
