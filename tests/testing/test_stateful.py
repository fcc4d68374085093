"""The machine finds no difference between a store and itself, and finds what is wrong."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from memkit.inmemory import InMemoryStore
from memkit.testing.clock import ManualClock
from memkit.testing.stateful import StoreMachine
from memkit.testing.wrong import Wrong
from memkit.testing.wrong.finding import MatchesScopesAsPatterns
from memkit.testing.wrong.leasing import IgnoresFences
from memkit.testing.wrong.purging import PurgesThePinned
from memkit.testing.wrong.settling import SettlesAgain

QUICK = settings(
    max_examples=40,
    stateful_step_count=20,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)


class InMemoryMachine(StoreMachine):
    """The reference beside itself."""

    async def open_store(self, clock: ManualClock) -> InMemoryStore:
        """Another one."""
        return InMemoryStore(lease_clock=clock)


class TestInMemory(InMemoryMachine.TestCase):
    """Two of a kind agree."""

    settings = QUICK


@pytest.mark.parametrize(
    "wrong", [MatchesScopesAsPatterns, IgnoresFences, PurgesThePinned, SettlesAgain]
)
def test_the_machine_notices_a_wrong_store(wrong: type[Wrong]) -> None:
    """Beside the reference, a store that is wrong gives another answer before long."""

    class Machine(StoreMachine):
        async def open_store(self, clock: ManualClock) -> InMemoryStore:
            return wrong(clock)

    with pytest.raises((AssertionError, ExceptionGroup)):
        run_state_machine_as_test(
            Machine, settings=settings(QUICK, max_examples=300, phases=[Phase.generate])
        )


def test_the_machine_notices_the_wrong_one_of_several() -> None:
    """Any number of stores is compared at once, on a loop that outlives the examples."""

    class Machine(StoreMachine):
        async def open_stores(self, clock: ManualClock) -> list[InMemoryStore]:
            return [InMemoryStore(lease_clock=clock), MatchesScopesAsPatterns(clock)]

    with asyncio.Runner() as runner:
        Machine.runner = runner
        with pytest.raises((AssertionError, ExceptionGroup)):
            run_state_machine_as_test(
                Machine, settings=settings(QUICK, max_examples=300, phases=[Phase.generate])
            )
        assert not runner.get_loop().is_closed()
