"""What stores say of themselves: capabilities, pages, counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

from pydantic import AwareDatetime, Field

from memkit.models.base import Model

Row = TypeVar("Row")


class Limits(Model):
    """The most a store takes of an item; `None` where it sets no limit.

    Core keeps to it: what a host tells is refused, what an extractor proposes is left out.
    """

    content_characters: int | None = None
    metadata_keys: int | None = None
    shortest_ttl_days: int | None = None


class Capabilities(Model):
    """What a store offers. What is declared is tested; what is not raises `CapabilityError`.

    `durable`: what was written is there again when the store is closed and opened anew.
    """

    name: str
    durable: bool = True
    transactions: bool
    consistency: Literal["immediate", "eventual"]
    leases: Literal["exclusive", "advisory", "none"]
    documents: bool = False
    vectors: bool = False
    extracts_itself: bool = False
    limits: Limits = Limits()


@dataclass(frozen=True, slots=True)
class Page(Generic[Row]):
    """Rows in a total order. `after` resumes behind them; `None` means that was the end."""

    rows: tuple[Row, ...]
    after: str | None = None


class Purged(Model):
    """What was past its time. `unread` episodes expired before they were consolidated.

    `more` says that the limit cut the pass short: call again.
    """

    item_ids: tuple[str, ...] = ()
    episode_ids: tuple[str, ...] = ()
    unread: int = 0
    more: bool = False

    def __add__(self, later: Purged) -> Purged:
        return Purged(
            item_ids=self.item_ids + later.item_ids,
            episode_ids=self.episode_ids + later.episode_ids,
            unread=self.unread + later.unread,
            more=later.more,
        )


class Stats(Model):
    """Counts. `policies` counts items by decay policy, `kinds` by kind, both live or not."""

    items: int = 0
    kinds: dict[str, int] = Field(default_factory=dict)
    policies: dict[str, int] = Field(default_factory=dict)
    superseded: int = 0
    quarantined: int = 0
    pinned: int = 0
    episodes: int = 0
    messages: int = 0
    pending: int = 0
    dead: int = 0
    scopes: int = 0
    oldest_pending_at: AwareDatetime | None = None


class Finding(Model):
    """Something `check` noticed, and what to do about it."""

    level: Literal["info", "warning", "error"]
    code: str
    message: str


class Migrated(Model):
    """Schema versions before and after, and the names of the migrations applied between."""

    found: int
    now: int
    applied: tuple[str, ...] = ()
