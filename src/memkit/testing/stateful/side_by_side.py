"""Stores beside the reference: one call made of each, and the answers compared."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
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
OpenStores = Callable[[ManualClock], Awaitable[Sequence[LedgerStore]]]
Reopen = Callable[[LedgerStore, ManualClock], Awaitable[LedgerStore]]


@dataclass(frozen=True, slots=True)
class Answers(Generic[Answer]):
    """What each store answered, the reference first."""

    all: tuple[Answer, ...]

    @property
    def model(self) -> Answer:
        """What the reference did."""
        return self.all[0]

    def each(self, part: Callable[[Answer], Part]) -> Answers[Part]:
        """That part of each."""
        return Answers(tuple(map(part, self.all)))


@dataclass
class SideBySide:
    """The reference, the stores beside it, their clock, and the loop on which they live."""

    open_stores: OpenStores
    runner: asyncio.Runner
    clock: ManualClock = field(default_factory=lambda: ManualClock(NOW))

    def __post_init__(self) -> None:
        self.model: LedgerStore = InMemoryStore(lease_clock=self.clock)
        self.others = list(self._run(self.open_stores(self.clock)))

    def ask(
        self,
        call: Callable[[LedgerStore], Awaitable[Answer]],
        alike: Callable[[Answer], object] = lambda answer: answer,
    ) -> Answers[Answer] | None:
        """Make one call of each; their answers are to be `alike`, or their errors of one type.

        What each answered, or None if all refused.
        """
        return self.tell(lambda store, _: call(store), self.words(lambda _: None), alike)

    def tell(
        self,
        call: Callable[[LedgerStore, Words], Awaitable[Answer]],
        words: Answers[Words],
        alike: Callable[[Answer], object] = lambda answer: answer,
    ) -> Answers[Answer] | None:
        """The same where each is asked with words of its own: ids that it made itself."""
        model, *others = self._run(self._outcomes(call, words))
        if isinstance(model, MemkitError):
            assert {type(other) for other in others} == {type(model)}, f"{others}, not {model!r}"
            return None
        answers = [model]
        for other in others:
            assert not isinstance(other, MemkitError), f"{other!r} where {model!r} was to be"
            assert alike(other) == alike(model)
            answers.append(other)
        return Answers(tuple(answers))

    def words(self, of: Callable[[int], Words]) -> Answers[Words]:
        """Words for each store, by its place among them; that of the reference is 0."""
        return Answers(tuple(of(place) for place in range(len(self.others) + 1)))

    def peek(self, call: Callable[[LedgerStore], Awaitable[Answer]]) -> Answer:
        """What the reference answers, to choose what is asked next."""
        return self._run(call(self.model))

    async def _outcomes(
        self, call: Callable[[LedgerStore, Words], Awaitable[Answer]], words: Answers[Words]
    ) -> list[Answer | MemkitError]:
        stores = zip((self.model, *self.others), words.all, strict=True)
        return [await _outcome(call(store, own)) for store, own in stores]

    def _run(self, call: Awaitable[Answer]) -> Answer:
        # On the bare loop: the runner would put a handler of Ctrl-C around each of many calls.
        return self.runner.get_loop().run_until_complete(call)

    def reopen(self, reopen: Reopen) -> None:
        """Close the stores and open what they keep."""
        for place, store in enumerate(self.others):
            self.others[place] = self._run(reopen(store, self.clock))

    def close(self) -> None:
        """Let go of all."""
        for store in self.others:
            self._run(store.aclose())


async def _outcome(call: Awaitable[Answer]) -> Answer | MemkitError:
    try:
        return await call
    except MemkitError as failure:
        return failure
