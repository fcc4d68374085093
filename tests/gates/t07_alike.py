"""T07: in memory = SQLite = Postgres, whatever is done to them in whatever order."""

from __future__ import annotations

import asyncio
import sys
import tempfile
import traceback
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, ClassVar

from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.database import InMemoryExampleDatabase
from hypothesis.stateful import run_state_machine_as_test

from memkit.models import Candidates, Query, Scope
from memkit.testing.around import LedgerStore, LedgerStoreAround
from memkit.testing.clock import ManualClock
from memkit.testing.reading import all_items
from memkit.testing.stateful import StoreMachine
from memkit_backends.postgres import ddl
from memkit_backends.postgres import open_store as open_postgres
from memkit_backends.postgres.naming import quoted
from memkit_backends.postgres.options import Options
from memkit_backends.postgres.pooling import opened_pool
from memkit_backends.postgres.statements import TABLES
from memkit_backends.sqlite import open_store as open_sqlite
from tests.gates.children import Report, together
from tests.gates.postgres import blocking, server
from tests.gates.progress import Progress
from tests.gates.verdict import Gate, Verdict
from tests.postgres.server import schema_at, tell, with_settings

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
    """Both databases beside the reference, with a bug or without."""

    bug: ClassVar[str | None]
    folder: ClassVar[Path]
    pool: ClassVar[Any]
    schema: ClassVar[str]
    begun: ClassVar[Callable[[], object]]
    """Called where an example begins."""

    async def open_stores(self, clock: ManualClock) -> list[LedgerStore]:
        """A file that is made anew, and a schema that is emptied."""
        type(self).begun()
        for each in self.folder.iterdir():  # nobody waits
            each.unlink()
        place = quoted(self.schema)
        await self.pool.execute(";".join(f"DELETE FROM {place}.{table}" for table in TABLES))
        return [await self.on_sqlite(clock), await self.on_postgres(clock)]

    async def reopen(self, store: LedgerStore, clock: ManualClock) -> LedgerStore:
        """Close it and open it again."""
        await store.aclose()
        is_file = store.capabilities.name == "sqlite"
        return await (self.on_sqlite(clock) if is_file else self.on_postgres(clock))

    async def on_sqlite(self, clock: ManualClock) -> LedgerStore:
        """The store in the file."""
        path = str(self.folder / "memory.db")
        store = await open_sqlite(path, synchronous="normal", readers=1, lease_clock=clock)
        return self.wrong(store)

    async def on_postgres(self, clock: ManualClock) -> LedgerStore:
        """The store in the schema, on connections that know their statements already."""
        store = await open_postgres(pool=self.pool, schema=self.schema, lease_clock=clock)
        return self.wrong(store)

    def wrong(self, store: LedgerStore) -> LedgerStore:
        """The store with the bug around it, if there is one."""
        return Widening(store, BUGS[self.bug]) if self.bug else store


def differs(machine: type[_Machine], n: int, number: int) -> bool:
    """Whether any of `n` histories tells a store from the reference; it is printed then."""
    how = settings(
        max_examples=n,
        stateful_step_count=STEPS,
        deadline=None,
        database=InMemoryExampleDatabase(),
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate] if machine.bug else [Phase.generate, Phase.shrink],
        report_multiple_bugs=False,
        print_blob=False,
    )
    try:
        run_state_machine_as_test(seed(number)(machine), settings=how)
    except Exception:  # noqa: BLE001  # any failure is a difference
        if not machine.bug:
            traceback.print_exc(file=sys.stderr)
        return True
    return False


def compare(schema: str, n: int, number: int, bug: str | None, report: Report) -> None:
    """Try `n` histories, and say whether any was told apart, and how many there were."""
    options = Options(location=with_settings(server(), synchronous_commit="off"), max_size=2)
    progress, begun = Progress(n), count(1)
    with tempfile.TemporaryDirectory() as folder, asyncio.Runner() as runner:
        pool = runner.run(opened_pool(options))
        machine = type(
            "Machine",
            (_Machine,),
            {
                "bug": bug,
                "folder": Path(folder),
                "pool": pool,
                "schema": schema,
                "runner": runner,
                "begun": lambda: progress.at(next(begun)),
            },
        )
        report("different" if differs(machine, n, number) else "alike")
        runner.run(pool.close())
    report(str(next(begun) - 1))


def run(n: int, number: int, bug: str | None) -> Verdict:
    """Both databases beside the reference, in two processes."""
    shares = [n // 2, n - n // 2]
    with ExitStack() as stack:
        schemas = [stack.enter_context(schema_at(server())) for _ in shares]
        for schema in schemas:
            blocking(partial(tell, server(), ddl(schema)))
        works = [
            partial(compare, schema, share, number * 2 + place, bug)
            for place, (schema, share) in enumerate(zip(schemas, shares, strict=True))
            if share
        ]
        said = [child.said for child in together(works, seconds=60 + n)]
    return Verdict(
        failed=sum(each[0] != "alike" for each in said),
        facts={"steps": STEPS, "examples": sum(int(each[1]) for each in said)},
    )


GATES = [
    Gate(
        name="T07",
        promise="in memory = SQLite = Postgres, over any history",
        full=10_000,
        least=100,
        run=run,
        bugs=tuple(BUGS),
    )
]
