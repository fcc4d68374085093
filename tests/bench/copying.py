"""Filling a table of Postgres by COPY."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tests.bench.population import Row


async def copied(
    connection: Any, schema: str, table: str, columns: Sequence[str], rows: Iterable[Row]
) -> None:
    """Write the rows; indexes are made afterwards, which is several times as fast."""
    await connection.execute("SET maintenance_work_mem = '256MB'; SET synchronous_commit = off")
    indexes = await connection.fetch(
        "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = $1 AND tablename = $2"
        " AND indexname NOT IN (SELECT conname FROM pg_constraint)",
        schema,
        table,
    )
    for index in indexes:
        await connection.execute(f"DROP INDEX {schema}.{index['indexname']}")
    await connection.copy_records_to_table(
        table, schema_name=schema, columns=columns, records=rows, timeout=None
    )
    for index in indexes:
        await connection.execute(index["indexdef"])
    await connection.execute(f"VACUUM ANALYZE {schema}.{table}")
    await connection.execute("RESET ALL; CHECKPOINT")
