"""Rules of the house that a tool can check."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from importlib.metadata import requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
SOURCES = sorted((ROOT / "src").rglob("*.py"))
LONGEST = 300
BASE_BUDGET = 13

EXCEPTIONS = {
    "src/memkit/contracts.py": "every contract in one place; most lines are the specification",
}
"""Files above LONGEST, each with its reason."""


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_file_is_one_noun(path: Path) -> None:
    """No module is longer than 300 lines without a reason that stands here."""
    name = path.relative_to(ROOT).as_posix()
    lines = len(path.read_text().splitlines())
    assert lines <= LONGEST or name in EXCEPTIONS, f"{name} has {lines} lines"


def test_exceptions_are_still_needed() -> None:
    """An exception goes when its file is short again."""
    for name in EXCEPTIONS:
        assert len((ROOT / name).read_text().splitlines()) > LONGEST, name


def public_surface() -> list[str]:
    """Every public name, as `module:name`."""
    modules = ["memkit", "memkit.testing", "memkit.contracts", "memkit.models", "memkit.errors"]
    return [
        f"{module}:{name}"
        for module in modules
        for name in sorted(
            getattr(import_module(module), "__all__", None) or _own_names(import_module(module))
        )
    ]


def _own_names(module: object) -> list[str]:
    return [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", None) == module.__name__
    ]


def test_public_surface_is_a_decision() -> None:
    """Public names are those in the committed list; changing it is a decision."""
    written = (ROOT / "tests" / "public_surface.txt").read_text().split()
    assert public_surface() == written


def test_public_names_are_documented() -> None:
    """Every name that `memkit` exports has its entry in the reference."""
    reference = (ROOT / "docs" / "reference.md").read_text()
    missing = [name for name in import_module("memkit").__all__ if f"`{name}" not in reference]
    assert missing == []


def _closure(distribution: str, seen: set[str]) -> set[str]:
    for line in requires(distribution) or []:
        requirement = Requirement(line)
        wanted = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
        name = requirement.name.lower().replace("_", "-")
        if wanted and name not in seen:
            seen.add(name)
            _closure(name, seen)
    return seen


def test_the_base_install_stays_small() -> None:
    """The base install brings at most 13 distributions besides memkit itself."""
    found = _closure("agent-memkit", set())
    assert len(found) <= BASE_BUDGET, sorted(found)


def test_import_is_light() -> None:
    """`import memkit` loads no driver, framework, SDK or settings machinery."""
    heavy = (
        "aiosqlite sqlite3 asyncpg langgraph langchain_core boto3 typer rich hypothesis pytest "
        "pydantic_settings snowballstemmer"
    )
    script = (
        f"import sys, memkit\nprint(*[name for name in {heavy.split()!r} if name in sys.modules])"
    )
    answer = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert answer.stdout.split() == []
