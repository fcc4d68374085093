"""How often and when episodes are tried again."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memkit.config import ConsolidateRules
from memkit.errors import ExtractionError
from memkit.memory.attempts import backoff, checksum, failed
from memkit.models import Claim, Dead, Failed, Strategy, Usage
from memkit.testing.values import HERE, NOW, THERE, a_message, an_episode

RULES = ConsolidateRules.model_validate({"backoff": "1m", "max_backoff": "1h", "max_attempts": 3})


def a_claim(*texts: str, attempts: int = 1, session_id: str = "s", key: str | None = None) -> Claim:
    """A claim of one episode a text."""
    return Claim(
        job_id="job",
        scope=HERE,
        fence=1,
        epoch=0,
        attempts=attempts,
        episodes=tuple(
            an_episode(a_message(each, key=key), session_id=session_id) for each in texts
        ),
    )


@given(attempts=st.integers(1, 10_000), random=st.floats(0, 1))
def test_waits_are_doubled_spread_and_bounded(attempts: int, random: float) -> None:
    """Between half and the whole of the doubled wait, never above the longest."""
    whole = min(timedelta(minutes=1) * 2 ** min(attempts - 1, 12), timedelta(hours=1))
    wait = backoff(RULES, attempts, random=lambda: random)
    assert whole / 2 <= wait <= whole


@pytest.mark.parametrize(
    ("wish", "wait"),
    [
        (None, timedelta(minutes=1)),
        (0.0, timedelta(minutes=1)),
        (-5.0, timedelta(minutes=1)),
        (float("nan"), timedelta(minutes=1)),
        (float("inf"), timedelta(minutes=1)),
        (600.0, timedelta(minutes=10)),
        (1e12, timedelta(days=1)),
        ("600", timedelta(minutes=10)),
        ("Wed, 21 Oct 2026 07:28:00 GMT", timedelta(minutes=1)),
    ],
)
def test_a_providers_wish_is_the_least_wait(wish: float | str | None, wait: timedelta) -> None:
    """What a provider asks for is granted, if it is a number, and for a day at most."""
    error = ExtractionError("rate_limited")
    setattr(error, "retry_after", wish)  # noqa: B010  # as an untyped extractor may
    outcome = failed(a_claim("one"), error, RULES, now=NOW, random=lambda: 1.0)
    assert outcome == Failed(error="rate_limited", retry_at=NOW + wait, counts=False)


@pytest.mark.parametrize(
    ("texts", "attempts", "dead"), [("a", 2, False), ("a", 3, True), ("ab", 3, False)]
)
def test_only_a_single_episode_dies(texts: str, attempts: int, *, dead: bool) -> None:
    """A batch goes back to be tried one by one."""
    claim = a_claim(*texts, attempts=attempts)
    error = ExtractionError("unreadable")
    outcome = failed(claim, error, RULES, now=NOW, random=lambda: 1.0)
    assert isinstance(outcome, Dead) is dead


def test_a_checksum_stands_for_all_that_is_read() -> None:
    """Whose, where, which words under which keys, by what extractor, for which strategies."""
    claim = a_claim("one", "two")
    strategy = Strategy(type="semantic", name="facts")
    sums = [
        checksum(claim, "x/1", ()),
        checksum(claim, "x/2", ()),
        checksum(claim, "x/1", (strategy,)),
        checksum(a_claim("one", "too"), "x/1", ()),
        checksum(a_claim("two", "one"), "x/1", ()),
        checksum(a_claim("one", "two", key="k"), "x/1", ()),
        checksum(a_claim("one", "two", session_id="t"), "x/1", ()),
        checksum(claim.model_copy(update={"scope": THERE}), "x/1", ()),
    ]
    assert len(set(sums)) == len(sums)
    assert checksum(a_claim("one", "two", attempts=2), "x/1", ()) == sums[0]


@pytest.mark.parametrize(
    ("spent", "usage"),
    [
        ((2, 300, 40), Usage(calls=2, input_tokens=300, output_tokens=40)),
        ((-1, 300, 0), Usage(input_tokens=300)),
        ((float("inf"), 0, 0), Usage()),
        (None, Usage()),
    ],
)
@pytest.mark.parametrize("attempts", [1, 3])
def test_a_failed_attempt_is_paid_for(spent: object, usage: Usage, attempts: int) -> None:
    """What a failed attempt cost stands on its job; nonsense counts as nothing."""
    error = ExtractionError("truncated")
    setattr(error, "spent", spent)  # noqa: B010  # as an untyped extractor may
    outcome = failed(a_claim("one", attempts=attempts), error, RULES, now=NOW, random=lambda: 1.0)
    assert outcome.usage == usage
