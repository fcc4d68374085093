"""File systems on which a write-ahead log does harm."""

from __future__ import annotations

import re
from pathlib import Path

from memkit.errors import ConfigError

SHARED = frozenset(
    {"nfs", "nfs4", "cifs", "smb2", "smb3", "smbfs", "ncpfs", "afs", "9p", "virtiofs", "vboxsf"}
    | {"vmhgfs", "prl_fs", "ceph", "glusterfs", "lustre", "gpfs", "beegfs", "ocfs2", "gfs2"}
    | {"davfs", "osxfs", "fakeowner", "grpcfuse", "sshfs", "vmhgfs-fuse", "s3fs", "gcsfuse"}
)
"""Types, with or without `fuse.` before them, whose openers may not share memory."""

_OCTAL = re.compile(r"\\([0-7]{3})")


def refuse_shared(path: Path, mounts: Path) -> None:
    """Raise `ConfigError` if `path` lies on a remote or shared file system.

    A write-ahead log needs memory that all openers of the file see. Where the system lists
    no mounts, nothing is known and nothing is refused.
    """
    kind = _kind(path, mounts)
    if kind is not None and kind.removeprefix("fuse.") in SHARED:
        raise ConfigError(
            f"the SQLite store cannot be kept on {kind}: its log needs memory that all openers "
            "share, and would be damaged there. Use a local disk (in Docker a named volume), "
            "or Postgres"
        )


def _kind(path: Path, mounts: Path) -> str | None:
    """The type of the innermost file system that holds `path`."""
    try:
        lines = mounts.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return None
    entries = (line.split() for line in lines)
    held = [
        (_unescaped(entry[1]), entry[2])
        for entry in entries
        if len(entry) >= len(("device", "place", "type"))
    ]
    around = [(place, kind) for place, kind in held if path.is_relative_to(place)]
    # Of two on one place the later covers the earlier, so the last of the longest counts.
    return (
        max(enumerate(around), key=lambda each: (len(each[1][0]), each[0]))[1][1]
        if around
        else None
    )


def _unescaped(place: str) -> str:
    return _OCTAL.sub(lambda match: chr(int(match[1], 8)), place)
