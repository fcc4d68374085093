"""The command line as a process: help, exit codes, and what it needs."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import entry_points, version
from pathlib import Path

import pytest
import typer

from memkit.cli.app import build
from memkit.cli.failure import exit_code, in_one_line, reported
from memkit.errors import (
    CapabilityError,
    ConfigError,
    InvalidInput,
    MemkitError,
    PluginError,
    ScopeError,
    StoreBusy,
    StoreCorrupt,
    StoreUnavailable,
)

from .conftest import Call

COMMANDS = [
    *("demo", "inject", "record", "consolidate", "decay", "search", "forget", "stats"),
    *("check", "plugins", "jobs", "retry", "migrate", "agentcore-emulator"),
]


def run(*arguments: str, code: str = "from memkit.cli import main; main()") -> object:
    """The command line in a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=50,
    )


def test_every_command_is_there() -> None:
    """The commands are a decision; this is the list."""
    group = typer.main.get_command(build())
    assert sorted(group.commands) == sorted(COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_teaches_by_example(memkit: Call, command: str) -> None:
    """Every command shows how it is called."""
    result = memkit(command, "--help")
    assert result.exit_code == 0
    assert f"memkit {command}" in result.stdout.split("Options")[0].split("Usage")[1]


@pytest.mark.parametrize("command", [each for each in COMMANDS if each != "agentcore-emulator"])
def test_every_command_speaks_json(memkit: Call, command: str) -> None:
    """What prints a result prints it for programs too."""
    assert "--json" in memkit(command, "--help").stdout


def test_no_command_is_help(memkit: Call) -> None:
    """`memkit` alone shows what there is, and is a usage error."""
    result = memkit()
    assert result.exit_code == 2
    assert "memkit demo" in result.output


def test_version(memkit: Call) -> None:
    """The version of the distribution."""
    assert memkit("--version").stdout == f"agent-memkit {version('agent-memkit')}\n"


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (MemkitError("x"), 1),
        (StoreCorrupt("x"), 1),
        (ConfigError("x"), 2),
        (PluginError("x"), 2),
        (ScopeError("x"), 2),
        (InvalidInput("x"), 2),
        (CapabilityError("x", store="y"), 2),
        (StoreUnavailable("x"), 4),
        (StoreBusy("x"), 4),
    ],
)
def test_exit_codes(error: MemkitError, code: int) -> None:
    """1 failed, 2 misused, 4 the store is unavailable."""
    assert exit_code(error) == code


def test_an_error_is_one_line() -> None:
    """What to do fits on a line; what may be tried again says so, once."""
    assert in_one_line(StoreUnavailable("the host\nis away")) == (
        "memkit: the host is away; try again"
    )
    told = StoreUnavailable("the server is restarting; try again")
    assert in_one_line(told) == "memkit: the server is restarting; try again"


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (OSError(28, "No space left on device"), "memkit: No space left on device\n"),
        (FileNotFoundError(2, "No such file", "a.json"), "memkit: No such file: a.json\n"),
        (OSError("gone"), "memkit: gone\n"),
    ],
)
def test_a_failure_of_the_system_is_one_line(
    error: OSError, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the file's name where there is one, and without a colon before nothing."""

    @reported
    def command() -> None:
        raise error

    with pytest.raises(typer.Exit):
        command()
    assert capsys.readouterr().err == line


@pytest.mark.parametrize(
    ("store", "code"),
    [("nosuch://x", 2), ("sqlite:///no/such/folder/memory.db", None), ("sqlite:///.", None)],
)
def test_a_store_that_cannot_be_opened(memkit: Call, store: str, code: int | None) -> None:
    """One line on stderr, no traceback, and a code that is not 0."""
    result = memkit("stats", "--store", store)
    assert result.exit_code == code if code else result.exit_code in {1, 2, 4}
    assert result.stderr.startswith("memkit: ")
    assert len(result.stderr.strip().splitlines()) == 1
    assert result.stdout == ""


@pytest.mark.parametrize("command", ["stats", "check", "migrate"])
def test_a_path_is_no_url(memkit: Call, command: str) -> None:
    """Who names a file is told how a store in it is written."""
    result = memkit(command, "--store", "data/memory.db")
    assert result.exit_code == 2
    assert "for this file write sqlite:///data/memory.db" in result.stderr


def test_a_path_is_told_as_a_url_that_leads_to_it(memkit: Call) -> None:
    """What a URL takes for settings or an escape is written as it has to be."""
    result = memkit("stats", "--store", "data/100%41 #1?.db")
    assert "write sqlite:///data/100%2541 %231%3F.db" in result.stderr


def test_a_part_that_is_none_is_told_from_those_of_its_sort(memkit: Call) -> None:
    """A store that nobody offers is not answered with the names of schedulers."""
    result = memkit("stats", "--store", "nosuch://x")
    assert result.exit_code == 2
    assert result.stderr == (
        "memkit: no store is called 'nosuch'; known are: memory, postgres, postgresql, sqlite\n"
    )


def test_a_file_that_is_no_store(memkit: Call, tmp_path: Path) -> None:
    """A damaged file is a failure, and stays as it is."""
    file = tmp_path / "notes.txt"
    file.write_text("not a database, " * 100)
    before = file.read_bytes()
    result = memkit("stats", "--store", f"sqlite:///{file}")
    assert result.exit_code in {1, 2}
    assert len(result.stderr.strip().splitlines()) == 1
    assert file.read_bytes() == before


@pytest.mark.parametrize("missing", ["typer", "rich"])
def test_on_the_base_install_the_extra_is_named(missing: str) -> None:
    """Without its libraries the command line says what brings them, and exits 2."""
    blocked = f"import sys; sys.modules[{missing!r}] = None; from memkit.cli import main; main()"
    result = run(code=blocked)
    assert result.returncode == 2
    assert "pip install 'agent-memkit[cli]'" in result.stderr
    assert "Traceback" not in result.stderr


def test_the_demo_names_its_extra() -> None:
    """Without LangGraph the other commands work, and the demo says what it needs."""
    blocked = "import sys; sys.modules['langgraph'] = None; from memkit.cli import main; main()"
    result = run("demo", code=blocked)
    assert result.returncode == 2
    assert "pip install 'agent-memkit[demo]'" in result.stderr
    assert run("demo", "--help", code=blocked).returncode == 0


def test_a_real_process_ends_with_the_code() -> None:
    """The shell is told; stdout and stderr are kept apart."""
    result = run("search", "x")
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith("memkit: ")


def test_an_ascii_terminal_chokes_on_nothing() -> None:
    """What a terminal cannot show is escaped, not refused."""
    code = (
        "import sys; sys.stdout.reconfigure(encoding='ascii'); from memkit.cli import main; main()"
    )
    store = ("--store", "sqlite:///memory.db", "--user", "alice")
    run("record", *store, "--session", "s1", "--text", "Ich wohne in Köln.")
    run("consolidate", "--store", "sqlite:///memory.db")
    result = run("search", *store, "wohne", code=code)
    assert result.returncode == 0
    assert "K\\xf6ln" in result.stdout


def test_the_command_and_the_demo_are_declared() -> None:
    """The script and the demo's entry point are part of the distribution."""
    (script,) = entry_points(group="console_scripts", name="memkit")
    (demo,) = entry_points(group="memkit.commands", name="demo")
    assert (script.value, demo.value) == ("memkit.cli:main", "memkit_adapters.langgraph.demo:tell")
