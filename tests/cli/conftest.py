"""The command line, called in this process."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from memkit.cli.app import build

Call = Callable[..., Result]


@pytest.fixture(autouse=True)
def _empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands run in an empty folder, and nobody's environment configures them."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MEMKIT_STORE", raising=False)


@pytest.fixture
def memkit() -> Call:
    """`memkit(*arguments, input=...)`: the result of the command."""
    app = build()

    def call(*arguments: str, input: str | None = None) -> Result:  # noqa: A002  # click's name
        return CliRunner().invoke(app, arguments, input=input, prog_name="memkit")

    return call


@pytest.fixture
def known(memkit: Call) -> Call:
    """The command line over a store in which alice's first session is consolidated."""
    for text in ("I moved to Oslo in May.", "I work with FastAPI every day."):
        assert memkit("record", "--user", "alice", "--session", "s1", "--text", text).exit_code == 0
    assert memkit("consolidate").exit_code == 0
    return memkit


def document(result: Result) -> Any:
    """What a command with `--json` printed: one JSON document and nothing else."""
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)
