"""The emulator from the command line."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import typer

from memkit.cli.app import build

from .conftest import Call

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


def alone(*arguments: str) -> subprocess.CompletedProcess[str]:
    """The command without the extra of the command line, until it ends by itself."""
    asked = [sys.executable, "-c", ALONE, "agentcore-emulator", *arguments]
    return subprocess.run(asked, capture_output=True, text=True, check=False, timeout=30)


def test_its_own_help_teaches_the_same() -> None:
    """With or without the extra of the command line it shows an example and the same options."""
    pytest.importorskip("botocore")
    shown = alone("--help").stdout
    listed = typer.main.get_command(build()).commands["agentcore-emulator"].params
    options = {name for option in listed for name in option.opts}
    assert "\n  memkit agentcore-emulator --port 0" in shown
    assert set(re.findall(r"--[a-z]+", shown)) == options | {"--help"}


@pytest.mark.parametrize("port", ["-1", "65536", "x"])
def test_a_port_that_is_none_is_misuse(memkit: Call, port: str) -> None:
    """It ends with 2 whichever extra is there, and says which option is meant."""
    pytest.importorskip("botocore")
    short = alone("--port", port)
    full = memkit("agentcore-emulator", "--port", port)
    assert (short.returncode, full.exit_code) == (2, 2)
    assert "--port" in short.stderr
    assert "Traceback" not in short.stderr


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
