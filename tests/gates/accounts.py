"""The reckoning: what was acknowledged against what a store holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass

from memkit.contracts import Store
from memkit.testing.reading import all_episodes, all_items
from tests.gates.telling import FACTS


@dataclass(frozen=True, kw_only=True)
class Holdings:
    """What a store holds: how often each message key, and how many items rest on each."""

    messages: Counter[str | None]
    items: Counter[str | None]

    @classmethod
    async def of(cls, store: Store) -> Holdings:
        """Everything in `store`."""
        episodes, items = await all_episodes(store), await all_items(store)
        return cls(
            messages=Counter(message.key for each in episodes for message in each.messages),
            items=Counter(source.key for item in items for source in item.sources),
        )

    def lost(self, acknowledged: Collection[str]) -> int:
        """Messages that were acknowledged and are not there."""
        return sum(key not in self.messages for key in acknowledged)

    @property
    def doubled(self) -> int:
        """Messages that are there twice, and those whose facts are."""
        return sum(count > 1 or self.items[key] > FACTS for key, count in self.messages.items())

    @property
    def short(self) -> int:
        """Messages that lack a fact, nothing being pending any more."""
        return sum(self.items[key] < FACTS for key in self.messages)
