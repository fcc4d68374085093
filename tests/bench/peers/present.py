"""Which peers are installed."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from tests.bench.on_postgres import PostgresPlace
from tests.bench.on_sqlite import SqlitePlace
from tests.bench.peers.peer import Peer

KNOWN = {
    "postgres": {
        "agent-memory-layer": ("memory_layer", "MemoryLayer"),
        "langgraph-checkpoint-postgres": ("langgraph_postgres", "LangGraphPostgres"),
    },
    "sqlite": {"langgraph-checkpoint-sqlite": ("langgraph_sqlite", "LangGraphSqlite")},
}
"""By place and distribution, the module here and its class."""


def peers_of(place: PostgresPlace | SqlitePlace, told: Callable[[str], None]) -> list[Peer]:
    """The peers on a place; those that do not import are named and left out."""
    found: list[Peer] = []
    for distribution, (module, name) in KNOWN[place.name].items():
        try:
            made = getattr(import_module(f"tests.bench.peers.{module}"), name)(place)
        except ImportError as error:
            told(f"{distribution} is left out: {error}")
            continue
        told(f"{distribution} {made.version} is measured beside memkit")
        found.append(made)
    return found
