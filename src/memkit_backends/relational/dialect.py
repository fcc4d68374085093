"""Where the databases differ: data, not branches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import LiteralString

from memkit_backends.relational.driver import Value


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """Every difference between two databases that the shared nouns can see."""

    name: str

    store_clock: LiteralString
    """The store's own time in microseconds: what leases go by."""

    lock_row: LiteralString
    """Ends a SELECT so that its rows are held until the transaction ends."""

    take_scope: LiteralString
    """Ends the SELECT of a scope `owner` to be claimed; rows that others hold are passed by."""

    each_text: Callable[[LiteralString], LiteralString]
    """A subquery of one column, `value`: the texts of a list parameter."""

    each_integer: Callable[[LiteralString], LiteralString]
    """The same for integers."""

    strongest: LiteralString
    """The CANDIDATE columns of the `:strongest` items that fade last, per scope and policy.

    Takes `:scopes`, `:now`, `:kinds` (a list, or NULL for all).
    """

    text: LiteralString
    """The CANDIDATE columns and the tokens of items that match `:words`, at most `:most`.

    Takes `:scopes`, `:now`, `:kinds` besides.
    """

    words: Callable[[Sequence[str]], Value]
    """What `text` expects as `:words`, made of a query's tokens."""
