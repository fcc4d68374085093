"""Disks of a gate's own, where the user may mount one."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

DISK = 32 << 20
"""Bytes of such a disk."""


@contextmanager
def mounted(folder: Path, size: int = DISK) -> Iterator[bool]:
    """Whether a disk is mounted on `folder` meanwhile."""
    is_there = is_done("mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder))
    try:
        yield is_there
    finally:
        if is_there:
            is_done("umount", "--lazy", str(folder))


def is_done(*command: str) -> bool:
    """Whether a command is there, permitted and done."""
    if shutil.which(command[0]) is None:
        return False
    return subprocess.run(command, capture_output=True, check=False).returncode == 0
