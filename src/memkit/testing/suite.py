"""What the conformance classes share: a fresh subject for each test, and the guard."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import timedelta
from typing import ClassVar

import pytest

from memkit.contracts import Store
from memkit.testing.clock import ManualClock
from memkit.testing.patience import settled
from memkit.testing.values import NOW

KIT = "memkit.testing."
"""Where the standard tests are defined."""


class Suite:
    """Tests that a subclass runs by saying how its subject is opened.

    No standard test may be overridden or deleted, but for an override that is marked
    `@pytest.mark.xfail(reason=...)`: a rule that is not kept is stated, with its reason.
    """

    pytestmark = pytest.mark.anyio

    subject: ClassVar[str]
    """What the tests call what they are given."""

    @pytest.fixture
    def anyio_backend(self) -> str:
        """memkit runs on asyncio."""
        return "asyncio"

    @pytest.fixture
    def clock(self) -> ManualClock:
        """The clock that the subject is given, at `NOW` when a test begins."""
        return ManualClock(NOW)

    def opened(self, clock: ManualClock) -> AbstractAsyncContextManager[object]:
        """The subject, fresh, and let go of afterwards."""
        raise NotImplementedError

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        for name, standard in standard_tests(cls):
            _refuse_cheating(cls, name, standard)


def standard_tests(suite: type[Suite]) -> Iterator[tuple[str, object]]:
    """The tests that the kit itself defines for `suite`, by name, eldest class first."""
    for owner in reversed(suite.__mro__):
        if owner.__module__.startswith(KIT):
            yield from ((n, test) for n, test in vars(owner).items() if n.startswith("test_"))


def _refuse_cheating(suite: type[Suite], name: str, standard: object) -> None:
    found = inspect.getattr_static(suite, name)
    if found is standard or given_reason(found) is not None:
        return
    raise TypeError(
        f"{suite.__qualname__}.{name} replaces a standard test; remove it, or, if the rule "
        "cannot be kept, mark it with @pytest.mark.xfail(reason=...) and say why"
    )


def given_reason(test: object) -> str | None:
    """Why `test` is expected to fail, if it is marked so."""
    marks: list[pytest.Mark] = getattr(test, "pytestmark", [])
    reasons = (mark.kwargs.get("reason") for mark in marks if mark.name == "xfail")
    return next((str(reason) for reason in reasons if reason), None)


class StoreSuite(Suite):
    """A fresh, empty store for each test.

    A subclass defines `open_store`, or the fixture `store` if it needs other fixtures. A
    store that cannot be given a clock overrides `pass_time` to wait, and shortens `lease`.
    """

    subject = "store"

    lease: ClassVar[timedelta] = timedelta(hours=2)
    """How long the claims of these tests last."""

    lag: ClassVar[timedelta] = timedelta(minutes=3)
    """After how long an eventual store shows a write at the latest."""

    async def open_store(self, clock: ManualClock) -> Store:
        """A fresh, empty store that reads its own time from `clock`."""
        raise NotImplementedError(f"{type(self).__name__} must define open_store(clock)")

    async def reopen(self, store: Store, clock: ManualClock) -> Store:  # noqa: ARG002  # overrides need it
        """What `store` keeps, opened anew. One that declares itself durable must say how."""
        if store.capabilities.durable:
            raise NotImplementedError(f"{type(self).__name__} must define reopen(store, clock)")
        return store

    async def pass_time(self, clock: ManualClock, by: timedelta) -> None:
        """Let that much of the store's own time go by."""
        clock.advance(seconds=by.total_seconds())

    @asynccontextmanager
    async def opened(self, clock: ManualClock) -> AsyncIterator[Store]:
        """A store as tests use it: given time after each write if it is eventual, and closed."""
        store = await self.open_store(clock)
        try:
            yield settled(store, pass_time=lambda by: self.pass_time(clock, by), lag=self.lag)
        finally:
            await store.aclose()

    @pytest.fixture
    async def store(self, clock: ManualClock) -> AsyncIterator[Store]:
        """What every test is given."""
        async with self.opened(clock) as store:
            yield store


def only_where(offered: object, what: str) -> None:
    """Leave a rule out, in the open, where what is tested does not declare `what`."""
    if not offered:
        pytest.skip(f"does not declare {what}")


def immediate(store: Store) -> None:
    """Label of a rule that holds at once, and so only for stores of immediate consistency."""
    only_where(store.capabilities.consistency == "immediate", "immediate consistency")
