"""What the kit is for somebody else: five lines in a file of their own, and nothing configured."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

FIVE_LINES = """\
from {module} import {store}
from memkit.testing import LedgerConformance, StoreConformance
class TestMine(StoreConformance, LedgerConformance):
    async def open_store(self, clock):
        return {store}({argument})
"""


def run_kit(folder: Path, *, module: str, store: str, argument: str) -> tuple[int, str]:
    """The end and the words of pytest over those five lines, with no plugin but anyio's."""
    (folder / "test_mine.py").write_text(
        FIVE_LINES.format(module=module, store=store, argument=argument)
    )
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "anyio", "test_mine.py"],
        cwd=folder,
        env={"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    return ended.returncode, ended.stdout + ended.stderr


def test_five_lines_are_enough(tmp_path: Path) -> None:
    """Every rule runs and passes; nothing is skipped, nothing warns."""
    code, said = run_kit(
        tmp_path, module="memkit.inmemory", store="InMemoryStore", argument="lease_clock=clock"
    )
    assert code == 0, said
    summary = said.strip().splitlines()[-1]
    assert "passed" in summary
    assert "skipped" not in summary
    assert "warning" not in summary


def test_a_failure_explains_itself(tmp_path: Path) -> None:
    """The report shows the rule, and both sides of what did not agree."""
    code, said = run_kit(
        tmp_path,
        module="memkit.testing.wrong.keying",
        store="MisnamesConflicts",
        argument="clock",
    )
    assert code == 1
    assert "`MessageConflict` names key and session." in said
    assert "('m-1', '?') == ('m-1', 's-1')" in said
    assert said.strip().splitlines()[-1].startswith("1 failed")
