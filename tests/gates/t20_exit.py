"""T20: however a process ends, it ends at once and in silence, and what was recorded is there."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from memkit.testing.reading import all_episodes
from tests.gates.backends import SQLITE, Backend
from tests.gates.postgres import POSTGRES
from tests.gates.progress import watched
from tests.gates.verdict import Gate, Verdict

LONGEST = 2.0
"""Seconds from the last word of a program to its end."""
STARTING = 60.0
"""Seconds for a program to come to its last word."""
AT_ONCE = 2
MINE = "ValueError: mine"


@dataclass(frozen=True, slots=True)
class Ending:
    """A program of `endings_async` or `endings_sync`, and how it has to end."""

    program: str
    code: int = 0
    kept: bool = True
    signal: signal.Signals | None = None
    says: str = ""
    """The last line on stderr: the program's own exception."""
    leaves: bool = False
    """Whether it leaves a store open and its loop closed, so that nobody can close the store."""


ENDINGS = (
    Ending("never_closed", leaves=True),
    Ending("closed"),
    Ending("dropped", leaves=True),
    Ending("store_never_closed", kept=False, leaves=True),
    Ending("many_never_closed", kept=False, leaves=True),
    Ending("opening_cancelled", kept=False),
    Ending("call_in_flight", leaves=True),
    Ending("exception", code=1, says=MINE),
    Ending("exception_never_closed", code=1, says=MINE, leaves=True),
    Ending("exits", code=3),
    Ending("exits_never_closed", code=3, leaves=True),
    Ending("exits_at_once", code=3),
    Ending("interrupted", code=130, signal=signal.SIGINT),
    Ending("interrupted_never_closed", code=130, signal=signal.SIGINT, leaves=True),
    Ending("terminated", code=-signal.SIGTERM, signal=signal.SIGTERM),
    Ending("terminated_in_the_loop", signal=signal.SIGTERM),
    Ending("terminated_politely", signal=signal.SIGTERM, leaves=True),
    Ending("consolidating", code=130, signal=signal.SIGINT),
    Ending("scheduled"),
    Ending("scheduled_never_closed", leaves=True),
    Ending("on_a_thread", leaves=True),
    Ending("on_a_daemon_thread"),
    Ending("sync_closed"),
    Ending("sync_never_closed"),
    Ending("sync_dropped"),
    Ending("sync_exception", code=1, says=MINE),
    Ending("sync_exits", code=3),
    Ending("sync_interrupted", code=130, signal=signal.SIGINT),
    Ending("sync_in_a_generator"),
    Ending("sync_at_exit"),
    Ending("sync_daemon_thread"),
    Ending("sync_scheduled_never_closed"),
    Ending("sync_graph_never_closed"),
    Ending("forked"),
    Ending("forked_and_closed"),
    Ending("pytest_passes"),
    Ending("pytest_fails", code=1),
)


def misses(backend: Backend, ending: Ending, *, bug: bool) -> Iterator[str]:
    """What was wrong with the end of one program."""
    with backend.fresh() as location:
        warnings = ["-W", "error"]
        if ending.leaves and backend is POSTGRES:
            # A socket can be closed by its loop alone; of one that is left Python warns whoever
            # wants to be warned, and rightly.
            warnings += ["-W", "ignore::ResourceWarning"]
        command = [sys.executable, *warnings, "-m", "tests.gates.exiting"]
        process = subprocess.Popen(
            [*command, ending.program, location, *(["--bug"] if bug else [])],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        said = list(last_words(process))
        if ending.signal:
            process.send_signal(ending.signal)
        errors = what_it_says_in_the_end(process)
        if errors is None:
            yield f"still there after {LONGEST:g} s"
            return
        yield from wrong_about(ending, process.returncode, said, errors)
        if ending.kept and not asyncio.run(holds_something(backend, location)):
            yield "what was recorded is not there"


def what_it_says_in_the_end(process: subprocess.Popen[str]) -> str | None:
    """What a program says on stderr until it has ended; None if it does not end in time."""
    begun, stolen = time.monotonic(), stolen_from(process)
    left = LONGEST
    while left > 0:
        try:
            return process.communicate(timeout=left)[1]
        except subprocess.TimeoutExpired:
            left = LONGEST - (time.monotonic() - begun - (stolen_from(process) - stolen))
    process.kill()
    process.communicate()
    return None


def stolen_from(process: subprocess.Popen[str]) -> float:
    """Seconds for which a program was ready to go on and others had the processor."""
    try:
        ready = Path(f"/proc/{process.pid}/schedstat").read_text().split()[1]
    except (OSError, IndexError):
        return 0.0
    return int(ready) / 1e9


def last_words(process: subprocess.Popen[str]) -> Iterator[str]:
    """What a program says until it ends, or waits for a signal."""
    assert process.stdout is not None
    for line in process.stdout:
        yield line.strip()
        if line.strip() in {"ending", "signal me"}:
            return


def wrong_about(ending: Ending, code: int, said: list[str], errors: str) -> Iterator[str]:
    """What was wrong with how a program ended."""
    lines = errors.strip().splitlines()
    if code != ending.code:
        yield f"exit code {code}, not {ending.code}: {lines[-3:]}"
    if ending.kept != ("kept" in said):
        yield f"it said {said}"
    if (lines[-1] if lines else "") != ending.says or errors.count("Traceback") > bool(ending.says):
        yield f"on stderr: {errors[-600:]}"


async def holds_something(backend: Backend, location: str) -> bool:
    """Whether the message that was recorded is there."""
    store = await backend.open(location)
    episodes = await all_episodes(store)
    await store.aclose()
    return any(message.key == "tea" for each in episodes for message in each.messages)


def run(backend: Backend, n: int, _seed: int, bug: str | None) -> Verdict:
    """Every ending, `n` times; with the bug, until one is wrong."""
    if bug:
        first = next((miss for each in ENDINGS for miss in misses(backend, each, bug=True)), "")
        return Verdict(failed=int(bool(first)), facts={"first": first})
    with backend.fresh(), ThreadPoolExecutor(AT_ONCE) as pool:  # a server is started by no thread
        work = partial(misses, backend, bug=False)
        ended = pool.map(lambda ending: list(work(ending)), ENDINGS * n)
        found = [
            f"{ending.program}: {miss}"
            for ending, missed in zip(watched(ENDINGS * n), ended, strict=True)
            for miss in missed
        ]
    return Verdict(
        failed=len(found),
        facts={"programs": len(ENDINGS), "ended": len(ENDINGS) * n, "first": "; ".join(found[:9])},
    )


def gate(backend: Backend, bug: str) -> Gate:
    """The gate on one database."""
    return Gate(
        name=f"T20{backend.suffix}",
        promise=f"a process ends at once and in silence, however it ends, on {backend.name}",
        full=3,
        run=partial(run, backend),
        bugs=(bug,),
    )


GATES = [gate(SQLITE, "global-connection"), gate(POSTGRES, "own-thread")]
