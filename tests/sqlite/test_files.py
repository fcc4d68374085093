"""The file before it is used: what is refused, and that refusing leaves it as it is."""

# ruff: noqa: ASYNC240  # a test's own files, on a loop that serves nobody else

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pytest

from memkit.errors import (
    ConfigError,
    SchemaTooNew,
    StoreCorrupt,
    StoreError,
    StoreReadOnly,
    StoreUnavailable,
)
from memkit.models import Changes, Episode
from memkit.testing.values import HERE, an_episode, an_item
from memkit_backends.sqlite import open_store
from memkit_backends.sqlite.mounts import refuse_shared
from memkit_backends.sqlite.options import path_of

pytestmark = pytest.mark.anyio


async def filled(path: Path, episodes: int = 1) -> list[Episode]:
    """A closed store at `path`, and what was said in it."""
    said = [an_episode(f"tea number {number}", keys=[f"k{number}"]) for number in range(episodes)]
    store = await open_store(path, synchronous="normal")
    await store.append(said)
    await store.apply(HERE, Changes(add=(an_item("Likes tea"),)))
    await store.aclose()
    return said


async def refused(path: Path) -> type[StoreError]:
    """The kind of error with which opening `path` fails, its bytes being what they were."""
    before = path.read_bytes()
    with pytest.raises(StoreError) as caught:
        await open_store(path)
    assert path.read_bytes() == before
    assert [each.name for each in path.parent.iterdir()] == [path.name]
    return caught.type


@pytest.mark.parametrize(
    "content",
    [b"", b"once upon a time", b"\0" * 4096, b"SQLite format 3\0", os.urandom(8192)],
    ids=["empty", "text", "zeros", "only the magic", "noise"],
)
async def test_what_is_no_store_is_left_alone(path: Path, content: bytes) -> None:
    """A file that is not a memkit store is refused as such and keeps its bytes."""
    path.write_bytes(content)
    assert await refused(path) is StoreCorrupt


async def test_another_programs_database_is_left_alone(path: Path) -> None:
    """An SQLite file without memkit's mark is somebody else's."""
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE theirs (id INTEGER)")
    connection.close()
    assert await refused(path) is StoreCorrupt


async def test_a_store_that_was_emptied_is_not_a_new_one(path: Path) -> None:
    """A store cut to nothing is damage, never an empty memory."""
    await filled(path)
    os.truncate(path, 0)
    assert await refused(path) is StoreCorrupt


async def test_a_log_without_its_file_is_not_a_new_store(path: Path) -> None:
    """Where the log is left, the file is missing rather than new."""
    path.with_name("memory.db-wal").write_bytes(b"what was committed last")
    with pytest.raises(StoreCorrupt):
        await open_store(path)
    assert not path.exists()


async def test_a_newer_schema_is_refused_before_anything_is_touched(path: Path) -> None:
    """An older memkit neither writes to a newer store nor stamps it down."""
    await filled(path)
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode = DELETE")
    connection.execute("PRAGMA user_version = 999")
    connection.close()
    assert await refused(path) is SchemaTooNew


async def test_a_newer_schema_still_in_the_log_is_refused(path: Path) -> None:
    """The version is read through the log: the header of the file may be older."""
    await filled(path)
    newer = sqlite3.connect(path, isolation_level=None)
    newer.execute("PRAGMA user_version = 999")
    with pytest.raises(SchemaTooNew) as caught:
        await open_store(path)
    newer.close()
    assert (caught.value.found, caught.value.supported) == (999, 1)


async def test_damage_anywhere_is_said_and_never_an_empty_memory(
    path: Path, tmp_path: Path
) -> None:
    """Bytes flipped, zeroed or cut off: everything is read as it was, or `StoreCorrupt`."""
    said = await filled(path, episodes=40)
    whole, random = path.read_bytes(), Random(7)
    for attempt in range(50):
        broken = tmp_path / f"broken{attempt}.db"
        broken.write_bytes(damaged(whole, random))
        try:
            store = await open_store(broken, synchronous="normal")
        except StoreCorrupt:
            continue
        try:
            page = await store.scan("episodes", limit=100)
        except StoreCorrupt:
            continue
        finally:
            await store.aclose()
        assert len(page.rows) == len(said), attempt


def damaged(whole: bytes, random: Random) -> bytes:
    """`whole` with one of three kinds of damage, beyond its first page so that it may open."""
    at = random.randrange(0, len(whole) - 512)
    kind = random.choice(["cut", "zeros", "flip"])
    if kind == "cut":
        return whole[:at]
    if kind == "zeros":
        return whole[:at] + bytes(512) + whole[at + 512 :]
    return whole[:at] + bytes(byte ^ 0xFF for byte in whole[at : at + 64]) + whole[at + 64 :]


async def test_a_missing_directory_is_said(tmp_path: Path) -> None:
    """memkit makes files, not directories."""
    with pytest.raises(StoreUnavailable, match="does not exist"):
        await open_store(tmp_path / "nowhere" / "memory.db")
    with pytest.raises(StoreUnavailable, match="is a directory"):
        await open_store(tmp_path)


async def test_only_the_owner_may_read_the_file(path: Path) -> None:
    """What was remembered is private: the file and its companions have mode 0600."""
    store = await open_store(path)
    await store.append([an_episode("tea")])
    modes = {each.name: stat.S_IMODE(each.stat().st_mode) for each in path.parent.iterdir()}
    await store.aclose()
    assert modes == dict.fromkeys(("memory.db", "memory.db-wal", "memory.db-shm"), 0o600)


async def test_closing_leaves_one_file(path: Path) -> None:
    """The log is folded in on closing, and no draft of the file is left behind."""
    await filled(path)
    assert [each.name for each in path.parent.iterdir()] == ["memory.db"]


async def test_read_only_reads_and_refuses_to_write(path: Path) -> None:
    """`read_only` is for looking: it writes nothing, and says so."""
    said = await filled(path)
    store = await open_store(path, read_only=True)
    assert [each.id for each in (await store.scan("episodes")).rows] == [said[0].id]
    with pytest.raises(StoreReadOnly):
        await store.append([an_episode("tea")])
    with pytest.raises(StoreReadOnly):
        await store.erase()
    assert (await store.check()) is not None
    await store.aclose()
    with pytest.raises(StoreReadOnly):
        await open_store(path.with_name("absent.db"), read_only=True)


@contextmanager
def nobody() -> Iterator[None]:
    """As a user to whom permissions apply: root may write to everything."""
    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(user)


async def test_an_unwritable_place_is_said_on_opening() -> None:
    """A store that cannot be written is refused when it is opened, not at the first write."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "memory.db"
        await filled(path)
        path.chmod(0o444)
        Path(folder).chmod(0o555)
        with nobody(), pytest.raises(StoreReadOnly):
            await open_store(path)


@pytest.mark.parametrize(
    "kind", ["nfs", "nfs4", "cifs", "9p", "virtiofs", "fuse.sshfs", "vboxsf", "fakeowner"]
)
async def test_a_shared_file_system_is_refused(tmp_path: Path, kind: str) -> None:
    """A write-ahead log is damaged where openers share no memory, so it is never begun there."""
    place = tmp_path / "mounted here"
    place.mkdir()
    mounts = tmp_path / "mounts"
    escaped = str(place).replace(" ", r"\040")
    mounts.write_text(f"root / ext4 rw 0 0\nserver:/x {escaped} {kind} rw 0 0\n")
    with pytest.raises(ConfigError, match=kind.removeprefix("fuse.")):
        await open_store(place / "memory.db", mounts=mounts)
    assert list(place.iterdir()) == []
    await (await open_store(tmp_path / "beside.db", mounts=mounts)).aclose()


def test_the_innermost_and_latest_mount_counts(tmp_path: Path) -> None:
    """A local disk inside a shared tree is local, and a later mount covers an earlier one."""
    mounts = tmp_path / "mounts"
    mounts.write_text("a / nfs rw\nb /data ext4 rw\nc /data/x nfs4 rw\nd /data/x xfs rw\n")
    refuse_shared(Path("/data/memory.db"), mounts)
    refuse_shared(Path("/data/x/memory.db"), mounts)
    refuse_shared(Path("/memory.db"), tmp_path / "no such list")
    with pytest.raises(ConfigError):
        refuse_shared(Path("/memory.db"), mounts)


@pytest.mark.parametrize(
    ("location", "path"),
    [
        ("sqlite:///memory.db", Path("memory.db")),
        ("sqlite:////var/lib/memory.db", Path("/var/lib/memory.db")),
        ("sqlite:///with%20blank.db", Path("with blank.db")),
        ("sqlite://:memory:", None),
        ("sqlite:///:memory:", None),
        (":memory:", None),
        ("plain/memory.db", Path("plain/memory.db")),
    ],
)
def test_a_location_names_a_file(location: str, path: Path | None) -> None:
    """URLs are relative with three slashes, absolute with four; a path is a path."""
    assert path_of(location) == path


@pytest.mark.parametrize(
    "location", ["", "sqlite://", "sqlite:///", "sqlite://host/x.db", "sqlite:///x.db?mode=rw"]
)
def test_a_location_that_names_nothing_is_refused(location: str) -> None:
    """A mistaken URL is an error of configuration, never a file somewhere else."""
    with pytest.raises(ConfigError):
        path_of(location)


@pytest.mark.parametrize(
    "options",
    [
        {"synchronous": "off"},
        {"busy_timeout": -1},
        {"readers": 0},
        {"location": ":memory:", "read_only": True},
    ],
)
async def test_options_that_mean_nothing_are_refused(path: Path, options: dict[str, str]) -> None:
    """An option out of its range is an error before any file is made."""
    with pytest.raises(ConfigError):
        await open_store(**{"location": path, **options})
    assert not path.exists()
