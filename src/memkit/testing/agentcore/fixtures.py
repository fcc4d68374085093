"""Fixtures for pytest: `pytest_plugins = ["memkit.testing.agentcore.fixtures"]`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from memkit.testing.agentcore.emulator import Emulator
from memkit.testing.agentcore.switches import Switches

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def agentcore_switches() -> Switches:
    """Return the switches of the emulator; override this to test with others."""
    return Switches()


@pytest.fixture
def agentcore(agentcore_switches: Switches) -> Iterator[Emulator]:
    """Yield an emulator of one test's own; a crash inside it fails the test."""
    with Emulator(switches=agentcore_switches) as emulator:
        yield emulator
        assert not emulator.crashes, "\n".join(emulator.crashes)


@pytest.fixture
def agentcore_environment(agentcore: Emulator, monkeypatch: pytest.MonkeyPatch) -> Emulator:
    """Yield the emulator with this process's AWS clients pointed at it."""
    for name, value in agentcore.environment().items():
        monkeypatch.setenv(name, value)
    return agentcore
