"""A store beside the reference: one call made of both, and the answers compared."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from memkit.errors import MemkitError
from memkit.inmemory import InMemoryStore
from memkit.testing.around import LedgerStore
from memkit.testing.clock import ManualClock
from memkit.testing.values import NOW

Answer = TypeVar("Answer")
Words = TypeVar("Words")
Part = TypeVar("Part")
OpenStore = Callable[[ManualClock], Awaitable[LedgerStore]]
Reopen = Callable[[LedgerStore, ManualClock], Awaitable[LedgerStore]]


@dataclass(frozen=True, slots=True)
class Both(Generic[Answer]):
    """What each of the two answered."""

    model: Answer
    store: Answer

    def of(self, *, model: bool) -> Answer:
        """What the one or the other has."""
        return self.model if model else self.store

    def each(self, part: Callable[[Answer], Part]) -> Both[Part]:
        """That part of both."""
        return Both(part(self.model), part(self.store))


@dataclass
class Pair:
    """The two stores, their clock, and the loop on which they live."""

    open_store: OpenStore
    clock: ManualClock = field(default_factory=lambda: ManualClock(NOW))
    runner: asyncio.Runner = field(default_factory=asyncio.Runner)

    def __post_init__(self) -> None:
        self.model: LedgerStore = InMemoryStore(lease_clock=self.clock)
        try:
            self.store = self._run(self.open_store(self.clock))
        except BaseException:
            self.runner.close()
            raise

    def ask(
        self,
        call: Callable[[LedgerStore], Awaitable[Answer]],
        alike: Callable[[Answer], object] = lambda answer: answer,
    ) -> Both[Answer] | None:
        """Make one call of both; their answers are to be `alike`, or their errors of one type.

        What each answered, or None if both refused.
        """
        return self.tell(lambda store, _: call(store), Both(None, None), alike)

    def tell(
        self,
        call: Callable[[LedgerStore, Words], Awaitable[Answer]],
        words: Both[Words],
        alike: Callable[[Answer], object] = lambda answer: answer,
    ) -> Both[Answer] | None:
        """The same where each is asked with words of its own: ids that it made itself."""
        model = self._outcome(call(self.model, words.model))
        store = self._outcome(call(self.store, words.store))
        if isinstance(model, MemkitError) or isinstance(store, MemkitError):
            assert type(store) is type(model), f"{store!r} where {model!r} was to be"
            return None
        assert alike(store) == alike(model)
        return Both(model, store)

    def peek(self, call: Callable[[LedgerStore], Awaitable[Answer]]) -> Answer:
        """What the reference answers, to choose what is asked next."""
        return self._run(call(self.model))

    def _outcome(self, call: Awaitable[Answer]) -> Answer | MemkitError:
        try:
            return self._run(call)
        except MemkitError as failure:
            return failure

    def _run(self, call: Awaitable[Answer]) -> Answer:
        async def awaited() -> Answer:
            return await call

        return self.runner.run(awaited())

    def reopen(self, reopen: Reopen) -> None:
        """Close the store and open what it keeps."""
        self.store = self._run(reopen(self.store, self.clock))

    def close(self) -> None:
        """Let go of both, and of the loop."""
        with self.runner:
            self._run(self.store.aclose())
