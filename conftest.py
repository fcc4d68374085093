"""README and docs are tests: every Python block in them runs, top to bottom, in an empty folder."""

from __future__ import annotations

import os
import tempfile
from typing import Any

from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser, SkipParser


def _enter_empty_folder(namespace: dict[str, Any]) -> None:
    namespace["__folder"] = tempfile.TemporaryDirectory()
    namespace["__before"] = os.getcwd()
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
