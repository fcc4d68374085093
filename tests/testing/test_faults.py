"""Fault injection: every place fails once, and the end is the same."""

from __future__ import annotations

import asyncio
import subprocess
import sys

import pytest

from memkit.contracts import Ledger
from memkit.errors import MemkitError, OutcomeUnknown, StoreUnavailable
from memkit.inmemory import InMemoryStore
from memkit.models import Changes, Completed
from memkit.testing.around import LedgerStore
from memkit.testing.clock import ManualClock
from memkit.testing.faults import KILLED, Failpoints, Faulty, faulty
from memkit.testing.ledgers import LedgerConformance
from memkit.testing.reading import contents, texts
from memkit.testing.stores import StoreConformance
from memkit.testing.values import DAY, HERE, NOW, an_episode, an_item

pytestmark = pytest.mark.anyio


class TestFaultyWithoutAFault(StoreConformance, LedgerConformance):
    """A wrapper is a store: with no fault planned it keeps every rule."""

    async def open_store(self, clock: ManualClock) -> Faulty:
        """The reference, wrapped."""
        return faulty(InMemoryStore(lease_clock=clock))


EPISODE, TEA = an_episode("I like tea", keys=["m-1"]), an_item("Likes tea")


async def story(store: LedgerStore) -> None:
    """Record, consolidate, forget nothing: each step may be repeated."""
    await store.append([EPISODE])
    claim = await store.claim(HERE, now=NOW, budget=100, lease=DAY)
    if claim is not None:
        outcome = Completed(changes=Changes(add=(TEA,)), checksum="c-1")
        await store.settle(claim, outcome, now=NOW)


async def survive(store: Faulty, clock: ManualClock) -> list[type[BaseException]]:
    """The story, told again until it ends; what ended it before."""
    met: list[type[BaseException]] = []
    while True:
        assert isinstance(store, Ledger)
        telling = asyncio.ensure_future(story(store))
        await asyncio.wait([telling])
        if telling.cancelled():
            met.append(asyncio.CancelledError)
        elif (failure := telling.exception()) is not None:
            assert isinstance(failure, MemkitError)
            met.append(type(failure))
        else:
            return met
        clock.advance(DAY)


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("fault", ["error", "cancel"])
async def test_each_call_may_fail_and_be_repeated(moment: str, fault: str) -> None:
    """Before or after it took effect, by an error or a cancellation: nothing lost or doubled."""
    counting = faulty(InMemoryStore())
    await survive(counting, ManualClock())
    assert counting.passed == ["append", "claim", "settle"]
    for number in range(1, len(counting.passed) + 1):
        clock = ManualClock()
        inner = InMemoryStore(lease_clock=clock)
        store = faulty(inner, fail_at=number, moment=moment, fault=fault)  # type: ignore[arg-type]  # literals
        met = await survive(store, clock)
        if fault == "cancel":
            assert met == [asyncio.CancelledError]
        else:
            assert met == [StoreUnavailable if moment == "before" else OutcomeUnknown]
        assert (await texts(inner), await contents(inner)) == (["I like tea"], ["Likes tea"])


async def test_only_the_calls_named_fail() -> None:
    """Reads pass as they are, unless they are to fail."""
    store = faulty(InMemoryStore(), fail_at=1, calls={"stats"})
    await store.append([EPISODE])
    with pytest.raises(StoreUnavailable):
        await store.stats()
    assert (await store.stats()).episodes == 1


def test_failpoints_keep_the_names_of_places() -> None:
    """Without a fault they only write down where a driver passed."""
    points = Failpoints()
    for name in ("begin", "commit"):
        points(name)
    assert points.passed == ["begin", "commit"]


def test_a_failpoint_fails_once() -> None:
    """At the n-th place, among those of one name if that is given."""
    points = Failpoints(fail_at=2, only="commit")
    points("commit")
    points("begin")
    with pytest.raises(StoreUnavailable):
        points("commit")
    points("commit")
    assert points.passed == ["commit", "begin", "commit", "commit"]


def test_a_failpoint_raises_what_it_is_told_to() -> None:
    """A driver may be given its database's own error, or a cancellation."""
    with pytest.raises(ZeroDivisionError):
        Failpoints(fail_at=1, failure=ZeroDivisionError)("begin")
    with pytest.raises(asyncio.CancelledError):
        Failpoints(fail_at=1, fault="cancel")("begin")


def test_a_failpoint_may_end_the_process() -> None:
    """Without a word, and without any clean-up."""
    script = (
        "import atexit\n"
        "from memkit.testing.faults import Failpoints\n"
        "atexit.register(print, 'cleaned up')\n"
        "Failpoints(fail_at=1, fault='exit')('begin')\n"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (KILLED, b"", b"")
