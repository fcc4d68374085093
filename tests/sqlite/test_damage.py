"""Damage that SQLite itself does not see: rows and tables that memkit cannot have written."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path

import pytest

from memkit.errors import StoreCorrupt, StoreError, StoreUnavailable
from memkit.models import Changes
from memkit.testing.values import HERE, MINUTE, NOW, an_episode, an_item
from memkit_backends.relational.driver import Transaction
from memkit_backends.sqlite import open_store
from memkit_backends.sqlite.store import SQLiteStore

pytestmark = pytest.mark.anyio

Use = Callable[[SQLiteStore], Awaitable[object]]


async def damaged(path: Path, *statements: str) -> SQLiteStore:
    """A store with an episode and an item, in which somebody has meddled."""
    store = await open_store(path)
    await store.append([an_episode("tea", keys=["k"])])
    await store.apply(HERE, Changes(add=(an_item("Likes tea"),)))
    await store.aclose()
    with closing(sqlite3.connect(path, isolation_level=None)) as meddler:
        meddler.execute("PRAGMA ignore_check_constraints = ON")
        meddler.execute("PRAGMA writable_schema = ON")
        for statement in statements:
            meddler.execute(statement)
    return await open_store(path)


def replace(path: Path, old: bytes, new: bytes) -> None:
    """Write other bytes over those in the file."""
    path.write_bytes(path.read_bytes().replace(old, new))


@pytest.mark.parametrize(
    ("statement", "use"),
    [
        ("UPDATE episode SET digests = 5", lambda store: store.tail(HERE, "s-1", limit=9)),
        ("UPDATE episode SET digests = 'x'", lambda store: store.tail(HERE, "s-1", limit=9)),
        ("UPDATE episode SET id = x'ff'", lambda store: store.scan("episodes")),
        ("UPDATE item SET kind = x'ff'", lambda store: store.stats()),
        ("UPDATE item SET created_at = 'x'", lambda store: store.scan("items")),
    ],
)
async def test_a_row_that_makes_no_sense_is_damage(path: Path, statement: str, use: Use) -> None:
    """A value of the wrong sort is `StoreCorrupt`, wherever it is read."""
    store = await damaged(path, statement)
    with pytest.raises(StoreCorrupt):
        await use(store)
    await store.aclose()


async def test_pending_episodes_of_no_session_are_damage(path: Path) -> None:
    """A scope with something due and nothing to take is not looked at for ever."""
    store = await damaged(path, "DELETE FROM session")
    with pytest.raises(StoreCorrupt, match="in no session"):
        await store.claim(now=NOW, budget=1_000, lease=MINUTE)
    await store.aclose()


async def test_a_table_that_is_another_is_damage(path: Path) -> None:
    """A statement that SQLite cannot carry out means that the schema is not ours any more."""
    rename = "UPDATE sqlite_master SET sql = replace(sql, 'superseded_by', 'superseded_xx')"
    store = await damaged(path, rename)
    with pytest.raises(StoreCorrupt):
        await store.scan("items")
    await store.aclose()


async def test_work_that_stumbles_over_a_damaged_file_says_so(path: Path) -> None:
    """An index that lacks rows may break any work; then the file is to blame, and only then."""

    async def stumble(_: Transaction) -> None:
        max([])

    unsound = "UPDATE episode SET status = 'x'"  # which the table forbids
    store = await damaged(path, unsound)
    with pytest.raises(StoreCorrupt):
        await store._driver.read(stumble)
    with pytest.raises(StoreCorrupt):
        await store._driver.write(stumble)
    await store.aclose()
    sound = await open_store(path.with_name("sound.db"))
    with pytest.raises(ValueError, match="empty"):
        await sound._driver.read(stumble)
    await sound.aclose()


async def test_a_schema_that_is_not_even_text_is_damage(path: Path) -> None:
    """What sqlite3 cannot decode, be it its own complaint, is `StoreCorrupt`."""
    await (await damaged(path)).aclose()
    replace(path, b"CREATE TABLE job", b"CREATE TABLE \xff\xfe\xff")
    with pytest.raises(StoreCorrupt):
        await open_store(path)


async def test_check_finds_rows_that_an_index_lacks(path: Path) -> None:
    """`check` compares tables with their indexes, which no other look at the file does."""
    of_others = "UPDATE sqlite_master SET sql = replace(sql, 'active', 'x')"
    store = await damaged(path, f"{of_others} WHERE name = 'item_strongest'")
    assert [each.code for each in await store.check() if each.level == "error"]
    await store.aclose()


@pytest.mark.parametrize("name", ["pipe", "x" * 300, "x" * 252])
async def test_a_path_that_cannot_be_a_file_is_said(tmp_path: Path, name: str) -> None:
    """A pipe is not waited for, and a name too long is a `StoreError`, never an `OSError`."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(StoreUnavailable):
        await open_store(tmp_path / name)
    with pytest.raises(StoreError):
        await open_store(tmp_path / name, read_only=True)
