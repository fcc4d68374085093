"""How often, and when, episodes are tried; and by what a run is recognized. Pure."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from memkit.config import ConsolidateRules
from memkit.errors import ExtractionError
from memkit.models import Claim, Dead, Failed, Strategy, Usage

_LONGEST_WAIT = timedelta(days=1)
"""The longest that a provider's wish is granted."""
_DOUBLINGS = 20


def checksum(claim: Claim, fingerprint: str, strategies: Sequence[Strategy]) -> str:
    """What a run reads and how: equal checksums need no second call of a model."""
    said = [
        [episode.session_id, message.key, message.digest]
        for episode in claim.episodes
        for message in episode.messages
    ]
    wanted = [each.model_dump(mode="json") for each in strategies]
    whole = json.dumps([claim.scope.key, fingerprint, wanted, said], separators=(",", ":"))
    return hashlib.sha256(whole.encode()).hexdigest()


def failed(
    claim: Claim,
    error: ExtractionError,
    rules: ConsolidateRules,
    *,
    now: datetime,
    random: Callable[[], float],
) -> Failed | Dead:
    """How a failed extraction ends the claim.

    A batch goes back, to be tried one by one; a single episode is dead when it has used up
    its attempts. A rate limit is not its fault.
    """
    counts = error.reason != "rate_limited"
    alone = len(claim.episode_ids) == 1
    if counts and alone and claim.attempts >= rules.max_attempts:
        return Dead(error=error.reason, usage=_cost(error))
    wait = max(backoff(rules, claim.attempts, random=random), _wish(error.retry_after))
    return Failed(error=error.reason, retry_at=now + wait, counts=counts, usage=_cost(error))


def backoff(rules: ConsolidateRules, attempts: int, *, random: Callable[[], float]) -> timedelta:
    """Doubled with every attempt, and spread over its upper half so that nobody meets."""
    doubled: int = 2 ** min(attempts - 1, _DOUBLINGS)
    return min(rules.max_backoff, rules.backoff * doubled) * (1 + random()) / 2


def _cost(error: ExtractionError) -> Usage:
    # An extractor may be anybody's: what it says it spent is no reason to fail.
    try:
        calls, input_tokens, output_tokens = (max(0, int(each)) for each in error.spent)
    except (TypeError, ValueError, OverflowError):
        return Usage()
    return Usage(calls=calls, input_tokens=input_tokens, output_tokens=output_tokens)


def _wish(retry_after: object) -> timedelta:
    # Extractors pass on what a provider's header says, as a number or as it came.
    try:
        seconds = float(str(retry_after))
    except ValueError:
        return timedelta(0)
    if not math.isfinite(seconds):
        return timedelta(0)
    return timedelta(seconds=min(max(0.0, seconds), _LONGEST_WAIT.total_seconds()))
