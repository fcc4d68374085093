"""Forgetting by date: the column and the formula say the same at any moment."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from memkit.decay import (
    DAY,
    EPOCH,
    FOREVER,
    NEVER,
    Policy,
    end,
    from_microseconds,
    microseconds,
)
from memkit.errors import ConfigError
from memkit.testing.values import an_item

START = datetime(2026, 1, 1, tzinfo=UTC)
importances = st.floats(0, 1)
factors = st.floats(0.01, 0.995)  # slower ones reach the ends of the calendar
policies = st.builds(Policy, factors, st.floats(0.001, 0.9))
moments = st.datetimes(datetime(1990, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001  # the strategy adds it


def formula(policy: Policy, importance: float, reinforced_at: datetime, now: datetime) -> float:
    """The logarithm of importance * factor ** days, for it may be too small for a float."""
    return math.log(max(importance, 1e-6)) + (now - reinforced_at) / DAY * math.log(policy.factor)


def important(policy: Policy, importance: float, days: float) -> float:
    """The importance `days` after an item of `importance` was reinforced."""
    return policy.importance(policy.fades_at(importance, START), START + days * DAY)


@given(policies, st.tuples(importances, moments), st.tuples(importances, moments), moments)
def test_order_by_date_is_order_by_importance(
    policy: Policy, first: tuple[float, datetime], second: tuple[float, datetime], now: datetime
) -> None:
    """Within a policy, what fades later is more important at any moment, and the reverse."""
    (one, one_at), (other, other_at) = first, second
    difference = formula(policy, one, one_at, now) - formula(policy, other, other_at, now)
    gap = (policy.fades_at(one, one_at) - policy.fades_at(other, other_at)) / DAY
    rate = -math.log(policy.factor)
    assert gap * rate == pytest.approx(difference, abs=1e-4)
    if abs(difference) > 1e-4:
        assert (gap > 0) == (difference > 0)


@given(policies, importances, moments, st.floats(0, 400))
def test_the_date_gives_the_formula_back(
    policy: Policy, importance: float, reinforced_at: datetime, days: float
) -> None:
    """Importance read from `fades_at` is importance * factor ** days since reinforced."""
    now = reinforced_at + days * DAY
    expected = math.exp(formula(policy, importance, reinforced_at, now))
    shown = policy.importance(policy.fades_at(importance, reinforced_at), now)
    assert shown == pytest.approx(expected, rel=1e-6, abs=1e-9)


@given(policies, importances, moments)
def test_an_item_fades_when_it_falls_below_the_threshold(
    policy: Policy, importance: float, reinforced_at: datetime
) -> None:
    """A second before its date an item is at least at the threshold, a second after below."""
    fades_at = policy.fades_at(importance, reinforced_at)
    before = policy.importance(fades_at - timedelta(seconds=1), fades_at - timedelta(seconds=2))
    after = policy.importance(fades_at, fades_at + timedelta(seconds=1))
    assert before >= policy.threshold > after
    assert (fades_at < reinforced_at) == (max(importance, 1e-6) < policy.threshold) or math.isclose(
        importance, policy.threshold, rel_tol=1e-9
    )


@pytest.mark.parametrize(("day", "importance"), [(0, 0.85), (10, 0.51), (30, 0.18), (50, 0.065)])
def test_the_documented_course(day: int, importance: float) -> None:
    """By default 0.85 is 0.51 after 10 days, 0.18 after 30 and 0.065 after 50."""
    assert important(Policy(), 0.85, day) == pytest.approx(importance, abs=0.005)


def test_the_documented_end() -> None:
    """By default an item of importance 0.85 is alive on day 55 and gone on day 56."""
    fades_at = Policy().fades_at(0.85, START)
    assert START + 55 * DAY < fades_at <= START + 56 * DAY


def test_the_documented_minimum() -> None:
    """Importance 0.1 is left 13.5 days before the item is forgotten."""
    left = Policy().fades_at(0.1, START) - START
    assert left / DAY == pytest.approx(13.5, abs=0.05)


@given(policies, importances, st.floats(0, 400), st.floats(0, 400))
def test_time_only_takes_away(policy: Policy, importance: float, one: float, other: float) -> None:
    """The later it is, the less important an item, and never above what it was."""
    sooner, later = sorted((one, other))
    assert important(policy, importance, later) <= important(policy, importance, sooner)
    assert important(policy, importance, later) <= max(importance, 1e-6) * (1 + 1e-9)


@given(st.one_of(policies, st.just(NEVER)), importances, st.floats(-400, 400))
def test_importance_stays_in_range_whatever_the_clock(
    policy: Policy, importance: float, days: float
) -> None:
    """A clock 400 days behind or ahead gives an importance from 0 to 1, and no error."""
    assert 0 <= important(policy, importance, days) <= 1


@given(st.floats(0.0001, 1), st.floats(1e-9, 1, exclude_max=True), importances, st.datetimes())
def test_dates_are_finite(
    factor: float, threshold: float, importance: float, reinforced_at: datetime
) -> None:
    """However slow or fast it fades, the date is one that rows and arithmetic can hold."""
    reinforced_at = reinforced_at.replace(tzinfo=UTC)
    assume(EPOCH <= reinforced_at < FOREVER - DAY)
    rounding = timedelta(milliseconds=1)
    policy = Policy(factor, threshold)
    fades_at = policy.fades_at(importance, reinforced_at)
    assert EPOCH - rounding <= fades_at <= FOREVER + DAY
    assert (fades_at >= FOREVER) == (factor == 1)
    assert 0 <= policy.importance(fades_at, reinforced_at) <= 1
    assert from_microseconds(microseconds(fades_at)) == fades_at


@given(importances, importances, moments)
def test_what_never_fades_stands_in_order(one: float, other: float, now: datetime) -> None:
    """Pinned items keep their importance, and are in its order behind every date."""
    assert NEVER.importance(NEVER.fades_at(one, now), now) == pytest.approx(one, abs=1e-9)
    assert NEVER.fades_at(one, now) >= FOREVER > Policy().fades_at(1.0, now)
    if one - other > 1e-9:
        assert NEVER.fades_at(one, now) > NEVER.fades_at(other, now)


@given(st.one_of(policies, st.just(NEVER), st.builds(Policy, st.just(1.0), st.floats(0.1, 0.9))))
def test_a_policy_is_known_by_its_name(policy: Policy) -> None:
    """The name says all that matters: the policy it stands for dates items the same."""
    named = Policy.from_name(policy.name)
    assert named.name == policy.name
    assert named.fades_at(0.7, START) == policy.fades_at(0.7, START)


@given(policies, importances, moments, st.floats(0, 400))
def test_dates_can_be_rebuilt(
    policy: Policy, importance: float, reinforced_at: datetime, days: float
) -> None:
    """From what an item was, and from what it is at any later moment, comes the same date."""
    fades_at = policy.fades_at(importance, reinforced_at)
    assert policy.fades_at(importance, reinforced_at) == fades_at
    # Until it has faded; what is forgotten is not rebuilt.
    now = max(reinforced_at, min(reinforced_at + days * DAY, fades_at))
    shown = policy.importance(fades_at, now)
    assert policy.fades_at(shown, now) - fades_at == pytest.approx(
        timedelta(0), abs=timedelta(seconds=1)
    )


@pytest.mark.parametrize(
    ("start", "end"),
    [("2028-02-28", "2028-03-01"), ("2027-12-31", "2028-01-02"), ("2028-02-29", "2028-03-02")],
)
def test_leap_days_are_days(start: str, end: str) -> None:
    """Two days take the square of the factor, over a leap day and a new year too."""
    reinforced_at, now = (datetime.fromisoformat(each).replace(tzinfo=UTC) for each in (start, end))
    assert now - reinforced_at == 2 * DAY
    policy = Policy()
    shown = policy.importance(policy.fades_at(0.8, reinforced_at), now)
    assert shown == pytest.approx(0.8 * 0.95**2)


def test_a_change_of_the_clocks_is_no_time() -> None:
    """Zones and summer time change nothing: the same moment gives the same importance."""
    berlin = ZoneInfo("Europe/Berlin")
    before, after = (datetime(2026, 3, day, 12, tzinfo=UTC) for day in (28, 30))
    policy = Policy()
    expected = policy.importance(policy.fades_at(0.8, before), after)
    there = policy.fades_at(0.8, before.astimezone(berlin))
    assert policy.importance(there, after.astimezone(berlin)) == pytest.approx(expected)
    assert microseconds(there) == microseconds(policy.fades_at(0.8, before))


@given(moments, moments, st.none() | st.floats(0, 1e9))
def test_an_item_expires_at_the_earlier_date(
    fades_at: datetime, created_at: datetime, days: float | None
) -> None:
    """An item is gone when it fades or when its time is up, whichever comes first."""
    ttl = None if days is None else timedelta(days=min(days, 999_999_999))
    item = an_item("tea").model_copy(update={"fades_at": fades_at, "ends_at": end(created_at, ttl)})
    assert item.expires_at <= fades_at
    assert (item.expires_at == fades_at) == (
        ttl is None or created_at + min(ttl, 10**6 * DAY) >= fades_at
    )


def test_a_time_to_live_ends_what_never_fades() -> None:
    """A pinned item with a time to live ends with it."""
    assert an_item("tea", pinned=True, at=START, ttl=3 * DAY).expires_at == START + 3 * DAY


@given(st.datetimes(datetime(1900, 1, 1), datetime(9500, 1, 1), timezones=st.just(UTC)))  # noqa: DTZ001  # the strategy adds it
def test_microseconds_keep_a_date(moment: datetime) -> None:
    """Rows keep a date as whole microseconds and give it back; later is more."""
    assert from_microseconds(microseconds(moment)) == moment
    assert microseconds(moment + timedelta(microseconds=1)) == microseconds(moment) + 1


@pytest.mark.parametrize("factor", [0.0, -0.5, 1.01, math.nan, math.inf])
def test_a_factor_outside_its_range_is_refused(factor: float) -> None:
    """A factor is above 0 and at most 1."""
    with pytest.raises(ConfigError, match="factor"):
        Policy(factor=factor)


@pytest.mark.parametrize("threshold", [0.0, -0.5, 1.0, math.nan])
def test_a_threshold_outside_its_range_is_refused(threshold: float) -> None:
    """A threshold lies between 0 and 1."""
    with pytest.raises(ConfigError, match="threshold"):
        Policy(threshold=threshold)
