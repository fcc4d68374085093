"""Waiting on a clock that a test moves."""

from __future__ import annotations

from datetime import timedelta

import pytest

from memkit.inmemory import InMemoryStore
from memkit.testing.clock import ManualClock
from memkit.testing.eventual import EventualStore
from memkit.testing.patience import Settling, eventually, settled
from memkit.testing.reading import texts
from memkit.testing.values import NOW, an_episode

pytestmark = pytest.mark.anyio

LAG = timedelta(minutes=3)


class Time:
    """A clock, and the `pass_time` that moves it."""

    def __init__(self) -> None:
        self.clock = ManualClock(NOW)

    async def go(self, by: timedelta) -> None:
        """Let that much time go by."""
        self.clock.advance(by)


async def test_what_comes_in_time_is_waited_for() -> None:
    """The first answer that is as wanted is returned, no later than it is there."""
    time = Time()

    async def minutes() -> int:
        return (time.clock() - NOW) // timedelta(minutes=1)

    found = await eventually(
        minutes, lambda passed: passed >= 2, pass_time=time.go, deadline=timedelta(minutes=10)
    )
    assert found == 2


async def test_what_comes_too_late_is_a_failure() -> None:
    """At the deadline the last answer is shown."""
    time = Time()

    async def never() -> str:
        return "nothing yet"

    with pytest.raises(AssertionError, match="still 'nothing yet' after 0:03:00"):
        await eventually(never, lambda _: False, pass_time=time.go, deadline=LAG)
    assert time.clock() == NOW + LAG


async def test_an_eventual_store_is_given_time_after_each_write() -> None:
    """And so reads as if it were immediate; reading costs no time."""
    time = Time()
    store = settled(EventualStore(clock=time.clock, lag=LAG), pass_time=time.go, lag=LAG)
    await store.append([an_episode("hi")])
    assert time.clock() == NOW + LAG
    assert await texts(store) == ["hi"]
    assert time.clock() == NOW + LAG
    await store.aclose()


async def test_an_immediate_store_is_left_as_it_is() -> None:
    """There is nothing to wait for."""
    store, time = InMemoryStore(), Time()
    given = settled(store, pass_time=time.go, lag=LAG)
    assert given is store
    assert not isinstance(given, Settling)
