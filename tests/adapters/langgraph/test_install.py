"""What the adapter says where LangGraph is not installed."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize("missing", ["langgraph", "langchain_core"])
def test_the_extra_is_named(missing: str) -> None:
    """An import without LangGraph fails with what brings it."""
    code = f"import sys; sys.modules[{missing!r}] = None; import memkit_adapters.langgraph"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert result.returncode == 1
    assert "pip install 'agent-memkit[langgraph]'" in result.stderr.splitlines()[-1]
