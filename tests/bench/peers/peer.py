"""What is asked of a peer."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from tests.bench.population import Population
from tests.bench.records import Said

CONTENTS = 1
"""Raised when what a peer is filled with changes, so that a kept store is filled anew."""


class PeerStore(Protocol):
    """One store of a peer, open."""

    async def recall(self, scope: int) -> Sequence[object]:
        """The 20 items of a scope that it puts first."""
        ...

    async def record(self, caller: int, turn: list[Said]) -> None:
        """Keep ten messages, durable on return."""
        ...


class Peer(Protocol):
    """A package, with its own tables and indexes, on the database of a place."""

    name: str
    version: str
    recalls: str
    """The call of its own that `recall` is."""
    records: str
    """The call of its own that `record` is."""

    async def seed(self, population: Population) -> None:
        """See to it that a store with these items is there, filled past the peer."""
        ...

    def opened(self, where: int | str) -> AbstractAsyncContextManager[PeerStore]:
        """The store with so many items, or a new one with a name, gone afterwards."""
        ...
