"""The guard: standard tests cannot be silenced, only excused with a reason."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from memkit.contracts import Store
from memkit.errors import StoreUnavailable
from memkit.inmemory import InMemoryStore
from memkit.testing.clock import ManualClock
from memkit.testing.ledgers import LedgerConformance
from memkit.testing.stores import StoreConformance
from memkit.testing.verdicts import judge

RULE = "test_an_unknown_session_is_empty"


async def _passes(self: object, store: Store) -> None:
    """Says yes to everything."""


def test_a_standard_test_cannot_be_overridden() -> None:
    """A test of the kit's name in a subclass is refused when the class is made."""
    with pytest.raises(TypeError, match=f"Mine.{RULE} replaces a standard test"):
        type("Mine", (StoreConformance,), {RULE: _passes})


def test_a_standard_test_cannot_be_deleted() -> None:
    """Nor can it be set to None."""
    with pytest.raises(TypeError, match="replaces a standard test"):
        type("Mine", (StoreConformance,), {RULE: None})


def test_a_standard_test_cannot_be_hidden_by_a_mixin() -> None:
    """A class that is no suite of the kit hides nothing either, wherever it stands."""
    mixin = type("Mixin", (), {RULE: _passes})
    with pytest.raises(TypeError, match="replaces a standard test"):
        type("Mine", (mixin, StoreConformance), {})


def test_an_excuse_needs_a_reason() -> None:
    """`xfail` alone is no statement; with a reason the override stands."""
    silent = pytest.mark.xfail()(_fails())
    with pytest.raises(TypeError, match=r"xfail\(reason=...\)"):
        type("Mine", (StoreConformance,), {RULE: silent})
    stated = pytest.mark.xfail(reason="sessions cannot be listed")(_fails())
    type("Mine", (StoreConformance,), {RULE: stated})


def _fails() -> Callable[..., object]:
    async def test(self: object, store: Store) -> None:  # noqa: ARG001  # the kit's signature
        raise AssertionError

    return test


def test_tests_of_ones_own_are_welcome() -> None:
    """A subclass may add tests, and fixtures, as it likes."""
    type("Mine", (StoreConformance, LedgerConformance), {"test_mine": _passes})


class _Partial(StoreConformance):
    async def open_store(self, clock: ManualClock) -> Store:  # noqa: ARG002  # the kit's signature
        return InMemoryStore()

    @pytest.mark.xfail(reason="has no stats yet")
    async def test_counts_are_true(self, store: Store) -> None:  # noqa: ARG002  # the kit's signature
        """See the standard test."""
        raise StoreUnavailable("no stats")


@pytest.mark.anyio
async def test_verdicts_tell_kept_from_broken_and_excused() -> None:
    """Each rule has one verdict; a store that takes no clock breaks those of its time."""
    verdicts = {each.rule: each for each in await judge(_Partial)}
    assert verdicts["test_counts_are_true"].outcome == "excused"
    assert verdicts["test_counts_are_true"].why == "has no stats yet"
    kept = verdicts["test_a_key_names_one_item"]
    assert (kept.outcome, kept.why) == ("kept", "")
    assert kept.says.startswith("`by_key` returns the item")


class _Leaseless(StoreConformance, LedgerConformance):
    async def open_store(self, clock: ManualClock) -> Store:
        store = InMemoryStore(lease_clock=clock)
        store.capabilities = store.capabilities.model_copy(update={"transactions": False})
        return store


@pytest.mark.anyio
async def test_verdicts_name_the_capability_that_is_missing() -> None:
    """A rule of a capability that is not declared is left out in the open."""
    verdicts = [each for each in await judge(_Leaseless) if each.outcome != "kept"]
    assert {(each.outcome, each.why) for each in verdicts} == {
        ("not offered", "does not declare transactions")
    }
    assert sorted(each.rule for each in verdicts) == [
        "test_a_cancelled_change_is_whole_or_not_at_all",
        "test_a_cancelled_settlement_is_whole_or_not_at_all",
    ]
