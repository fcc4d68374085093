"""The store on any SQL database: its nouns, over one driver."""

from __future__ import annotations

from memkit_backends.relational.backgrounds import Backgrounds
from memkit_backends.relational.claims import Claims
from memkit_backends.relational.episodes import Episodes
from memkit_backends.relational.forgetting import Forgetting
from memkit_backends.relational.items import Items
from memkit_backends.relational.jobs import Jobs
from memkit_backends.relational.pages import Pages
from memkit_backends.relational.purging import Purging
from memkit_backends.relational.settling import Settling
from memkit_backends.relational.statistics import Statistics
from memkit_backends.relational.tails import Tails


class RelationalStore(
    Episodes,
    Tails,
    Backgrounds,
    Items,
    Pages,
    Statistics,
    Forgetting,
    Purging,
    Claims,
    Settling,
    Jobs,
):
    """A `Store` and a `Ledger`. Each noun keeps to its own tables and its own file."""

    async def aclose(self) -> None:
        """See `Store.aclose`."""
        await self._driver.aclose()
