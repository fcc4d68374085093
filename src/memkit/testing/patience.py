"""Time for stores that show a write late: the kit waits, and asks again until a deadline."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import TypeVar

from memkit.contracts import Ledger, Store
from memkit.testing.around import (
    WRITES,
    Answer,
    LedgerStore,
    LedgerStoreAround,
    StoreAround,
)

Seen = TypeVar("Seen")
PassTime = Callable[[timedelta], Awaitable[None]]
"""Lets that much of the store's time go by."""


async def eventually(
    ask: Callable[[], Awaitable[Seen]],
    wanted: Callable[[Seen], bool],
    *,
    pass_time: PassTime,
    deadline: timedelta,
    steps: int = 20,
) -> Seen:
    """The first answer of `ask` that is as `wanted`, or an AssertionError at the deadline."""
    answer = await ask()
    for _ in range(steps):
        if wanted(answer):
            return answer
        await pass_time(deadline / steps)
        answer = await ask()
    assert wanted(answer), f"still {answer!r} after {deadline}"
    return answer


class Settling(StoreAround):
    """An eventual store that is given `lag` after each write, and so reads as if immediate."""

    def __init__(self, inner: Store, *, pass_time: PassTime, lag: timedelta) -> None:
        super().__init__(inner)
        self._pass_time = pass_time
        self._lag = lag

    async def through(self, name: str, call: Callable[[], Awaitable[Answer]], /) -> Answer:
        """Make the call; after a write, failed ones too, let the lag go by."""
        try:
            return await call()
        finally:
            if name in WRITES:
                await self._pass_time(self._lag)


class SettlingLedger(Settling, LedgerStoreAround):
    """The same for a store that is a ledger too."""

    inner: LedgerStore


def settled(store: Store, *, pass_time: PassTime, lag: timedelta) -> Store:
    """`store` as its rules can be asked of it: itself where it is immediate."""
    if store.capabilities.consistency == "immediate":
        return store
    around = SettlingLedger if isinstance(store, Ledger) else Settling
    return around(store, pass_time=pass_time, lag=lag)
