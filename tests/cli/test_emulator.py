"""The emulator from the command line."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

MAIN = "from memkit.cli import main; main()"


@contextmanager
def started(code: str = MAIN) -> Iterator[subprocess.Popen[str]]:
    """The command in a process of its own, on a free port; it does not outlive the test."""
    with subprocess.Popen(
        [sys.executable, "-c", code, "agentcore-emulator", "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_it_serves_until_it_is_interrupted(ending: signal.Signals) -> None:
    """It says where it listens, and ends well when it is told to."""
    pytest.importorskip("botocore")
    with started() as process:
        assert process.stdout is not None
        assert "emulator on http://127.0.0.1:" in process.stdout.readline()
        process.send_signal(ending)
        process.communicate(timeout=30)
        assert process.returncode == 0


ALONE = f"import sys; sys.modules['typer'] = sys.modules['rich'] = None; {MAIN}"


def test_its_own_extra_is_all_it_needs() -> None:
    """Without the extra of the command line it serves, and says what it takes."""
    pytest.importorskip("botocore")
    with started(ALONE) as process:
        assert process.stdout is not None
        assert "emulator on http://127.0.0.1:" in process.stdout.readline()
    asked = [sys.executable, "-c", ALONE, "agentcore-emulator", "--help"]
    helped = subprocess.run(asked, capture_output=True, text=True, check=True, timeout=30)
    assert "--profile" in helped.stdout


def test_without_either_extra_its_own_is_named() -> None:
    """Not that of the command line, which it can do without."""
    with started(f"import sys; sys.modules['botocore'] = None; {ALONE}") as process:
        _, said = process.communicate(timeout=30)
    assert (process.returncode, "pip install 'agent-memkit[agentcore]'" in said) == (2, True)


def test_without_the_sdk_the_extra_is_named() -> None:
    """The command is listed on every install, and says what it needs."""
    with started(f"import sys; sys.modules['botocore'] = None; {MAIN}") as process:
        _, said = process.communicate(timeout=30)
        assert process.returncode == 2
        assert "pip install 'agent-memkit[agentcore]'" in said
        assert "Traceback" not in said
