"""Faults on purpose: in the n-th call of a store, or at the n-th point of its driver.

A run without faults counts the places; then each is made to fail in turn, and the end must be
the same as without:

    from contextlib import suppress

    from memkit import StoreUnavailable
    from memkit.testing import Failpoints, an_episode
    from memkit_backends.sqlite import open_store

    async def again(work):
        with suppress(StoreUnavailable):
            return await work()
        return await work()

    async def story(points):
        store = await open_store("sqlite://:memory:", failpoint=points)
        await again(lambda: store.append([an_episode("I moved to Oslo.", keys=["k1"])]))
        found = await again(store.stats)
        await store.aclose()
        return found.messages

    async def test_recorded_once_wherever_it_fails():
        points = Failpoints()
        assert await story(points) == 1
        for number, _ in enumerate(points.passed, start=1):
            assert await story(Failpoints(fail_at=number)) == 1
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Collection
from typing import Literal, assert_never

from memkit.contracts import Ledger, Store
from memkit.errors import OutcomeUnknown, StoreUnavailable
from memkit.testing.around import (
    WRITES,
    Answer,
    LedgerStore,
    LedgerStoreAround,
    StoreAround,
)

Failpoint = Callable[[str], None]
"""What a driver calls, with the name of the place, before and after what it does there."""

Fault = Literal["error", "cancel", "exit"]
"""A typed error, a cancellation, or the end of the process without a word (status 9)."""

KILLED = 9


class Failpoints:
    """A `Failpoint` that keeps the names of the places passed, and fails at one of them.

    `fail_at` counts from 1, among the places called `only` if that is given. `failure` makes
    the error, for drivers that are to meet their database's own.
    """

    def __init__(
        self,
        *,
        fail_at: int | None = None,
        only: str | None = None,
        fault: Fault = "error",
        failure: Callable[[], Exception] = lambda: StoreUnavailable("a fault, on purpose"),
    ) -> None:
        self.passed: list[str] = []
        self._left = fail_at
        self._only = only
        self._fault: Fault = fault
        self._failure = failure

    def __call__(self, name: str) -> None:
        """Pass the place called `name`, or fail there."""
        self.passed.append(name)
        if self._left is None or self._only not in {None, name}:
            return
        self._left -= 1
        if self._left == 0:
            self._fail()

    def _fail(self) -> None:
        match self._fault:
            case "error":
                raise self._failure()
            case "cancel":
                raise asyncio.CancelledError
            case "exit":
                os._exit(KILLED)
            case _:
                assert_never(self._fault)


class Faulty(StoreAround):
    """A store of which one call fails: the n-th of `calls`, counted from 1, and only once.

    Before it took effect (`StoreUnavailable`), or after it, the answer being lost
    (`OutcomeUnknown`); or the caller is cancelled at that moment.
    """

    def __init__(
        self,
        inner: Store,
        *,
        fail_at: int | None = None,
        moment: Literal["before", "after"] = "before",
        fault: Literal["error", "cancel"] = "error",
        calls: Collection[str] = WRITES,
    ) -> None:
        super().__init__(inner)
        self.passed: list[str] = []
        self._fail_at = fail_at
        self._moment = moment
        self._fault = fault
        self._calls = calls

    async def through(self, name: str, call: Callable[[], Awaitable[Answer]], /) -> Answer:
        """Make the call, and fail before or after it if it is the one."""
        if name not in self._calls:
            return await call()
        self.passed.append(name)
        if len(self.passed) != self._fail_at:
            return await call()
        if self._moment == "before":
            await self._fail(StoreUnavailable(f"{name} was not sent, on purpose"))
        answer = await call()
        if self._moment == "after":
            await self._fail(OutcomeUnknown(f"the answer of {name} was lost, on purpose"))
        return answer

    async def _fail(self, failure: Exception) -> None:
        if self._fault == "error":
            raise failure
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(0)


class FaultyLedger(Faulty, LedgerStoreAround):
    """The same around a store that is a ledger too."""

    inner: LedgerStore


def faulty(
    store: Store,
    *,
    fail_at: int | None = None,
    moment: Literal["before", "after"] = "before",
    fault: Literal["error", "cancel"] = "error",
    calls: Collection[str] = WRITES,
) -> Faulty:
    """`store` with one call that fails; see `Faulty`. A ledger stays one."""
    around = FaultyLedger if isinstance(store, Ledger) else Faulty
    return around(store, fail_at=fail_at, moment=moment, fault=fault, calls=calls)
