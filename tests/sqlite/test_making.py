"""A store that is not there, and was not to be made."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Mapping
from pathlib import Path

import pytest

from memkit import Scope, open_memory
from memkit.errors import StoreCorrupt, StoreUnavailable
from memkit_backends.sqlite import open_store
from memkit_backends.sqlite.migrating import migrations

pytestmark = pytest.mark.anyio

SCOPE = Scope("ann")


@pytest.mark.parametrize("settings", [{"migrate": False}, {"store": {"auto_migrate": False}}])
async def test_a_memory_makes_no_file_it_was_told_not_to(
    path: Path, settings: Mapping[str, object]
) -> None:
    """Whichever setting forbids it, calls say what is missing, and nothing appears."""
    environ = {"store": {"use": "sqlite", "path": str(path)}}
    environ["store"] |= settings.get("store", {})  # type: ignore[arg-type]  # a table of settings
    async with open_memory(**{**settings, **environ}) as memory:
        for _ in range(2):
            with pytest.raises(StoreUnavailable, match="memkit migrate"):
                await memory.stats()
        with pytest.raises(StoreUnavailable, match="memkit migrate"):
            await memory.remember(SCOPE, "likes tea")
        assert list(path.parent.iterdir()) == []


async def test_a_dry_run_says_what_a_migration_then_does(path: Path) -> None:
    """What is planned for a store that is not there is to make it; the run makes it usable."""
    store = await open_store(path, auto_migrate=False)
    planned = await store.migrate(dry_run=True)
    assert list(path.parent.iterdir()) == []
    assert planned.found == 0
    assert planned.applied == tuple(each.name for each in migrations())
    assert await store.migrate() == planned
    assert (await store.migrate()).applied == (await store.migrate(dry_run=True)).applied == ()
    assert (await store.stats()).items == 0
    await store.aclose()


async def test_a_relative_path_begins_where_the_store_was_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Connections are made at the first call, wherever the process has gone by then."""
    for folder in ("there", "elsewhere"):
        (tmp_path / folder).mkdir()
    monkeypatch.chdir(tmp_path / "there")
    async with open_memory("sqlite:///memory.db") as memory:
        monkeypatch.chdir(tmp_path / "elsewhere")
        await memory.remember(SCOPE, "likes tea")
    assert (tmp_path / "there" / "memory.db").is_file()
    assert list((tmp_path / "elsewhere").iterdir()) == []


async def test_what_somebody_else_makes_is_found(path: Path) -> None:
    """A process that waits for the operator need not be started again."""
    store = await open_store(path, auto_migrate=False)
    with pytest.raises(StoreUnavailable):
        await store.stats()
    await (await open_store(path)).aclose()
    found = await asyncio.gather(*(store.stats() for _ in range(5)))
    assert [each.items for each in found] == [0] * 5
    await store.aclose()


async def test_closing_what_was_never_there_is_fine(path: Path) -> None:
    """Twice, too."""
    store = await open_store(path, auto_migrate=False)
    await store.aclose()
    await store.aclose()
    assert list(path.parent.iterdir()) == []


async def test_an_older_schema_is_left_as_it_is(path: Path) -> None:
    """Without `auto_migrate` it is opened, and a call says what to run."""
    await (await open_store(path)).aclose()
    connection = sqlite3.connect(path)
    connection.execute("DROP TABLE job")
    connection.execute("PRAGMA user_version = 0")
    connection.close()
    store = await open_store(path, auto_migrate=False)
    assert (await store.migrate(dry_run=True)).found == 0
    with pytest.raises(StoreCorrupt, match="memkit migrate"):
        await store.scan("jobs")
    await store.aclose()


async def test_a_dry_run_needs_no_right_to_write(path: Path) -> None:
    """A store that is only read says that nothing is left to do."""
    await (await open_store(path)).aclose()
    store = await open_store(path, read_only=True)
    assert (await store.migrate(dry_run=True)).applied == ()
    await store.aclose()


async def test_in_memory_there_is_no_file_to_spare() -> None:
    """A database in memory has its schema from the beginning."""
    async with open_memory("sqlite://:memory:", migrate=False) as memory:
        assert (await memory.stats()).items == 0
