"""Processes of a gate: forked, so that nothing is imported again, and killed at will."""

from __future__ import annotations

import logging
import os
import select
import signal
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

Report = Callable[[str], object]
"""Says one line to the parent. What has been said is known, however the child ends."""

BROKEN = 70
"""The exit code of a child that raised."""


class ChildError(AssertionError):
    """A child broke, or did not say in time what was waited for."""


@dataclass
class Child:
    """A forked process, and the lines that it has said so far."""

    pid: int
    pipe: int
    said: list[str] = field(default_factory=list)
    _rest: bytes = b""
    _code: int | None = None

    @classmethod
    def fork(cls, work: Callable[[Report], None]) -> Child:
        """Run `work` in a child. Only where no thread and no store of the parent's is alive."""
        reading, writing = os.pipe()
        pid = os.fork()
        if pid:
            os.close(writing)
            return cls(pid, reading)
        code = BROKEN
        try:
            os.close(reading)
            _work(work, lambda line: _say(writing, line))
            code = 0
        finally:
            # Never back into the parent's code: neither its handlers nor its buffers are ours.
            os._exit(code)

    def kill(self) -> list[str]:
        """SIGKILL, and everything that was said before."""
        os.kill(self.pid, signal.SIGKILL)
        self._ended()
        return self.said

    def ended(self, *, seconds: float) -> int:
        """The exit code, once it ends by itself; `ChildError` (and SIGKILL) if it does not."""
        until = time.monotonic() + seconds
        while self._more(until):
            pass
        if time.monotonic() >= until:
            self.kill()
            raise ChildError(f"a child had not ended after {seconds:g} s; it said {self.said[-3:]}")
        return self._ended()

    def wait_for(self, line: str, *, seconds: float = 30) -> bool:
        """Whether it says `line` before it ends."""
        until = time.monotonic() + seconds
        while line not in self.said and self._more(until):
            pass
        return line in self.said

    def wait_for_lines(self, count: int, *, seconds: float = 30) -> None:
        """Until it has said so many lines, or ends."""
        until = time.monotonic() + seconds
        while len(self.said) < count and self._more(until):
            pass

    def _ended(self) -> int:
        if self._code is None:
            while self._more(time.monotonic() + 30):
                pass
            os.close(self.pipe)
            self._code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        if self._code == BROKEN:
            raise ChildError("\n".join(self.said[-40:]))
        return self._code

    def _more(self, until: float) -> bool:
        """Read what is there, waiting for it; False at the end, or when time is up."""
        ready, _, _ = select.select([self.pipe], [], [], max(0.0, until - time.monotonic()))
        piece = os.read(self.pipe, 1 << 16) if ready else b""
        *lines, self._rest = (self._rest + piece).split(b"\n")
        self.said += [line.decode() for line in lines]
        return bool(piece)


def together(works: Sequence[Callable[[Report], None]], *, seconds: float) -> list[Child]:
    """Children that begin at the same moment, once all are there; when all have ended."""
    gate, opened = os.pipe()

    def begin(work: Callable[[Report], None], report: Report) -> None:
        os.close(opened)
        os.read(gate, 1)  # answers when the parent closes the other end
        work(report)

    children = [Child.fork(partial(begin, work)) for work in works]
    os.close(opened)
    for child in children:
        child.ended(seconds=seconds)
    os.close(gate)
    return children


def _say(pipe: int, line: str) -> None:
    os.write(pipe, f"{line}\n".encode())


def _work(work: Callable[[Report], None], report: Report) -> None:
    # A child may warn of what is done to it on purpose.
    logging.getLogger("memkit").addHandler(logging.NullHandler())
    try:
        work(report)
    except BaseException:
        report(traceback.format_exc())
        raise
