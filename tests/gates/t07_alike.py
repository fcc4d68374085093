"""T07: in memory = SQLite = Postgres, whatever is done to them in whatever order."""

from __future__ import annotations

import asyncio
import sys
import tempfile
import traceback
from collections.abc import Callable
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import ClassVar

from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.database import InMemoryExampleDatabase
from hypothesis.stateful import run_state_machine_as_test

from memkit.models import Candidates, Query, Scope
from memkit.testing.around import LedgerStore, LedgerStoreAround
from memkit.testing.clock import ManualClock
from memkit.testing.reading import all_items
from memkit.testing.stateful import StoreMachine
from memkit_backends.sqlite import open_store as open_sqlite
from tests.gates.postgres import POSTGRES, open_at
from tests.gates.verdict import Gate, Verdict
from tests.postgres.server import empty, parted

STEPS = 20

Alike = Callable[[Scope, Scope], bool]


class Widening(LedgerStoreAround):
    """The bug: a search looks into every scope that is somehow like the one that was named."""

    def __init__(self, inner: LedgerStore, alike: Alike) -> None:
        super().__init__(inner)
        self._alike = alike

    async def find(self, query: Query) -> Candidates:
        """See `Store.find`."""
        known = {item.scope for item in await all_items(self.inner)}
        wide = {scope for scope in known for asked in query.scopes if self._alike(scope, asked)}
        return await self.inner.find(replace(query, scopes=(*query.scopes, *wide)))


def like(scope: Scope, asked: Scope) -> bool:
    """As `LIKE` compares, which takes ids for patterns."""
    pairs = [(scope.user_id, asked.user_id), (scope.agent_id, asked.agent_id)]
    return all(
        one is other
        or (one and other and fnmatchcase(one, other.replace("%", "*").replace("_", "?")))
        for one, other in pairs
    )


def null(scope: Scope, asked: Scope) -> bool:
    """As if what is unset meant anything."""
    return asked.user_id in {None, scope.user_id} and asked.agent_id in {None, scope.agent_id}


BUGS: dict[str, Alike] = {"like-scope": like, "null-scope": null}


class _Machine(StoreMachine):
    """A store beside the reference, with a bug or without."""

    bug: ClassVar[str | None] = None
    location: ClassVar[str]

    async def open_store(self, clock: ManualClock) -> LedgerStore:
        """A fresh one."""
        await self.cleared()
        return await self.opened(clock)

    async def reopen(self, store: LedgerStore, clock: ManualClock) -> LedgerStore:
        """Close it and open it again."""
        await store.aclose()
        return await self.opened(clock)

    async def opened(self, clock: ManualClock) -> LedgerStore:
        """The store at the location, and the bug around it."""
        store = await self.plain(clock)
        return Widening(store, BUGS[self.bug]) if self.bug else store

    async def cleared(self) -> None:
        """Leave nothing there."""
        raise NotImplementedError

    async def plain(self, clock: ManualClock) -> LedgerStore:
        """The store at the location."""
        raise NotImplementedError


class OnPostgres(_Machine):
    """One schema, emptied."""

    async def cleared(self) -> None:
        url, settings_ = parted(self.location)
        await empty(url, settings_["schema"])

    async def plain(self, clock: ManualClock) -> LedgerStore:
        return await open_at(self.location, max_size=2, lease_clock=clock)


class OnSqlite(_Machine):
    """One file, made anew."""

    async def cleared(self) -> None:
        for each in Path(self.location).parent.iterdir():  # nobody waits
            each.unlink()

    async def plain(self, clock: ManualClock) -> LedgerStore:
        return await open_sqlite(self.location, synchronous="normal", lease_clock=clock)


def differs(machine: type[_Machine], n: int, number: int) -> bool:
    """Whether any of `n` histories tells the store from the reference; it is printed then."""
    how = settings(
        max_examples=n,
        stateful_step_count=STEPS,
        deadline=None,
        database=InMemoryExampleDatabase(),
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate] if machine.bug else [Phase.generate, Phase.shrink],
        print_blob=False,
    )
    try:
        run_state_machine_as_test(seed(number)(machine), settings=how)
    except Exception:  # noqa: BLE001  # any failure is a difference
        if not machine.bug:
            traceback.print_exc(file=sys.stderr)
        return True
    return False


def run(n: int, number: int, bug: str | None) -> Verdict:
    """Each of the two databases beside the reference: then they are alike too."""
    with POSTGRES.fresh() as location, tempfile.TemporaryDirectory() as folder:
        _made(location)
        postgres = type("Postgres", (OnPostgres,), {"bug": bug, "location": location})
        sqlite = type("Sqlite", (OnSqlite,), {"bug": bug, "location": f"{folder}/memory.db"})
        failed = [each.__name__ for each in (postgres, sqlite) if differs(each, n, number)]
    return Verdict(failed=len(failed), facts={"steps": STEPS, "first": next(iter(failed), "")})


def _made(location: str) -> None:
    async def made() -> None:
        await (await open_at(location)).aclose()

    asyncio.run(made())


GATES = [
    Gate(
        name="T07",
        promise="in memory = SQLite = Postgres, over any history",
        full=10_000,
        least=15,
        most=100,
        run=run,
        bugs=tuple(BUGS),
    )
]
