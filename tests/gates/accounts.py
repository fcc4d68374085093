"""The reckoning: what was asked and acknowledged against what a store holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from memkit.contracts import Store
from memkit.testing.history import HistoryEvent, Kind, Stage, check
from memkit.testing.reading import all_episodes, all_items
from tests.gates.telling import FACTS
from tests.gates.verdict import Verdict


@dataclass(frozen=True, kw_only=True)
class Holdings:
    """What a store holds: how often each message key, and how many items rest on each."""

    messages: Counter[str]
    items: Counter[str]

    @classmethod
    async def of(cls, store: Store) -> Holdings:
        """Everything in `store` that has a message key."""
        episodes, items = await all_episodes(store), await all_items(store)
        told = (message.key for each in episodes for message in each.messages)
        known = (source.key for item in items for source in item.sources)
        return cls(messages=Counter(filter(None, told)), items=Counter(filter(None, known)))


@dataclass
class Account:
    """The history of one memory as those saw it who used it, be they many."""

    events: list[HistoryEvent] = field(default_factory=list)
    _open: dict[tuple[Kind, str], int] = field(default_factory=dict)

    def note(self, stage: Stage, kind: Kind, key: str) -> None:
        """That a call of this kind begins, or how it ended."""
        if stage == "invoke":
            self._open[kind, key] = len(self.events)
        operation = self._open[kind, key]
        self.events.append(HistoryEvent(operation=operation, kind=kind, stage=stage, key=key))

    def read(self, lines: Iterable[str]) -> None:
        """Note what a child has said, in lines such as "ok add message-1"."""
        for line in lines:
            match line.split(" "):
                case ["invoke" | "ok" as stage, "add" | "forget" as kind, key]:
                    self.note(stage, kind, key)

    @property
    def acknowledged(self) -> int:
        """How many calls were."""
        return sum(event.stage == "ok" for event in self.events)

    def verdict(self, holdings: Holdings) -> Verdict:
        """What is lost or doubled, nothing being pending any more.

        A message that lacks one of its facts counts as lost, one with a fact too many as
        doubled; a fact whose message is not there was forgotten in vain.
        """
        found = Counter(
            violation.what for violation in check(self.events, holdings.messages.elements())
        )
        items, messages = holdings.items, holdings.messages
        return Verdict(
            lost=found["lost"] + sum(items[key] < FACTS for key in messages),
            doubled=found["doubled"] + sum(items[key] > FACTS for key in messages),
            failed=found["forgotten"]
            + found["unasked"]
            + sum(key not in messages for key in items)
            + (not self.acknowledged),
            facts={"acknowledged": self.acknowledged, "items": items.total()},
        )
