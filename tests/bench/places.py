"""Where stores are that a bench looks at, and the raw driver beside them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from memkit import Memory
from memkit.config import Config
from memkit.contracts import Extractor
from memkit.models import Scope
from tests.bench.population import POLICIES, Population, Row

CANDIDATE = (
    "item.id, item.scope_pk, item.content, item.kind, item.origin, item.policy, item.fades_at, "
    "item.observed_at, item.session_id, item.position"
)
"""What memkit reads of an item to recall it; the raw driver reads the same."""

DIGESTS = bytes(8 * 10)
"""Eight bytes for each message of a turn, without which no repeated call is told."""

SHOWN = 20
"""Items of one inject."""

Ask = Callable[[int, int], Awaitable[object]]
"""One question, by the number of the call and the number of the scope."""


class Raw(Protocol):
    """The same questions by the driver alone: prepared, by index, the scope's number known."""

    others: Mapping[str, Ask]
    """Further ways of asking what `strongest` does, by what they are."""

    async def strongest(self, number: int, scope: int, limit: int = SHOWN) -> list[object]:
        """The rows of the most important items of a scope of one kind; `number` tells callers."""
        ...

    async def matches(self, number: int, scope: int, words: Sequence[str]) -> list[object]:
        """The rows of the items of a scope that hold any of the words."""
        ...


class RawRecords(Protocol):
    """A table of episodes, with the two keys by which a repeated call is told."""

    async def insert(self, number: int, messages: str) -> None:
        """Keep one episode, durable on return."""
        ...


class Place(Protocol):
    """One database."""

    name: str

    def seed(self, population: Population) -> None:
        """See to it that a store with these items is there."""
        ...

    def memory(
        self, where: int | str, *, extractor: Extractor | None = None, **settings: object
    ) -> AbstractAsyncContextManager[Memory]:
        """A memory on the store with so many items, or on a new one with a name."""
        ...

    def raw(self, items: int) -> AbstractAsyncContextManager[Raw]:
        """The driver alone on the store with so many items."""
        ...

    def raw_records(self, **settings: object) -> AbstractAsyncContextManager[RawRecords]:
        """The driver alone on a table of episodes."""
        ...

    async def settle_each(self, where: str, learnt: Mapping[Scope, Sequence[Row]]) -> None:
        """Do by the driver, in one transaction for each scope, what consolidating it comes to.

        Read what is pending, add the rows (which lack the scope's number), settle, note a job.
        """
        ...

    async def expire(self, items: int, count: int) -> int:
        """Add so many items that have expired to a store; how many."""
        ...

    async def size(self, items: int) -> int:
        """Bytes that the items of a store take on disk."""
        ...

    def watched(self, items: int) -> AbstractAsyncContextManager[tuple[Memory, Sequence[float]]]:
        """A memory, and the seconds for which its writer was held each time, where one is."""
        ...


def config_of(store: dict[str, object]) -> Config:
    """Defaults, but for the kinds that fade by factors of their own."""
    kinds = {kind: {"factor": policy.factor} for kind, policy in POLICIES.items()}
    return Config.model_validate({"store": store, "decay": {"kinds": kinds}})
