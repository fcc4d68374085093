"""The page in docs names what there is."""

from __future__ import annotations

from pathlib import Path

import pytest

from memkit.testing.agentcore import FAULT_GROUPS, Switches
from memkit.testing.agentcore.models import EXPECTED

PAGE = (Path(__file__).parents[2] / "docs" / "agentcore-emulator.md").read_text()
FAULTS = [fault for group in FAULT_GROUPS.values() for fault in group]


@pytest.mark.parametrize("name", [*Switches.names(), *FAULTS, *sorted(EXPECTED)])
def test_every_name_is_documented(name: str) -> None:
    """Each switch, fault and operation stands in the page as code."""
    assert f"`{name}`" in PAGE


def test_the_groups_are_thirteen() -> None:
    """Each group of faults has its row."""
    assert len(FAULT_GROUPS) == 13
    assert [group for group in FAULT_GROUPS if f"| {group} |" not in PAGE] == []
