"""The store of the bug no-fence: whoever settles is taken at his word."""

from __future__ import annotations

from typing import Any

from memkit.models import Claim
from memkit_backends.postgres.driver import PostgresDriver
from memkit_backends.postgres.options import Options
from memkit_backends.postgres.pooling import opened_pool
from memkit_backends.postgres.store import PostgresStore
from memkit_backends.relational.scopes import Held
from tests.postgres.server import parted


class Unfenced(PostgresStore):
    """Settles without a look at the fence."""

    def _guard(self, claim: Claim, held: Held) -> None:
        """The bug."""


async def open_unfenced(location: str, **options: Any) -> PostgresStore:
    """A store with that bug."""
    url, settings = parted(location)
    made = Options(location=url, schema=settings["schema"], **{"max_size": 4, **options})
    driver = PostgresDriver(await opened_pool(made), made)
    await driver.settle_schema()
    return Unfenced(driver, made)
