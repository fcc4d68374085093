"""Finding: narrow rows by channel, built where they are read and ranked by core."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final, LiteralString

from memkit.decay import microseconds
from memkit.models import CANDIDATE_CAP, Candidate, Candidates, Query, Scope
from memkit_backends.relational.driver import Row, Transaction, Value
from memkit_backends.relational.noun import Noun

CANDIDATE: Final[LiteralString] = """
       item.id, scope.key, item.content, item.kind, item.origin, item.policy, item.fades_at,
       item.observed_at, item.content_hash, item.session_id, item.position
"""
"""The columns of a candidate, of `item` joined to its `scope`."""

_TOKENS = 11
"""Where the tokens stand, if a row has them."""


class Finding(Noun):
    """`Store.find`."""

    async def find(self, query: Query) -> Candidates:
        """See `Store.find`."""
        return await self._driver.read(partial(self._find, query))

    async def _find(self, query: Query, tx: Transaction) -> Candidates:
        scopes = {scope.key: scope for scope in query.scopes}
        filters = _filters(query, scopes)
        strongest = text = exact = tuple[Candidate, ...]()
        population = 0
        if query.strongest > 0:
            rows = await tx.fetch_all(self._dialect.strongest, strongest=query.strongest, **filters)
            strongest = _built(rows, scopes)
        if query.tokens and query.text > 0:
            # One more than asked tells whether there were more.
            rows = await tx.fetch_all(
                self._dialect.text,
                words=self._dialect.words(query.tokens),
                most=query.text + 1,
                **filters,
            )
            text = _built(rows, scopes)
            population = await self._population(tx, filters)
        if query.exact:
            exact = _built(await self._exact(tx, query, filters), scopes)
        return Candidates(
            strongest=strongest,
            text=text[: query.text],
            exact=exact,
            population=population,
            truncated=len(text) > query.text,
        )

    async def _population(self, tx: Transaction, filters: dict[str, Value]) -> int:
        # Index: item_strongest (scope_pk, policy, fades_at DESC, id, expires_at, kind).
        row = await tx.fetch_one(
            f"""
            SELECT count(*)
              FROM (SELECT 1
                      FROM item
                     WHERE scope_pk IN (SELECT pk FROM scope
                                         WHERE key IN ({self._dialect.each_text(":scopes")}))
                       AND status = 'active'
                       AND expires_at > :now
                       AND (:kinds IS NULL OR kind IN ({self._dialect.each_text(":kinds")}))
                     LIMIT :most) AS live
            """,
            most=CANDIDATE_CAP,
            **filters,
        )
        return 0 if row is None else int(row[0])

    async def _exact(self, tx: Transaction, query: Query, filters: dict[str, Value]) -> list[Row]:
        # Index: item_content (scope_pk, content_hash).
        return await tx.fetch_all(
            f"""
            SELECT {CANDIDATE}
              FROM scope
              JOIN item ON item.scope_pk = scope.pk
             WHERE scope.key IN ({self._dialect.each_text(":scopes")})
               AND item.content_hash IN ({self._dialect.each_text(":hashes")})
               AND item.status = 'active'
               AND item.expires_at > :now
               AND (:kinds IS NULL OR item.kind IN ({self._dialect.each_text(":kinds")}))
             ORDER BY item.id
            """,
            hashes=list(query.exact),
            **filters,
        )


def _filters(query: Query, scopes: dict[str, Scope]) -> dict[str, Value]:
    return {
        "scopes": list(scopes),
        "now": microseconds(query.now),
        "kinds": None if query.kinds is None else list(query.kinds),
    }


def _built(rows: Sequence[Row], scopes: dict[str, Scope]) -> tuple[Candidate, ...]:
    """The candidates of rows of CANDIDATE columns, with or without the tokens after them."""
    return tuple(
        Candidate(
            id=row[0],
            scope=scopes[row[1]],
            content=row[2],
            kind=row[3],
            origin=row[4],
            policy=row[5],
            fades_at=row[6],
            observed_at=row[7],
            content_hash=row[8],
            session_id=row[9],
            position=row[10],
            tokens=row[_TOKENS] if len(row) > _TOKENS else None,
        )
        for row in rows
    )
