"""The schema: how it comes about, and that it is what the code means."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from memkit.errors import SchemaTooNew
from memkit.models import MemoryItem
from memkit.testing.values import an_episode
from memkit_backends.relational.messages import NO_KEY, dump_offsets, key_digest, load_offsets
from memkit_backends.relational.sessions import Place, SessionLog, Sessions
from memkit_backends.sqlite import migrating, open_store
from memkit_backends.sqlite.connecting import LOG_PAGES
from memkit_backends.sqlite.store import SQLiteStore
from memkit_backends.sqlite.upkeep import may_lose_commits

pytestmark = pytest.mark.anyio


def test_migrations_are_numbered_without_gaps() -> None:
    """Names are NNNN_verb_noun, from 1 on."""
    steps = migrating.migrations()
    assert [step.number for step in steps] == list(range(1, len(steps) + 1))
    assert all(len(step.name.split("_")) >= 3 for step in steps)


def test_an_empty_file_becomes_a_store_in_one_step(tmp_path: Path) -> None:
    """All migrations together are one transaction: a failure leaves nothing behind."""
    connection = sqlite3.connect(tmp_path / "x.db", isolation_level=None)
    connection.set_authorizer(
        lambda action, name, *_: (
            sqlite3.SQLITE_DENY
            if action == sqlite3.SQLITE_CREATE_TABLE and name == "tombstone"
            else sqlite3.SQLITE_OK
        )
    )
    with pytest.raises(sqlite3.DatabaseError):
        migrating.migrate(connection)
    connection.set_authorizer(None)
    assert connection.execute("SELECT count(*) FROM sqlite_schema").fetchone() == (0,)
    report = migrating.migrate(connection)
    assert (report.found, report.now, len(report.applied)) == (0, report.now, report.now)
    assert migrating.migrate(connection).applied == ()
    connection.close()


def test_a_dry_run_applies_nothing(tmp_path: Path) -> None:
    """`dry_run` names what would be applied and leaves the file as it is."""
    connection = sqlite3.connect(tmp_path / "x.db", isolation_level=None)
    report = migrating.migrate(connection, dry_run=True)
    assert report.applied == tuple(step.name for step in migrating.migrations())
    assert connection.execute("SELECT count(*) FROM sqlite_schema").fetchone() == (0,)
    connection.execute("PRAGMA user_version = 99")
    with pytest.raises(SchemaTooNew):
        migrating.migrate(connection, dry_run=True)
    connection.close()


def test_a_trigger_is_one_statement() -> None:
    """Semicolons inside a trigger, a comment or a text end no statement."""
    script = """
    -- one; two
    CREATE TRIGGER a AFTER INSERT ON b BEGIN
        INSERT INTO c VALUES (';');
        INSERT INTO d VALUES (1);
    END;
    SELECT 1;
    """
    first, second = migrating.statements(script)
    assert first.strip().endswith("END;")
    assert second.strip() == "SELECT 1;"


async def test_items_have_a_column_for_each_value(path: Path, store: SQLiteStore) -> None:
    """No field of an item is without its place in the schema."""
    del store
    connection = sqlite3.connect(path)
    columns = {row[1] for row in connection.execute("PRAGMA table_info(item)")}
    connection.close()
    elsewhere = {"scope": "scope_pk", "sources": "pk"}
    fields = {elsewhere.get(name, name) for name in MemoryItem.model_fields}
    assert fields <= columns
    assert columns - fields == {"content_hash", "session_id", "position", "expires_at"}


async def test_settings_that_durability_rests_on(path: Path) -> None:
    """A log that survives the process, synced as asked for; readers never fold it in."""
    for synchronous, level in (("full", 2), ("normal", 1)):
        store = await open_store(path, synchronous=synchronous)

        def setting(name: str, connection: sqlite3.Connection) -> object:
            return connection.execute(f"PRAGMA {name}").fetchone()[0]

        assert await store._file.run(lambda c: setting("synchronous", c)) == level
        assert await store._file.run(lambda c: setting("journal_mode", c)) == "wal"
        assert await store._file.run(lambda c: setting("foreign_keys", c)) == 1
        assert await store._file.run(lambda c: setting("journal_size_limit", c)) == 64 << 20
        assert await store._file.inspect(lambda c: setting("wal_autocheckpoint", c)) == 0
        assert await store._file.inspect(lambda c: setting("query_only", c)) == 1
        await store.aclose()


async def test_the_log_does_not_grow_without_end(path: Path, store: SQLiteStore) -> None:
    """Readers let go of what they read, so that the log is used again and again."""
    for number in range(600):
        await store.append([an_episode("tea " * 10_000, session_id=f"s{number}")])
        await store.stats()
    log = path.with_name("memory.db-wal").stat().st_size
    bound = 1.2 * LOG_PAGES * 4096
    assert log < bound < 600 * 40_000


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ((3, 6, 23), False),
        ((3, 7, 0), True),
        ((3, 40, 1), True),
        ((3, 44, 5), True),
        ((3, 44, 6), False),
        ((3, 45, 0), True),
        ((3, 50, 6), True),
        ((3, 50, 7), False),
        ((3, 51, 0), True),
        ((3, 51, 2), True),
        ((3, 51, 3), False),
        ((4, 0, 0), False),
    ],
)
def test_versions_that_may_lose_commits(version: tuple[int, int, int], *, expected: bool) -> None:
    """The race between a writer and a reset of the log is known by version."""
    assert may_lose_commits(version) is expected


async def test_check_names_that_version(store: SQLiteStore) -> None:
    """An operator is told of the SQLite that is in use, as a finding and not as a warning."""
    codes = {each.code for each in await store.check()}
    assert ("sqlite.wal-reset" in codes) is may_lose_commits(sqlite3.sqlite_version_info)


def test_what_is_known_of_sessions_is_bounded() -> None:
    """The sessions used last are remembered, until their keys are too many."""
    sessions = Sessions(kept=30)
    for number in range(10):
        log = SessionLog(number)
        digests = b"".join(key_digest(f"{number}-{each}") for each in range(9))
        log.extend(0, digests, digests)
        sessions.put(("scope", str(number)), log)
    assert [bool(sessions.get(("scope", str(n)))) for n in range(10)] == [False] * 7 + [True] * 3
    big = SessionLog(99)
    digests = b"".join(key_digest(str(each)) for each in range(100))
    big.extend(0, digests, digests)
    sessions.put(("scope", "big"), big)
    assert sessions.get(("scope", "big")) is big
    assert sessions.get(("scope", "9")) is None


def test_a_log_grows_at_its_end_alone() -> None:
    """A row that is known already, or does not follow, changes nothing."""
    log = SessionLog(1)
    one, two = key_digest("a"), key_digest("b")
    log.extend(0, one + NO_KEY, two + two)
    log.extend(0, two, one)
    log.extend(5, two, one)
    assert log.head == 2
    assert log.places == {one: Place(0, two)}


def test_an_older_log_never_replaces_a_newer_one() -> None:
    """What was seen last of a session stays, in whatever order callers come back."""
    sessions = Sessions()
    newer, older = SessionLog(1, head=9), SessionLog(1, head=4)
    sessions.put(("s", "1"), newer)
    sessions.put(("s", "1"), older)
    assert sessions.get(("s", "1")) is newer


def test_offsets_survive_their_row() -> None:
    """Forgotten places are a list, all of them, or none."""
    assert load_offsets(dump_offsets({3, 1}), 5) == {1, 3}
    assert load_offsets("all", 3) == {0, 1, 2}
    assert load_offsets(None, 3) == frozenset()
