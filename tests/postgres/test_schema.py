"""The schema: named exactly, made once, and left alone by roles that may not touch it."""

from __future__ import annotations

import asyncio
import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from memkit import open_memory
from memkit.config import Config
from memkit.errors import (
    ConfigError,
    SchemaTooNew,
    StoreCorrupt,
    StoreReadOnly,
    StoreUnavailable,
)
from memkit.models import Changes, Query
from memkit.testing.values import HERE, NOW, a_query, an_episode, an_item
from memkit_backends.postgres import ddl, open_store
from memkit_backends.postgres.naming import quoted
from memkit_backends.postgres.scripts import migrations, supported
from memkit_backends.postgres.statements import TABLES
from tests.postgres.server import ask, drop, new_schema, tell, with_settings

pytestmark = pytest.mark.anyio

NAMES = (
    'mem"; DROP SCHEMA public CASCADE; --',
    "MemKit",
    'a"b',
    "select",
    "..",
    "é",
    "x" * 63,
)
"""Names that are exactly what they say."""

REFUSED = (
    "",
    f"tenant_{'x' * 70}_1",
    f"tenant_{'x' * 70}_2",
    "m\0k",
    "é" * 32,
    "half \ud83d",
    "pg_memkit",
    "information_schema",
)
"""Names that would be none, another one, or somebody else's."""


async def tables(url: str, schema: str) -> set[str]:
    """The names of the tables in exactly this schema."""
    rows = await ask(
        url,
        "SELECT relname FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace"
        " WHERE nspname = $1 AND relkind = 'r'",
        schema,
    )
    return {name for (name,) in rows}


@pytest.mark.parametrize("name", NAMES)
async def test_a_schema_is_called_exactly_what_was_said(postgres: str, name: str) -> None:
    """A name is quoted, so its tables are in that very schema and nothing else happens."""
    try:
        store = await open_store(postgres, schema=name)
        await store.append([an_episode("tea")])
        assert (await store.stats()).episodes == 1
        await store.aclose()
        assert await tables(postgres, name) == {*TABLES, "migration"}
        assert await ask(postgres, "SELECT to_regnamespace('public') IS NOT NULL") == [(True,)]
    finally:
        await drop(postgres, name)


@pytest.mark.parametrize("name", REFUSED)
async def test_a_name_that_would_become_another_is_refused(name: str) -> None:
    """What Postgres would cut, refuse or confuse is a ConfigError before anything is sent."""
    with pytest.raises(ConfigError, match="schema's name"):
        await open_store("postgresql://nobody@127.0.0.1:1/none", schema=name)
    with pytest.raises(ConfigError, match="schema's name"):
        ddl(name)


@pytest.mark.skipif("MEMKIT_SHARED" not in os.environ, reason="MEMKIT_SHARED names no folder")
def test_the_published_names_are_refused_or_kept() -> None:
    """Each published hostile name is either refused or quoted to the very same name."""
    cases = json.loads((Path(os.environ["MEMKIT_SHARED"]) / "hostile_inputs.json").read_text())
    (names,) = (each["input"]["schema_names"] for each in cases if each["id"] == "D12")
    kept = []
    for name in names:
        with suppress(ConfigError):
            kept.append(quoted(name))
    assert len(names) == 9
    assert [each[1:-1].replace('""', '"') for each in kept] == [*names[:4], ".."]


async def test_sixteen_that_start_together_all_get_their_schema(postgres: str) -> None:
    """CREATE IF NOT EXISTS fails for all but one; under the lock none fails: 0 of 160."""
    failed = []
    for _ in range(10):
        name = new_schema()
        opening = [open_store(postgres, schema=name, min_size=0, max_size=1) for _ in range(16)]
        opened = await asyncio.gather(*opening, return_exceptions=True)
        failed += [each for each in opened if isinstance(each, BaseException)]
        for each in opened:
            if not isinstance(each, BaseException):
                await each.aclose()
        assert len(await tables(postgres, name)) == len(TABLES) + 1
        await drop(postgres, name)
    assert failed == []


async def test_no_lock_outlives_a_migration(postgres: str, fresh: str) -> None:
    """The lock ends with its transaction, also where that fails."""
    store = await open_store(postgres, schema=fresh)
    await store.aclose()
    await tell(postgres, f'DROP TABLE "{fresh}".migration')
    with pytest.raises(StoreCorrupt, match=r"not what memkit made.*\(42P07\)"):
        await open_store(postgres, schema=fresh)
    assert await ask(postgres, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'") == [
        (0,)
    ]


async def test_a_newer_schema_is_refused_and_left_alone(postgres: str, fresh: str) -> None:
    """A schema of a newer memkit is `SchemaTooNew`, and nothing in it is touched."""
    await tell(
        postgres,
        f"""CREATE SCHEMA "{fresh}"; CREATE TABLE "{fresh}".migration (number INT, name TEXT);
            INSERT INTO "{fresh}".migration VALUES (99, 'from the future')""",
    )
    for auto_migrate in (True, False):
        with pytest.raises(SchemaTooNew) as caught:
            await open_store(postgres, schema=fresh, auto_migrate=auto_migrate)
        assert (caught.value.found, caught.value.supported) == (99, supported())
    assert await tables(postgres, fresh) == {"migration"}


async def test_without_auto_migrate_nothing_is_made(postgres: str, fresh: str) -> None:
    """`auto_migrate = false` runs no DDL; calls say what is missing until it is there."""
    store = await open_store(postgres, schema=fresh, auto_migrate=False)
    with pytest.raises(StoreUnavailable, match="memkit migrate"):
        await store.append([an_episode("tea")])
    dry = await store.migrate(dry_run=True)
    assert (dry.found, dry.now) == (0, supported())
    assert dry.applied == tuple(each.name for each in migrations())
    assert await tables(postgres, fresh) == set()
    other = await open_store(postgres, schema=fresh)
    assert (await store.append([an_episode("tea")]))[0].stored == 1
    assert (await store.migrate()).applied == ()
    await other.aclose()
    await store.aclose()


async def test_the_printed_script_makes_what_migrating_makes(postgres: str, fresh: str) -> None:
    """Whoever runs the printed DDL by hand has the schema that `migrate` makes."""
    by_hand = new_schema()
    await tell(postgres, ddl(by_hand))
    await (await open_store(postgres, schema=fresh)).aclose()

    async def shape(schema: str) -> list[tuple[str, ...]]:
        columns = await ask(
            postgres,
            """SELECT table_name, column_name, data_type, is_nullable, column_default
                 FROM information_schema.columns WHERE table_schema = $1 ORDER BY 1, 2""",
            schema,
        )
        indexes = await ask(
            postgres,
            "SELECT replace(indexdef, $1, '') FROM pg_indexes WHERE schemaname = $1 ORDER BY 1",
            schema,
        )
        return columns + indexes

    assert await shape(by_hand) == await shape(fresh)
    store = await open_store(postgres, schema=by_hand, auto_migrate=False)
    assert store.ddl() == ddl(by_hand)
    assert (await store.migrate(dry_run=True)).applied == ()
    await store.aclose()
    await drop(postgres, by_hand)


async def test_a_role_with_rights_to_rows_only_can_do_everything_else(
    postgres: str, fresh: str
) -> None:
    """Where the schema is up to date, opening creates nothing and asks for no right to."""
    await tell(postgres, ddl(fresh))
    role = new_schema()
    await tell(
        postgres,
        f"""CREATE ROLE {role} LOGIN;
            GRANT USAGE ON SCHEMA "{fresh}" TO {role};
            GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA "{fresh}" TO {role}""",
    )
    try:
        store = await open_store(as_role(postgres, role), schema=fresh)
        await store.append([an_episode("tea")])
        await store.apply(HERE, Changes(add=(an_item("Likes tea"),)))
        assert len((await store.find(a_query(strongest=5))).strongest) == 1
        await store.aclose()
        with pytest.raises(StoreReadOnly):
            await open_store(as_role(postgres, role), schema=new_schema())
    finally:
        await tell(postgres, f"DROP OWNED BY {role}; DROP ROLE {role}")


def as_role(url: str, role: str) -> str:
    """The URL of the same database for another role."""
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{role}@{rest.rpartition('@')[2]}"


async def test_no_search_path_leads_anywhere(postgres: str, fresh: str) -> None:
    """With tables of the same names first in search_path, memkit finds its own all the same."""
    decoy = new_schema()
    traps = "; ".join(f'CREATE TABLE "{decoy}".{table} (trap INT)' for table in TABLES)
    await tell(postgres, f'CREATE SCHEMA "{decoy}"; {traps}')
    mark = "&" if "?" in postgres else "?"
    store = await open_store(f"{postgres}{mark}search_path={decoy}", schema=fresh)
    await store.append([an_episode("tea")])
    await store.apply(HERE, Changes(add=(an_item("Likes tea"),)))
    query = Query(scopes=(HERE,), now=NOW, strongest=5, tokens=("tea",))
    assert len((await store.find(query)).text) == 1
    await store.aclose()
    await drop(postgres, decoy)


async def test_a_memory_migrates_unless_it_was_told_not_to(postgres: str, fresh: str) -> None:
    """`migrate = false`, or the store's own `auto_migrate = false`, runs no DDL; else it does."""
    url = with_settings(postgres, schema=fresh)
    forbidden: list[dict[str, Any]] = [
        {"store": url, "migrate": False},
        {"store": {"url": url, "auto_migrate": False}},
    ]
    for config in forbidden:
        async with open_memory(Config.model_validate(config)) as memory:
            with pytest.raises(StoreUnavailable, match="memkit migrate"):
                await memory.stats()
        assert await tables(postgres, fresh) == set()
    async with open_memory(url) as memory:
        assert (await memory.stats()).items == 0
