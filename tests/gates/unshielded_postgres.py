"""The bug no-shield on Postgres: one session for all, left as a cancellation left it."""

from __future__ import annotations

import asyncio
from typing import Any, TypeVar

import asyncpg

from memkit_backends.postgres.driver import PostgresDriver
from memkit_backends.postgres.options import Options
from memkit_backends.postgres.pooling import opened_pool
from memkit_backends.postgres.store import PostgresStore
from memkit_backends.postgres.transaction import Deadline
from memkit_backends.relational.driver import Work
from tests.postgres.server import parted

Answer = TypeVar("Answer")


class _Unshielded(PostgresDriver):
    """Errors are rolled back; a cancellation is no `Exception`, and is forgotten."""

    def __init__(self, connection: Any, *rest: Any) -> None:
        super().__init__(*rest)
        self._one = connection
        self._one_at_a_time = asyncio.Lock()

    async def write(self, work: Work[Answer], *, repeatable: bool = False) -> Answer:  # noqa: ARG002  # it is never repeated
        """See `Driver.write`."""
        async with self._one_at_a_time:
            await self._one.execute("BEGIN")
            try:
                # Longer than it takes, so that more of the cancellations fall into it.
                await self._one.execute("SELECT pg_sleep(0.004)")
                answer = await work(self._writing(self._one, Deadline(30)))
            except Exception:
                await self._one.execute("ROLLBACK")
                raise
            await self._one.execute("COMMIT")
            return answer

    async def aclose(self) -> None:
        """See `Driver.aclose`."""
        self._one.terminate()
        await super().aclose()


async def open_unshielded_postgres(location: str) -> PostgresStore:
    """A store on that driver."""
    url, settings = parted(location)
    options = Options(location=url, schema=settings["schema"], max_size=4)
    one = await asyncpg.connect(url)
    return PostgresStore(_Unshielded(one, await opened_pool(options), options), options)
