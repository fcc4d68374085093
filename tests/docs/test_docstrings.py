"""Examples in the docstrings of the public kit run as they stand there."""

from __future__ import annotations

import asyncio
import doctest
import inspect
import re
import textwrap
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest

import memkit.testing
from memkit.testing.clock import ManualClock

MODULES = sorted(
    {f"memkit.testing.{home}" for home in memkit.testing._HOMES.values()} | {"memkit.testing"}
)
EXAMPLE = "an example"
BLOCK = re.compile(r"(?:^    .*\n|^\n)+", re.MULTILINE)


def examples() -> Iterator[tuple[str, str]]:
    """Every indented block of the docstrings of the kit's modules and public names."""
    documented = [(name, import_module(name)) for name in MODULES]
    documented += [(name, getattr(memkit.testing, name)) for name in memkit.testing.__all__]
    for name, value in documented:
        for block in BLOCK.findall(f"{inspect.getdoc(value) or ''}\n"):
            if block.strip():
                yield name, textwrap.dedent(block)


EXAMPLES = list(examples())


def test_every_conformance_class_has_an_example() -> None:
    """It says how a subject is opened, in a test file of its own."""
    shown = "".join(text for _, text in EXAMPLES)
    wanted = [each for each in memkit.testing.__all__ if each.endswith(("Conformance", "Machine"))]
    assert [each for each in wanted if f"{each})" not in shown] == []


@pytest.mark.parametrize(("name", "text"), EXAMPLES, ids=[name for name, _ in EXAMPLES])
def test_an_example_runs(name: str, text: str) -> None:
    """What it imports is there, and what it defines can be opened, or passes."""
    namespace: dict[str, Any] = {"__name__": EXAMPLE}
    exec(compile(text, name, "exec"), namespace)  # noqa: S102  # our own docstring
    asyncio.run(_tried(namespace))


async def _tried(namespace: dict[str, Any]) -> None:
    tried = 0
    for name, value in namespace.items():
        if name.startswith("test_"):
            await value()
            tried += 1
        if isinstance(value, type) and value.__module__ == EXAMPLE:
            tried += await _opened(value)
    assert tried


async def _opened(suite: type) -> int:
    """How many of the subjects that `suite` itself says how to open could be opened."""
    given = {"clock": ManualClock(), "sleep": asyncio.sleep}
    openings = [name for name in vars(suite) if name.startswith("open_")]
    for name in openings:
        opening = vars(suite)[name]
        _, *names = inspect.signature(opening).parameters
        subject = await opening(None, *(given[each] for each in names))
        if hasattr(subject, "aclose"):
            await subject.aclose()
    return len(openings)


@pytest.mark.parametrize("name", MODULES)
def test_what_is_shown_at_a_prompt_runs(name: str) -> None:
    """Lines behind `>>>` do what they say."""
    assert doctest.testmod(import_module(name)).failed == 0
