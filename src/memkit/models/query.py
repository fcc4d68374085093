"""What is looked for, and the narrow rows that a store answers with before core ranks them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from memkit.models.item import Kind, Origin
from memkit.models.scope import Scope

CANDIDATE_CAP = 2000
"""Text candidates a store returns at most for one query. Below it, match sets are exact."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """Which candidates to fetch. Every channel that is asked for is answered separately.

    `strongest`: how many items per scope and decay policy, those that fade last. `tokens`
    with `text`: up to `text` items that hold any of the tokens. `exact`: items with one of
    these content hashes, quarantined ones among them: what is met again must be told from
    what is new. `kinds` narrows all channels.
    """

    scopes: tuple[Scope, ...]
    now: datetime
    strongest: int = 0
    tokens: tuple[str, ...] = ()
    text: int = CANDIDATE_CAP
    exact: tuple[str, ...] = ()
    kinds: tuple[Kind, ...] | None = None


class Candidate(NamedTuple):
    """One narrow row, as a database's row has it. Times are microseconds since the epoch, UTC.

    `session_id` and `position` name the item's first source; `tokens` is filled in the text
    channel only.
    """

    id: str
    scope: Scope
    content: str
    kind: Kind
    origin: Origin
    policy: str
    fades_at: int
    observed_at: int
    session_id: str | None = None
    position: int | None = None
    tokens: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """Rows by channel.

    `strongest` is in falling order of `fades_at`, then rising id, within a policy; `text` is
    in no stated order. `population` counts the live items of the scopes (after `kinds`), at
    least up to `CANDIDATE_CAP`, for rarity; it is filled when text was asked. `truncated`
    says that the text channel held more than was returned.
    """

    strongest: tuple[Candidate, ...] = ()
    text: tuple[Candidate, ...] = ()
    exact: tuple[Candidate, ...] = ()
    population: int = 0
    truncated: bool = False
