"""T17 on Postgres: schemas are upgraded whole or not at all, newer ones refused untouched."""

from __future__ import annotations

import asyncio
import random
import re
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from memkit.errors import MemkitError, SchemaTooNew
from memkit_backends.postgres.naming import quoted
from memkit_backends.postgres.scripts import migrations, supported
from memkit_backends.postgres.statements import TABLES
from memkit_backends.postgres.store import PostgresStore
from tests.gates.children import Child
from tests.gates.golden_stores import GOLDEN, add_dump_to, restore
from tests.gates.postgres import POSTGRES, open_at, rows
from tests.gates.progress import watched
from tests.gates.t17_versions import PROCESSES, crowd, kept
from tests.gates.verdict import Gate, Verdict
from tests.postgres.server import ask, own_server, parted, tell, url_of

KILLS = 5
"""Processes that are killed while they migrate, for each crowd."""

WHOLE = {*TABLES, "migration"}

Open = Callable[[str], Awaitable[PostgresStore]]


async def make_old(location: str) -> None:
    """A schema as the migration before the last left it; with one migration, without tables."""
    url, settings = parted(location)
    schema = quoted(settings["schema"])
    older = "\n".join(each.within(schema) for each in migrations()[:-1])
    await tell(url, f"CREATE SCHEMA {schema}; {older}")


async def open_stamped_first(location: str) -> PostgresStore:
    """The bug: a schema is said to be upgraded, and then it is."""
    url, settings = parted(location)
    schema = quoted(settings["schema"])
    table = f"CREATE TABLE IF NOT EXISTS {schema}.migration (number INTEGER, name TEXT)"
    await tell(url, f"CREATE SCHEMA IF NOT EXISTS {schema}; {table}")
    ((found,),) = await ask(url, f"SELECT coalesce(max(number), 0) FROM {schema}.migration")
    if found < supported():
        await tell(url, f"INSERT INTO {schema}.migration VALUES ({supported()}, '')")
        await tell(url, _tables(schema))
    return await open_at(location)


async def open_bit_by_bit(location: str) -> PostgresStore:
    """The bug: a schema is upgraded by one statement after the other."""
    url, settings = parted(location)
    schema = quoted(settings["schema"])
    await tell(url, f"CREATE SCHEMA IF NOT EXISTS {schema}")
    for statement in _tables(schema).split(";\n"):
        await tell(url, statement)
    return await open_at(location)


def _tables(schema: str) -> str:
    """What the last migration makes, but for the list of migrations."""
    script = migrations()[-1].script
    script = re.sub(r"CREATE TABLE memkit\.migration .*?;", "", script, flags=re.DOTALL)
    return script.replace("memkit.", f"{schema}.")


BUGS: dict[str, Open] = {"stamp-first": open_stamped_first, "bit-by-bit": open_bit_by_bit}


def half_made(open_store_at: Open, chance: random.Random, longest: float) -> list[str]:
    """What is wrong after a process was killed while it made a schema."""
    with POSTGRES.fresh() as location:
        if chance.random() < 0.5:
            asyncio.run(make_old(location))
        before = tables(location)
        child = Child.fork(lambda _: asyncio.run(_opened(open_store_at, location)))
        time.sleep(chance.uniform(0, longest))
        child.kill()
        found = tables(location)
        if found not in (before, WHOLE):
            return [f"{len(found)} tables of {len(WHOLE)}"]
        try:
            asyncio.run(kept(POSTGRES, location))
        except MemkitError as exc:
            return [repr(exc)]
        return [] if tables(location) == WHOLE else ["not made afterwards"]


async def _opened(open_store_at: Open, location: str) -> None:
    await (await open_store_at(location)).aclose()


def tables(location: str) -> set[str]:
    """The tables in a schema."""
    found = rows(
        location,
        """SELECT relname FROM pg_class
            WHERE relnamespace = to_regnamespace(current_setting('search_path'))
              AND relkind = 'r'""",
    )
    return {name for (name,) in found}


def opening_takes() -> float:
    """Seconds to make a new store, in a process of its own."""
    with POSTGRES.fresh() as location:
        begun = time.monotonic()
        Child.fork(lambda _: asyncio.run(_opened(open_at, location))).ended(seconds=60)
        return time.monotonic() - begun


def is_refused_untouched(*, auto_migrate: bool) -> bool:
    """Whether a store from the future is refused, and left as it was."""
    with POSTGRES.fresh() as location:
        asyncio.run(kept(POSTGRES, location))
        rows(location, f"INSERT INTO migration VALUES ({supported() + 1}, '') RETURNING 1")
        rows(location, "ALTER TABLE item RENAME TO memory")
        before = state(location)
        try:
            asyncio.run(_opened(lambda at: open_at(at, auto_migrate=auto_migrate), location))
        except SchemaTooNew as exc:
            return state(location) == before and exc.found == supported() + 1
        return False


def state(location: str) -> object:
    """Which relations there are, and what was applied."""
    relations = """SELECT relname, relfilenode, relkind, relnatts FROM pg_class
                    WHERE relnamespace = to_regnamespace(current_setting('search_path'))
                    ORDER BY 1"""
    return rows(location, relations), rows(location, "SELECT * FROM migration ORDER BY 1")


def differing() -> list[str]:
    """Dumps that hold something else once they are upgraded; one is made now."""
    with own_server() as server, tempfile.TemporaryDirectory() as folder:
        url = url_of(server)
        asyncio.run(add_dump_to(Path(folder), url))
        dumps = [*sorted(GOLDEN.glob("*.sql")), *Path(folder).glob("*.sql")]
        return [
            f"{dump.name} differs"
            for dump in dumps
            if asyncio.run(restore(dump, url))
            != dump.with_suffix(".sql.sha256").read_text().strip()
        ]


def run(n: int, seed: int, bug: str | None) -> Verdict:
    """`n` crowds, every second at a new schema; processes killed; golden dumps; the future."""
    open_store_at: Open = BUGS[bug] if bug else open_at
    chance, longest = random.Random(seed), 1.2 * opening_takes()
    wrong: list[str] = []
    for number in watched(range(n)):
        with POSTGRES.fresh() as location:
            if bug or number % 2:
                asyncio.run(make_old(location))
            wrong += [] if bug == "bit-by-bit" else crowd(POSTGRES, open_store_at, location)
        for _ in range(KILLS):
            wrong += half_made(open_store_at, chance, longest)
        if bug and wrong:
            break
    else:
        wrong += [
            "the future is not refused, or touched"
            for auto_migrate in (True, False)
            if not is_refused_untouched(auto_migrate=auto_migrate)
        ]
        wrong += differing()
    facts = {"opens": PROCESSES * (number + 1), "kills": KILLS * (number + 1)}
    return Verdict(failed=len(wrong), facts={**facts, "first": next(iter(wrong), "")})


GATES = [
    Gate(
        name="T17-postgres",
        promise="schemas are upgraded whole or not at all, newer ones refused, on postgres",
        full=15,
        least=4,
        run=run,
        bugs=tuple(BUGS),
    )
]
