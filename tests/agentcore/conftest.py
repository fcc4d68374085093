"""The emulator's fixtures, used here as third parties use them."""

from __future__ import annotations

from typing import Any

import pytest

from memkit.testing.agentcore import Clients, Emulator
from memkit.testing.agentcore.fixtures import (
    agentcore,
    agentcore_environment,
    agentcore_switches,
)
from tests.agentcore.bench import NO_RETRIES, Bench, new_memory

__all__ = ["agentcore", "agentcore_environment", "agentcore_switches"]


@pytest.fixture
def clients(agentcore: Emulator) -> Clients:
    """Clients that never retry, so that each call is one request."""
    return agentcore.boto_clients(retries=NO_RETRIES)


@pytest.fixture
def memory_options() -> dict[str, Any]:
    """What the memory of `bench` is created with; tests override it."""
    return {}


@pytest.fixture
def bench(
    agentcore: Emulator,
    clients: Clients,
    memory_options: dict[str, Any],
) -> Bench:
    """A fresh memory."""
    return Bench(agentcore, clients, new_memory(clients, **memory_options))
