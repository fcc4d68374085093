"""LangGraph's AsyncPostgresStore, with a pool of sixteen."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from importlib.metadata import version

from langgraph.store.postgres import AsyncPostgresStore
from langgraph.store.postgres.base import PoolConfig

from tests.bench.on_postgres import CALLERS, PostgresPlace
from tests.bench.peers.langgraph_store import FIELDS, LangGraphStore, kept
from tests.bench.peers.schemas import PeerSchema
from tests.bench.population import Population


class LangGraphPostgres:
    """Its table lies in the first schema of the path."""

    name = "LangGraph AsyncPostgresStore"
    recalls, records = "asearch", "aput"

    def __init__(self, place: PostgresPlace) -> None:
        self._url = place.url
        self.version = version("langgraph-checkpoint-postgres")

    async def seed(self, population: Population) -> None:
        """See `Peer.seed`."""
        schema = self._schema(population.items)

        async def setup() -> None:
            async with self._store(schema, size=1) as store:
                await store.setup()

        rows = (kept(row) for row in population.numbered())
        await schema.fill(self.version, setup, "store", FIELDS, rows)

    @asynccontextmanager
    async def opened(self, where: int | str) -> AsyncIterator[LangGraphStore]:
        """See `Peer.opened`."""
        schema = self._schema(where)
        async with AsyncExitStack() as stack:
            if isinstance(where, str):
                await stack.enter_async_context(schema.for_now())
            store = await stack.enter_async_context(self._store(schema, size=CALLERS))
            await store.setup()
            yield LangGraphStore(store)

    def _schema(self, where: int | str) -> PeerSchema:
        return PeerSchema(self._url, f"bench_langgraph_{where}")

    @asynccontextmanager
    async def _store(self, schema: PeerSchema, size: int) -> AsyncIterator[AsyncPostgresStore]:
        path = {"options": f"-c search_path={schema.name}"}
        pool = PoolConfig(min_size=size, max_size=size, kwargs=path)
        async with AsyncPostgresStore.from_conn_string(self._url, pool_config=pool) as store:
            yield store
