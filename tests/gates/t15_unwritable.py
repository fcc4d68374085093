"""T15: a place where no store can be kept is refused on opening, by the right name, untouched."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Literal, NamedTuple

from memkit.errors import (
    ConfigError,
    MemkitError,
    StoreCorrupt,
    StoreError,
    StoreReadOnly,
    StoreUnavailable,
)
from memkit.testing.values import an_episode
from memkit_backends.sqlite import open_store
from tests.gates.backends import SQLITE, GateStore, file_of
from tests.gates.children import Child, ChildError, Report
from tests.gates.disks import is_done, mounted
from tests.gates.verdict import Gate, Verdict

NOBODY = 65534
"""Whoever root becomes here: root may write everywhere."""
LONG = "x" * 300

Way = Literal["write", "read"]
Expected = type[MemkitError] | None


class Case(NamedTuple):
    """What is done to the folder of a store, how it is then opened, and how that ends."""

    name: str
    prepare: Callable[[Path], object]
    """Takes the store's path, at which a store is already."""
    expected: Expected
    way: Way = "write"
    inside: str = "memory.db"
    """What is opened, from the folder of that store."""
    on_a_disk: bool = False
    """Whether the folder is a disk of its own."""
    whose: int = NOBODY
    """Whose the store and its folder are before it is prepared."""


def give(*paths: Path) -> None:
    """Let these be of whoever opens the store."""
    if os.getuid() == 0:
        for path in paths:
            with suppress(OSError):  # on a disk mounted read-only they are so already
                os.chown(path, NOBODY, NOBODY, follow_symlinks=False)


def _foreign(path: Path) -> None:
    path.unlink()
    with closing(sqlite3.connect(path)) as theirs:
        theirs.execute("CREATE TABLE theirs (id INTEGER)")


def _protect(path: Path) -> None:
    give(path.parent, path)
    is_done("mount", "-o", "remount,ro", str(path.parent))


def _nothing(_: Path) -> None:
    pass


def _in_a_folder(mode: int, *, keep: bool = True) -> Callable[[Path], None]:
    def prepare(path: Path) -> None:
        if not keep:
            path.unlink()
        path.parent.chmod(mode)

    return prepare


CASES = (
    Case("as it should be", _nothing, None),
    Case("as it should be, to be read", _nothing, None, "read"),
    Case("a new file", _nothing, None, inside="new.db"),
    Case("a link to the store", lambda path: link(path, "memory.db"), None, inside="link"),
    Case("no such folder", _nothing, StoreUnavailable, inside="nowhere/memory.db"),
    Case("no such folder, to be read", _nothing, StoreUnavailable, "read", "nowhere/memory.db"),
    Case("a folder", _nothing, StoreUnavailable, inside="."),
    Case("a file for a folder", _nothing, StoreUnavailable, inside="memory.db/memory.db"),
    Case("a link to nowhere", lambda p: link(p, "nowhere/x.db"), StoreUnavailable, inside="link"),
    Case("a link to itself", lambda path: link(path, "link"), StoreUnavailable, inside="link"),
    Case("a name too long", _nothing, StoreUnavailable, inside=LONG),
    Case("a name too long for a log", _nothing, StoreUnavailable, inside=LONG[:252]),
    Case("a pipe", lambda p: os.mkfifo(p.parent / "pipe"), StoreUnavailable, inside="pipe"),
    Case("a device", lambda path: link(path, "/dev/zero"), StoreReadOnly, inside="link"),
    Case("no name", _nothing, ConfigError, inside=""),
    Case("no name that can be", _nothing, ConfigError, inside="a\0b"),
    Case("a file not to be written", lambda path: path.chmod(0o400), StoreReadOnly),
    Case("a file not to be read", lambda path: path.chmod(0o000), StoreReadOnly),
    Case("a file not to be read, to be read", lambda p: p.chmod(0o000), StoreReadOnly, "read"),
    Case("a folder not to be written", _in_a_folder(0o500), StoreReadOnly),
    Case("a new file in one", _in_a_folder(0o500, keep=False), StoreReadOnly),
    Case("a folder not to be entered", _in_a_folder(0o000), StoreReadOnly),
    Case("nothing to be read", lambda path: path.unlink(), StoreReadOnly, "read"),
    Case("a file to be read alone", lambda path: path.chmod(0o400), None, "read"),
    Case("a folder to be read alone", _in_a_folder(0o500), None, "read"),
    Case("text", lambda path: path.write_text("once upon a time"), StoreCorrupt),
    Case("another program's database", _foreign, StoreCorrupt),
    Case("an empty file", lambda path: path.write_bytes(b""), StoreCorrupt),
)

FOR_ROOT = (
    Case("another's private file", lambda path: give(path.parent), StoreReadOnly, whose=0),
    Case("one to be read", lambda path: give(path.parent), StoreReadOnly, "read", whose=0),
    Case("another's open file", lambda p: (give(p.parent), p.chmod(0o644)), StoreReadOnly, whose=0),
    Case("another's folder", give, StoreReadOnly, whose=0),
    Case("another's open folder", lambda p: p.parent.chmod(0o755), StoreReadOnly, whose=0),
)

WITH_MOUNTS = (
    Case("a disk mounted read-only", _protect, StoreReadOnly, on_a_disk=True),
    Case("a new file on one", _protect, StoreReadOnly, inside="new.db", on_a_disk=True),
    Case("one to be read", _protect, None, "read", on_a_disk=True),
)


def link(path: Path, target: str) -> None:
    """A symbolic link beside the store."""
    (path.parent / "link").symlink_to(target)


async def opened(path: str, way: Way, *, bug: bool) -> GateStore:
    """The store there; or, with the bug, one in memory, so that the show may go on."""
    try:
        return await open_store(path, read_only=way == "read")
    except StoreError:
        if not bug:
            raise
        return await open_store(":memory:")


async def outcome(path: str, way: Way, *, bug: bool) -> str:
    """The name of the error on opening, or what can be done with the store once it is open."""
    try:
        store = await opened(path, way, bug=bug)
    except MemkitError as exc:
        return type(exc).__name__
    try:
        await store.stats()
        await store.append([an_episode("tea")])
    except MemkitError as exc:
        return f"read, then {type(exc).__name__}"
    finally:
        await store.aclose()
    return "written"


def as_nobody(path: str, way: Way, report: Report, *, bug: bool) -> None:
    """Report the outcome for somebody who is not root."""
    if os.getuid() == 0:
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
    report(asyncio.run(outcome(path, way, bug=bug)))


def wanted(case: Case) -> str:
    """The outcome that is right."""
    if case.expected is not None:
        return case.expected.__name__
    return "written" if case.way == "write" else f"read, then {StoreReadOnly.__name__}"


@contextmanager
def prepared(case: Case) -> Iterator[Path]:
    """The path of a store to which that has been done; everything can be removed afterwards."""
    with SQLITE.fresh() as location:
        path = file_of(location)
        with mounted(path.parent) if case.on_a_disk else nullcontext():
            asyncio.run(outcome(str(path), "write", bug=False))
            case.prepare(path)
            if case.whose == NOBODY:
                give(path.parent, *path.parent.iterdir())
            yield path
        path.parent.chmod(0o700)


def bytes_of(folder: Path) -> dict[str, bytes]:
    """The files of a folder and what is in them."""
    return {each.name: each.read_bytes() if each.is_file() else b"" for each in folder.iterdir()}


def miss(case: Case, *, bug: bool) -> str | None:
    """What was wrong, if anything."""
    with prepared(case) as path:
        before = bytes_of(path.parent)
        place = str(path.parent / case.inside) if case.inside else ""
        child = Child.fork(lambda report: as_nobody(place, case.way, report, bug=bug))
        try:
            child.ended(seconds=10)
        except ChildError as exc:
            return f"{case.name}: {str(exc).splitlines()[-1]}"
        if child.said != [wanted(case)]:
            return f"{case.name}: {child.said}, not {wanted(case)}"
        if case.expected is not None and bytes_of(path.parent) != before:
            return f"{case.name}: something was written"
        return None


def cases() -> Iterator[Case]:
    """Every case that this user can prepare."""
    yield from CASES
    if os.getuid() == 0:
        yield from FOR_ROOT
    with SQLITE.fresh() as location, mounted(file_of(location).parent) as can_mount:
        pass
    if can_mount:
        yield from WITH_MOUNTS


def run(_n: int, _seed: int, bug: str | None) -> Verdict:
    """Every case, each in a process of its own."""
    misses = {case.name: miss(case, bug=bool(bug)) for case in cases()}
    found = [missed for missed in misses.values() if missed]
    return Verdict(failed=len(found), facts={"cases": len(misses), "first": "; ".join(found)})


GATES = [
    Gate(
        name="T15",
        promise="a place that cannot be written is refused on opening, by name, on SQLite",
        full=1,
        run=run,
        bugs=("fall-back-to-memory",),
    )
]
