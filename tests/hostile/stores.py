"""The stores that hostile cases are tried on. A further one joins by a line in STORES."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial

from memkit.inmemory import InMemoryStore
from memkit.testing.around import LedgerStore
from tests.gates.backends import SQLITE, Backend
from tests.gates.postgres import POSTGRES

Opener = Callable[[], AbstractAsyncContextManager[LedgerStore]]
"""Opens a fresh store, and lets it go with all that is in it."""


@asynccontextmanager
async def in_memory() -> AsyncIterator[LedgerStore]:
    """The reference."""
    yield InMemoryStore()


@asynccontextmanager
async def in_database(backend: Backend) -> AsyncIterator[LedgerStore]:
    """A store in a database of its own."""
    with backend.fresh() as location:
        store = await backend.open(location)
        try:
            yield store
        finally:
            await store.aclose()


REFERENCE: dict[str, Opener] = {"memory": in_memory}
LOCAL = REFERENCE | {"sqlite": partial(in_database, SQLITE)}
"""Those that need no server."""

STORES = LOCAL | {"postgres": partial(in_database, POSTGRES)}
