"""An extractor as a gate needs it: it never says the same thing in the same words."""

from __future__ import annotations

from memkit.models import Extraction, ExtractionRequest, Proposal, Usage, new_id

FACTS = 2
"""How many items each message becomes."""


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
                    content=f"fact {number} of {turn.message.text}, as told in {new_id()}",
                    importance=0.8,
                    sources=(turn.number,),
                )
                for turn in request.turns
                for number in range(FACTS)
            ),
            usage=Usage(calls=1),
        )
