"""The reference, made from the docstrings: `python -m tests.docs.reference` writes it anew."""

from __future__ import annotations

import inspect
from importlib import import_module
from pathlib import Path
from types import ModuleType

PAGE = Path(__file__).parents[2] / "docs" / "reference.md"
TITLE = """# Reference

Every public name with the first words of its docstring; the source says the rest. This page is
made by `python -m tests.docs.reference`.
"""
SECTIONS = {
    "memkit": "What an application uses, and what a plugin implements.",
    "memkit.testing": "The conformance kit and its fakes, in the extra `testing`.",
}
OWN_WORDS = {
    "Clock": "A callable without arguments that returns the time now, aware.",
    "ContentBlock": "Any of the blocks of a message, told apart by `type`.",
    "hookimpl": "Marks a plugin's functions as implementations of memkit's hooks.",
}
"""What has no docstring of its own: aliases and markers."""
HAS_METHODS = {"Memory", "Store", "Ledger", "Maintains", "Extractor", "Scheduler"}


def page() -> str:
    """The whole page."""
    return "\n".join([TITLE, *(section(name, about) for name, about in SECTIONS.items())])


def section(module_name: str, about: str) -> str:
    """One module: what it is for, then its names in order."""
    module = import_module(module_name)
    entries = (entry(module, name) for name in sorted(module.__all__))
    return "\n".join([f"## {module_name}\n\n{about}\n", *entries, ""])


def entry(module: ModuleType, name: str) -> str:
    """One name: what it is, and, where others call or implement them, its methods."""
    value = getattr(module, name)
    lines = [f"* `{name}`: {OWN_WORDS.get(name) or summary(value)}"]
    if name in HAS_METHODS:
        lines += [f"  * `{each}`: {summary(getattr(value, each))}" for each in methods(value)]
    return "\n".join(lines)


def methods(value: type) -> list[str]:
    """The public methods and properties, in the order they are written."""
    found = {
        name: None
        for each in reversed(value.__mro__)
        for name, member in vars(each).items()
        if not name.startswith("_") and (inspect.isroutine(member) or isinstance(member, property))
    }
    return list(found)


def summary(value: object) -> str:
    """The first paragraph of a docstring, on one line."""
    first = (inspect.getdoc(value) or "").split("\n\n", maxsplit=1)[0]
    return " ".join(first.split())


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
