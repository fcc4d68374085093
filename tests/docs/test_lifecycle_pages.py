"""The pages on the lifecycle and its configuration say everything, and nothing that is not so."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from inspect import signature
from pathlib import Path
from typing import Any

import pytest

from memkit import hookspecs
from memkit.config import Config, Part, Section
from memkit.config.settings import SchedulerPart, StrategyRules
from tests.lifecycle.test_record_outcomes import WITH_HISTORY, WITHOUT_HISTORY, Row

ROOT = Path(__file__).parents[2]
CONFIGURATION = (ROOT / "docs/configuration.md").read_text("utf-8")
LIFECYCLE = (ROOT / "docs/lifecycle.md").read_text("utf-8")

TABLES: dict[str, type[Section]] = {
    name: field.annotation
    for name, field in Config.model_fields.items()
    if isinstance(field.annotation, type) and issubclass(field.annotation, Section)
}


def settings() -> Iterator[tuple[str, str, Any]]:
    """Every setting with its table and default; a part's own name and URL are not settings."""
    for name, field in Config.model_fields.items():
        if name not in TABLES and name != "strategies":
            yield "", name, field
    for table, section in {**TABLES, "strategies": StrategyRules}.items():
        own = set(section.model_fields) - set(Part.model_fields)
        if section is not Part:
            yield from ((table, name, section.model_fields[name]) for name in sorted(own))
    assert SchedulerPart in TABLES.values()


def documented() -> dict[tuple[str, str], str]:
    """The rows of the table of settings: the default by table and name."""
    rows = re.findall(r"^\| ([^|]*)\| `(\w+)` \| ([^|]*)\|", CONFIGURATION, re.MULTILINE)
    found: dict[tuple[str, str], str] = {}
    table = ""
    for heading, name, default in rows:
        table = heading.strip(" `[]") or table
        found[table, name] = default.strip(" `")
    return found


def test_every_setting_is_in_the_table() -> None:
    """No setting without a row, no row without a setting."""
    assert {(table, name) for table, name, _ in settings()} == set(documented())


def written(value: object) -> str:
    """A default as the table has it."""
    match value:
        case None:
            return "never"
        case bool() | int() | float():
            return str(value).lower()
        case str():
            return f'"{value}"'
        case _:
            return (
                repr(value).replace("'", '"').replace("(", "[").replace(")", "]").replace(",]", "]")
            )


def test_the_defaults_in_the_table_are_the_defaults() -> None:
    """A default that changes changes in the table."""
    rows = documented()
    shown = Config().model_dump(mode="json")
    for table, name, field in settings():
        if table == "strategies" or (table, name) == ("scope", "read") or field.is_required():
            continue
        default = shown[table][name] if table else shown[name]
        assert rows[table, name] == written(default), f"{table}.{name}"


def hooks() -> list[Callable[..., object]]:
    """The hooks that a plugin may implement."""
    return [
        member
        for name, member in vars(hookspecs).items()
        if name.startswith("memkit_") and callable(member)
    ]


@pytest.mark.parametrize("hook", hooks(), ids=lambda hook: hook.__name__)
def test_every_hook_is_documented_and_tested(hook: Callable[..., object]) -> None:
    """Its heading names its arguments, and a test bears its name."""
    arguments = ", ".join(signature(hook).parameters)
    assert f"### `{hook.__name__}({arguments})`" in CONFIGURATION
    tests = (ROOT / "tests/plugins/test_plugins.py").read_text("utf-8")
    assert f"def test_hook_{hook.__name__}(" in tests


def cells(name: str, row: Row) -> str:
    """A row of the table of outcomes."""
    calls = ", ".join(f"`{call}`" for call in row.calls)
    counts = (", ".join(map(str, each)) for each in (row.stable, row.fresh, row.none))
    return f"| {name} | {calls} | {' | '.join(counts)} |"


def test_the_table_of_outcomes_is_what_is_tested() -> None:
    """Its rows are the tests', in both directions."""
    rows = [cells(*each) for each in (*WITH_HISTORY.items(), *WITHOUT_HISTORY.items())]
    shown = re.findall(r"^\| [^|]* \| `[a-z] ?.*` \| \d.*\|$", LIFECYCLE, re.MULTILINE)
    assert shown == rows
