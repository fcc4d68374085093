"""agent-memory-layer on Postgres: what its inject and record nodes call."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from importlib.metadata import version

from agent_memory_layer import (
    EpisodeRecord,
    EpisodeRepository,
    MemoryConfig,
    MemoryItemRepository,
    apply_migrations,
    get_pool,
)

from memkit.decay import from_microseconds
from tests.bench.on_postgres import CALLERS, PostgresPlace
from tests.bench.peers.schemas import PeerSchema
from tests.bench.places import SHOWN
from tests.bench.population import COLUMNS, Population, Row, scope_of
from tests.bench.records import Said

FIELDS = (
    "id", "user_id", "agent_id", "workflow_id", "content", "memory_types", "importance",
    "created_at", "updated_at",
)  # fmt: skip
LEAST = 0.1
"""The importance below which its node shows nothing, as it comes."""


class MemoryLayer:
    """Its repositories, with a pool of sixteen."""

    name = "agent-memory-layer"
    recalls, records = "fetch_by_scope", "save"

    def __init__(self, place: PostgresPlace) -> None:
        self._url = place.url
        self.version = version("agent-memory-layer")

    async def seed(self, population: Population) -> None:
        """See `Peer.seed`."""

        async def setup() -> None:
            async with get_pool(self._config(population.items)) as pool:
                await apply_migrations(pool, self._config(population.items))

        schema = self._schema(population.items)
        rows = (fields_of(row) for row in population.numbered())
        await schema.fill(self.version, setup, "memory_items", FIELDS, rows)

    @asynccontextmanager
    async def opened(self, where: int | str) -> AsyncIterator[MemoryLayerStore]:
        """See `Peer.opened`."""
        config = self._config(where)
        schema = self._schema(where)
        async with AsyncExitStack() as stack:
            if isinstance(where, str):
                await stack.enter_async_context(schema.for_now())
            pool = await stack.enter_async_context(
                get_pool(config, min_size=CALLERS, max_size=CALLERS)
            )
            await apply_migrations(pool, config)
            yield MemoryLayerStore(
                MemoryItemRepository(pool, schema=schema.name),
                EpisodeRepository(pool, schema=schema.name),
            )

    def _schema(self, where: int | str) -> PeerSchema:
        return PeerSchema(self._url, f"bench_memory_layer_{where}")

    def _config(self, where: int | str) -> MemoryConfig:
        return MemoryConfig(
            _env_file=None,
            sap_memory_db_url=self._url,
            sap_memory_db_schema=self._schema(where).name,
        )


class MemoryLayerStore:
    """One schema."""

    def __init__(self, items: MemoryItemRepository, episodes: EpisodeRepository) -> None:
        self._items, self._episodes = items, episodes

    async def recall(self, scope: int) -> Sequence[object]:
        """See `PeerStore.recall`."""
        user = scope_of(scope).user_id
        return await self._items.fetch_by_scope(user_id=user, min_importance=LEAST, limit=SHOWN)

    async def record(self, caller: int, turn: list[Said]) -> None:
        """See `PeerStore.record`."""
        user = scope_of(caller).user_id
        await self._episodes.save(EpisodeRecord(user_id=user, messages=turn))


def fields_of(row: Row) -> Row:
    """The same item as a row of its table, in the order of FIELDS."""
    told = dict(zip(COLUMNS, row, strict=True))
    then = from_microseconds(int(str(told["created_at"])))
    user = scope_of(int(str(told["scope_pk"]))).user_id
    content, kind, importance = told["content"], told["kind"], told["importance"]
    return (told["id"], user, None, None, content, kind, importance, then, then)
