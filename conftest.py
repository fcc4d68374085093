"""README and docs are tests: every Python block in them runs, top to bottom, in an empty folder."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import pytest
from sybil import Sybil
from sybil.integration.pytest import SybilItem
from sybil.parsers.markdown import PythonCodeBlockParser, SkipParser


def _enter_empty_folder(namespace: dict[str, Any]) -> None:
    namespace["__folder"] = tempfile.TemporaryDirectory()
    namespace["__before"] = Path.cwd()
    os.chdir(namespace["__folder"].name)


def _leave_folder(namespace: dict[str, Any]) -> None:
    os.chdir(namespace["__before"])
    namespace["__folder"].cleanup()


pytest_collect_file = Sybil(
    parsers=[PythonCodeBlockParser(), SkipParser()],
    patterns=["*.md"],
    setup=_enter_empty_folder,
    teardown=_leave_folder,
).pytest()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The blocks of a page stand on one another: they keep its order where others are shuffled."""
    first: dict[str, int] = {}
    for place, item in enumerate(items):
        first.setdefault(str(item.path), place)
    order = {
        item: (first[str(item.path)], item.example.line)
        if isinstance(item, SybilItem)
        else (place, 0)
        for place, item in enumerate(items)
    }
    items.sort(key=order.__getitem__)
