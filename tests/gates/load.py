"""Work on a Postgres store whose server or network fails: messages without keys, one by one."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from memkit.errors import MemkitError, OutcomeUnknown
from memkit.models import Appended, Episode, Scope, new_id, utcnow
from memkit.testing.reading import all_episodes, all_items
from memkit.testing.values import a_query, an_episode
from memkit_backends.postgres.driver import Attempt, PostgresDriver
from memkit_backends.postgres.options import Options
from memkit_backends.postgres.pooling import opened_pool
from memkit_backends.postgres.store import PostgresStore
from tests.gates.accounts import Account, Holdings
from tests.gates.t04_workers import outcome
from tests.postgres.server import parted

LEASE = timedelta(milliseconds=300)


class _Strict(PostgresDriver):
    """Never looks whether a commit whose answer was lost has happened."""

    async def _run(self, attempt: Attempt[Any], *, repeatable: bool) -> Any:  # noqa: ARG002  # the bug
        return await super()._run(attempt, repeatable=False)


class RetriesUnkeyed(PostgresStore):
    """The bug retry-unkeyed: what may have been stored is stored again, as something new."""

    async def append(
        self,
        episodes: Sequence[Episode],
        *,
        expected_head: int | None = None,
        revise: bool = False,
    ) -> list[Appended]:
        """See `Store.append`."""
        while True:
            try:
                return await super().append(episodes, expected_head=expected_head, revise=revise)
            except OutcomeUnknown:
                episodes = [each.model_copy(update={"id": new_id()}) for each in episodes]


async def open_retrying(location: str, **options: Any) -> PostgresStore:
    """A store with that bug."""
    url, settings = parted(location)
    made = Options(location=url, schema=settings["schema"], **{"max_size": 4, **options})
    driver = _Strict(await opened_pool(made), made)
    await driver.settle_schema()
    return RetriesUnkeyed(driver, made)


@dataclass
class Load:
    """Calls of a store, and what came of them. A message is known by its text."""

    store: PostgresStore
    account: Account = field(default_factory=Account)
    said: int = 0
    errors: Counter[str] = field(default_factory=Counter)

    async def record(self, session_id: str) -> bool:
        """One more message; whether it was acknowledged."""
        self.said += 1
        text = f"say {self.said}"
        self.account.note("invoke", "add", text)
        try:
            # Not in doubt for its id: it is made here, once, as core does.
            await self.store.append([an_episode(text, session_id=session_id, at=past(), tokens=1)])
        except MemkitError as exc:
            self.errors[type(exc).__name__] += 1
            self.account.note("fail" if exc.outcome == "not_done" else "unknown", "add", text)
            return False
        self.account.note("ok", "add", text)
        return True

    async def consolidate(self, budget: int = 20) -> bool:
        """Claim something and settle it; whether there was anything."""
        try:
            claim = await self.store.claim(now=utcnow(), budget=budget, lease=LEASE, context=0)
            if claim is not None:
                await self.store.settle(claim, outcome(claim, utcnow()), now=utcnow())
        except MemkitError as exc:
            self.errors[type(exc).__name__] += 1
            return True
        return claim is not None

    async def read(self) -> bool:
        """Look for something."""
        try:
            await self.store.find(a_query("fact say", Scope("ann"), strongest=5))
        except MemkitError as exc:
            self.errors[type(exc).__name__] += 1
            return False
        return True

    async def drain(self) -> None:
        """Settle everything that is pending."""
        while (await self.store.stats()).pending:
            if not await self.consolidate(budget=200):
                await asyncio.sleep(LEASE.total_seconds())

    async def holdings(self) -> Holdings:
        """How often each text is there, and how many items rest on it."""
        episodes = await all_episodes(self.store)
        texts = {each.id: each.messages[0].text for each in episodes}
        items = await all_items(self.store)
        known = Counter(texts[source.episode_id] for item in items for source in item.sources)
        return Holdings(messages=Counter(texts.values()), items=known)


def past() -> Any:
    """A time at which nothing is too young to be consolidated."""
    return utcnow() - timedelta(hours=1)
