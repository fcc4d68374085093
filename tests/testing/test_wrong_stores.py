"""The kit proves itself: each wrong store fails the rule that it breaks, and no other."""

from __future__ import annotations

from collections import Counter

import pytest

from memkit.contracts import Store
from memkit.testing.clock import ManualClock
from memkit.testing.eventual import EventualStore
from memkit.testing.ledgers import LedgerConformance
from memkit.testing.stores import StoreConformance
from memkit.testing.suite import standard_tests
from memkit.testing.verdicts import judge
from memkit.testing.wrong import WRONG_STORES, Wrong

pytestmark = pytest.mark.anyio

WITHOUT_ONE = {"test_a_write_is_seen_within_the_declared_time"}
"""A rule for which a store is not wrong but late: see the test of it."""


class OfAWrongStore(StoreConformance, LedgerConformance):
    """Both contracts, asked of `wrong`."""

    wrong: type[Wrong]

    async def open_store(self, clock: ManualClock) -> Store:
        """The wrong store."""
        return self.wrong(clock)

    async def reopen(self, store: Store, clock: ManualClock) -> Store:  # noqa: ARG002  # the kit's signature
        """The wrong store, after a restart."""
        assert isinstance(store, Wrong)
        return store.reopened()


@pytest.mark.parametrize("wrong", WRONG_STORES, ids=lambda wrong: wrong.__name__)
async def test_a_wrong_store_fails_the_rule_it_breaks(wrong: type[Wrong]) -> None:
    """The kit notices each fault, and by one rule only: a failure says what is wrong."""
    suite = type(wrong.__name__, (OfAWrongStore,), {"wrong": wrong})
    verdicts = await judge(suite)
    broken = {each.rule: each.why for each in verdicts if each.outcome == "broken"}
    assert broken.keys() == {wrong.breaks}, broken


def test_every_rule_has_a_store_that_breaks_it() -> None:
    """No rule is there that nothing was seen to fail."""
    rules = {name for name, _ in standard_tests(OfAWrongStore)}
    assert rules - {each.breaks for each in WRONG_STORES} == WITHOUT_ONE


def test_names_of_rules_are_unique() -> None:
    """No rule hides another of the same name."""
    names = Counter(name for name, _ in standard_tests(OfAWrongStore))
    assert [name for name, count in names.items() if count > 1] == []


async def test_a_store_that_is_later_than_it_says_is_noticed() -> None:
    """An eventual store has to show a write before the kit's deadline."""

    class Late(StoreConformance):
        async def open_store(self, clock: ManualClock) -> Store:
            return EventualStore(clock=clock, lag=self.lag * 2)

        async def reopen(self, store: Store, clock: ManualClock) -> Store:
            raise NotImplementedError

    class InTime(Late):
        async def open_store(self, clock: ManualClock) -> Store:
            return EventualStore(clock=clock, lag=self.lag)

    [rule] = WITHOUT_ONE
    for suite, expected in ((Late, "broken"), (InTime, "kept")):
        verdicts = await judge(suite)
        assert [each.outcome for each in verdicts if each.rule == rule] == [expected]
