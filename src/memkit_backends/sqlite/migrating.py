"""Numbered migrations, applied in one transaction under the writer's lock."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from importlib.resources import files
from typing import NamedTuple

from memkit.errors import SchemaTooNew
from memkit.models import Migrated
from memkit_backends.sqlite.files import APPLICATION_ID


class Migration(NamedTuple):
    """One step of the schema: its number, its name, its statements."""

    number: int
    name: str
    script: str


def migrations() -> list[Migration]:
    """All steps, in order."""
    found = files("memkit_backends.sqlite.migrations").iterdir()
    scripts = sorted((each for each in found if each.name.endswith(".sql")), key=lambda f: f.name)
    return [
        Migration(int(each.name[:4]), each.name.removesuffix(".sql"), each.read_text("utf-8"))
        for each in scripts
    ]


def supported() -> int:
    """The schema version that this memkit writes."""
    return migrations()[-1].number


def version(connection: sqlite3.Connection) -> int:
    """The schema version of the store; `SchemaTooNew` if this memkit does not know it."""
    found = int(connection.execute("PRAGMA user_version").fetchone()[0])
    if found > supported():
        raise SchemaTooNew(found, supported=supported())
    return found


def migrate(connection: sqlite3.Connection, *, dry_run: bool = False) -> Migrated:
    """Bring the schema up to date, or with `dry_run` say what that would apply."""
    if dry_run or version(connection) == supported():
        return report(version(connection))
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Others may have been faster while this one waited for the lock.
        done = report(version(connection))
        for migration in migrations()[done.found :]:
            for statement in statements(migration.script):
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {supported()}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    return done


def report(found: int) -> Migrated:
    """What there is to apply to a store of that version."""
    applied = tuple(migration.name for migration in migrations()[found:])
    return Migrated(found=found, now=supported(), applied=applied)


def statements(script: str) -> Iterator[str]:
    """The statements of a script, one by one."""
    # executescript() would commit first; a trigger's body holds semicolons of its own.
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
