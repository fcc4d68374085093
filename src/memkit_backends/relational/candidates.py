"""Finding: narrow rows by channel, built where they are read and ranked by core."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final, LiteralString

from memkit.decay import microseconds
from memkit.models import Candidate, Candidates, Query, Scope
from memkit_backends.relational import scopes as scope_rows
from memkit_backends.relational.dialect import Ask, Dialect
from memkit_backends.relational.driver import Driver, Row, Transaction
from memkit_backends.relational.noun import Noun

CANDIDATE: Final[LiteralString] = """
       item.id, item.scope_pk, item.content, item.kind, item.origin, item.policy,
       item.fades_at, item.observed_at, item.session_id, item.position
"""
"""The columns of a candidate in its order; its scope is a number here."""

POLICY: Final = Candidate._fields.index("policy")
"""Where a candidate's policy stands."""

KNOWN_SCOPES = 10_000
"""How many scopes' numbers are remembered. A number is never given to another scope."""


class Finding(Noun):
    """`Store.find`."""

    def __init__(self, driver: Driver, dialect: Dialect) -> None:
        super().__init__(driver, dialect)
        self._numbers: dict[str, int] = {}

    async def find(self, query: Query) -> Candidates:
        """See `Store.find`."""
        return await self._driver.read_each(partial(self._find, query))

    async def _find(self, query: Query, tx: Transaction) -> Candidates:
        scopes = await self._scopes(tx, query)
        kinds = None if query.kinds is None else list(query.kinds)
        ask = Ask(list(scopes), microseconds(query.now), kinds)
        strongest = text = exact = tuple[Candidate, ...]()
        population, is_cut = 0, False
        if query.strongest > 0:
            strongest = _built(await self._dialect.strongest(tx, ask, query.strongest), scopes)
        if query.tokens and query.text > 0:
            rows, population, is_cut = await self._dialect.text(tx, ask, query.tokens, query.text)
            text = _built(rows, scopes)
        if query.exact:
            exact = _built(await self._exact(tx, ask, query.exact), scopes)
        return Candidates(
            strongest=strongest, text=text, exact=exact, population=population, truncated=is_cut
        )

    async def _scopes(self, tx: Transaction, query: Query) -> dict[int, Scope]:
        """Those of the query's scopes that anything was ever kept in, by number."""
        if len(self._numbers) > KNOWN_SCOPES:
            self._numbers.clear()
        scopes: dict[int, Scope] = {}
        for scope in query.scopes:
            key = scope.key
            number = self._numbers.get(key) or await scope_rows.known(tx, key)
            if number is not None:
                self._numbers[key] = number
                scopes[number] = scope
        return scopes

    async def _exact(self, tx: Transaction, ask: Ask, hashes: Sequence[str]) -> list[Row]:
        # Index: item_content (scope_pk, content_hash).
        return await tx.fetch_all(
            f"""
            SELECT {CANDIDATE}
              FROM item
             WHERE item.scope_pk {self._dialect.is_one_of_integers(":scopes")}
               AND item.content_hash {self._dialect.is_one_of_texts(":hashes")}
               AND item.status IN ('active', 'quarantined')
               AND item.expires_at > :now
               AND (item.kind {self._dialect.is_one_of_texts(":kinds")} OR :kinds IS NULL)
             ORDER BY item.id
            """,
            scopes=ask.scopes,
            now=ask.now,
            kinds=ask.kinds,
            hashes=list(hashes),
        )


def _built(rows: Sequence[Row], scopes: dict[int, Scope]) -> tuple[Candidate, ...]:
    """The candidates that rows of CANDIDATE columns make, with their tokens behind or without."""
    return tuple([Candidate(row[0], scopes[row[1]], *row[2:]) for row in rows])
