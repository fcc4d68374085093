"""What may pass of the proposals that an extractor makes, whichever extractor it is."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from memkit.errors import ExtractionError
from memkit.models import Extraction, ExtractionRequest, Kind, Proposal, Strategy
from memkit.models.item import KINDS
from memkit.text import clean

MOST_FACTS = 100
"""The most facts that one reply of a model is asked for, and turns that it is shown for them."""

LONGEST_CONTENT = 2000
"""The longest content, in characters. A longer one is dropped: its half might be false."""

_NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?", re.ASCII)


def to_importance(value: object) -> float | None:
    """A number from a model as an importance between 0 and 1, or None where it is none.

    Numbers may come as text. What lies outside is moved to the nearer end; what is not
    finite, not a number or missing is None, for which the configured default stands.
    """
    if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
        value = float(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    # An integer may be too large for a float; comparing it is safe.
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return float(max(0, min(1, value)))


def fitting_kind(kind: Kind, strategies: Sequence[Strategy]) -> Kind:
    """`kind` if it is asked for, else the nearest that is: items are kept by kind.

    Without strategies the five kinds that memkit knows are asked for.
    """
    asked_for = tuple(strategy.kind for strategy in strategies) or KINDS
    if kind in asked_for:
        return kind
    named = {strategy.name: strategy.kind for strategy in strategies}
    return named.get(kind, "semantic" if "semantic" in asked_for else asked_for[0])


def most_proposals(request: ExtractionRequest) -> int:
    """How many proposals `request` can plausibly lead to, however small its turns are."""
    characters = sum(len(turn.message.text) for turn in request.turns)
    hundreds = 1 + len(request.turns) // MOST_FACTS
    return hundreds * MOST_FACTS + len(request.turns) + characters // 100


def validate(
    extraction: Extraction, request: ExtractionRequest, *, longest: int = LONGEST_CONTENT
) -> Extraction:
    """`extraction` without what may not pass; that is counted in `dropped`.

    Left out: no content or one that is longer than `longest`, a removal of nothing known, and
    what exceeds `most_proposals`. Mended: sources that are no turns go, an update of nothing
    known becomes an addition, an undeclared kind the nearest declared one, U+0000 and halves of
    surrogate pairs U+FFFD. Raises `ExtractionError("invalid")` if there were proposals and
    none may pass: that is no "nothing worth keeping". Validating twice changes nothing.
    """
    numbers = {turn.number for turn in request.turns}
    targets = {known.number for known in request.known}
    mended = (
        _mended(proposal, numbers, targets, request.strategies)
        for proposal in extraction.proposals
        if len(proposal.content) <= longest
    )
    passed = tuple(proposal for proposal in mended if proposal is not None)
    if len(passed) > MOST_FACTS:
        passed = passed[: most_proposals(request)]
    if extraction.proposals and not passed:
        raise ExtractionError("invalid", f"none of {len(extraction.proposals)} proposals is usable")
    dropped = len(extraction.proposals) - len(passed)
    return extraction.model_copy(
        update={"proposals": passed, "dropped": extraction.dropped + dropped}
    )


def _mended(
    proposal: Proposal, numbers: set[int], targets: set[int], strategies: Sequence[Strategy]
) -> Proposal | None:
    content = clean(proposal.content)[0].strip()
    is_known = proposal.target in targets
    if not (is_known if proposal.action == "remove" else content):
        return None
    return proposal.model_copy(
        update={
            "action": "add" if proposal.action == "update" and not is_known else proposal.action,
            "content": content,
            "kind": fitting_kind(proposal.kind, strategies),
            "importance": to_importance(proposal.importance),
            "target": proposal.target if is_known and proposal.action != "add" else None,
            "sources": tuple(each for each in proposal.sources if each in numbers),
        }
    )
