"""A slower disk: a shim between a process and its C library that waits before each fsync."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

MILLISECONDS = 3

SOURCE = f"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>

static void wait_a_moment(void) {{
    struct timespec moment = {{0, {MILLISECONDS}L * 1000000L}};
    nanosleep(&moment, 0);
}}

int fsync(int file) {{
    int (*real)(int) = (int (*)(int)) dlsym(RTLD_NEXT, "fsync");
    wait_a_moment();
    return real(file);
}}

int fdatasync(int file) {{
    int (*real)(int) = (int (*)(int)) dlsym(RTLD_NEXT, "fdatasync");
    wait_a_moment();
    return real(file);
}}
"""


def shim(folder: Path) -> Path | None:
    """The shim as a library to preload, or None where nothing here can compile it."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        return None
    source, library = folder / "slow_fsync.c", folder / "slow_fsync.so"
    source.write_text(SOURCE)
    command = [compiler, "-shared", "-fPIC", "-O2", "-o", str(library), str(source), "-ldl"]
    done = subprocess.run(command, capture_output=True, check=False)
    return library if done.returncode == 0 else None
