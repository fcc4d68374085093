"""A machine that does anything to a store beside the reference, and compares every answer.

    from memkit.inmemory import InMemoryStore
    from memkit.testing import StoreMachine

    class MyMachine(StoreMachine):
        async def open_store(self, clock):
            return InMemoryStore(lease_clock=clock)

    TestMyMachine = MyMachine.TestCase

How many examples and steps it tries is Hypothesis' to say: `TestMyMachine.settings`.
"""

from memkit.testing.stateful.reading import Reading

__all__ = ["StoreMachine"]


class StoreMachine(Reading):
    """Any store that is a ledger, beside the one in memory."""
