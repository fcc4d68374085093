"""Where the databases differ: data, not branches."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, LiteralString

from memkit_backends.relational.driver import Row, Transaction


@dataclass(frozen=True, slots=True)
class Ask:
    """Which items a search is after: of these scopes (by number), live at `now`, of `kinds`."""

    scopes: list[int]
    now: int
    kinds: list[str] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """Every difference between two databases that the shared nouns can see.

    A difference is a fragment where that suffices, and a whole search where it does not.
    """

    name: str

    store_clock: LiteralString
    """The store's own time in microseconds: what leases go by."""

    lock_row: LiteralString
    """Ends a SELECT so that its rows are held until the transaction ends."""

    take_scope: LiteralString
    """Ends the SELECT of a scope `owner` to be claimed; rows that others hold are passed by."""

    is_one_of_texts: Callable[[LiteralString], LiteralString]
    """Follows a column: whether it is one of the texts of a list parameter."""

    is_one_of_integers: Callable[[LiteralString], LiteralString]
    """The same for integers."""

    purged_at_once: int
    """Rows that decay deletes in one transaction: others may write in between."""

    strongest: Callable[[Transaction, Ask, int], Coroutine[Any, Any, list[Row]]]
    """The so many items that fade last, per scope and policy, in falling order of `fades_at`,
    then rising id: the CANDIDATE columns, whatever stands behind them."""

    text: Callable[
        [Transaction, Ask, Sequence[str], int], Coroutine[Any, Any, tuple[list[Row], int, bool]]
    ]
    """At most so many items that hold any of the tokens: the CANDIDATE columns and the item's
    tokens; then `population`, and whether there were more. Of more, those with the rarest
    words stay."""
