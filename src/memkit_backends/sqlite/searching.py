"""The hot reads, in statements that need no temporary table.

A list in a statement, a recursive query or a sort makes SQLite set up a table for each call,
which costs several times what the rows cost. A further statement is a plain call on this
thread, so several small ones are the faster way.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from memkit.models import CANDIDATE_CAP
from memkit_backends.relational.candidates import CANDIDATE, POLICY
from memkit_backends.relational.dialect import Ask
from memkit_backends.relational.driver import Row, Transaction

_IS_WANTED = """
       item.status = 'active'
   AND item.expires_at > :now
   AND (:kinds IS NULL OR item.kind IN (SELECT value FROM json_each(:kinds)))
"""

_NEVER_STORED = re.compile("[\\0-/:-`{-\\x7f]")
"""In ASCII, core's tokens are of lower-case letters and digits alone."""


async def strongest(tx: Transaction, ask: Ask, count: int) -> list[Row]:
    """See `Dialect.strongest`."""
    rows: list[Row] = []
    for scope_pk in ask.scopes:
        policy: str | None = ""
        while policy is not None:
            ranged = await _strongest_after(tx, ask, scope_pk, policy, count)
            rows += [row[:-1] for row in ranged]
            if ranged:
                reached, last = ranged[0][POLICY], ranged[0][-1]
                policy = reached if reached < last else None
            else:
                policy = await _policy_after(tx, scope_pk, policy)
    return rows


_POLICY_AFTER = """
    SELECT min(policy)
      FROM item INDEXED BY item_strongest
     WHERE scope_pk = :scope
       AND status = 'active'
       AND policy > :policy
"""
"""One leap through the index."""


async def _policy_after(tx: Transaction, scope_pk: int, policy: str) -> str | None:
    """The next policy of a scope. Index: item_strongest (scope_pk, policy, ...)."""
    row = await tx.fetch_one(_POLICY_AFTER, scope=scope_pk, policy=policy)
    return None if row is None else row[0]


async def _strongest_after(
    tx: Transaction, ask: Ask, scope_pk: int, policy: str, count: int
) -> list[Row]:
    """The CANDIDATE columns of the next policy of a scope, and what its last policy is."""
    # Index: item_strongest, which holds all that is asked.
    return await tx.fetch_all(
        f"""
        SELECT {CANDIDATE},
               (SELECT max(policy)
                  FROM item INDEXED BY item_strongest
                 WHERE scope_pk = :scope
                   AND status = 'active')
          FROM item INDEXED BY item_strongest
         WHERE item.scope_pk = :scope
           AND item.policy = ({_POLICY_AFTER})
           AND {_IS_WANTED}
         ORDER BY item.fades_at DESC, item.id
         LIMIT :count
        """,
        scope=scope_pk,
        policy=policy,
        now=ask.now,
        kinds=ask.kinds,
        count=count,
    )


async def text(
    tx: Transaction, ask: Ask, tokens: Sequence[str], most: int
) -> tuple[list[Row], int, bool]:
    """See `Dialect.text`."""
    population = await _population(tx, ask, max(most, CANDIDATE_CAP) + 1)
    words = _words(ask, tokens) if population else []
    if population <= most:
        return await _matches(tx, ask, words, most), population, False
    # One more than asked tells whether there are more.
    rows = await _rarest_first(tx, ask, words, most + 1)
    return rows[:most], population, len(rows) > most


def _words(ask: Ask, tokens: Sequence[str]) -> list[str]:
    """The words of the index: the scope's number before each token, as its triggers put it.

    Within quotes they are never a query language. A token that no item can have is left
    out: the index would read "tea*" as "tea", which is another word.
    """
    known = [each for each in dict.fromkeys(tokens) if not _NEVER_STORED.search(each)]
    return [f'"{scope_pk}x{token}"' for scope_pk in ask.scopes for token in known]


async def _matches(tx: Transaction, ask: Ask, words: Sequence[str], most: int) -> list[Row]:
    """Items that hold any of the words, the newest first."""
    if not words:
        return []
    return await tx.fetch_all(
        f"""
        SELECT {CANDIDATE}, item.tokens
          FROM item_text
          JOIN item ON item.pk = item_text.rowid
         WHERE item_text MATCH :words
           AND {_IS_WANTED}
         ORDER BY item_text.rowid DESC
         LIMIT :most
        """,
        words=" OR ".join(words),
        now=ask.now,
        kinds=ask.kinds,
        most=most,
    )


async def _rarest_first(tx: Transaction, ask: Ask, words: Sequence[str], most: int) -> list[Row]:
    """At most `most` of the matches: all that hold a rare word, then the newest of the others."""
    counts = {word: await _holders(tx, word) for word in words}
    by_rarity = sorted((word for word in words if counts[word]), key=lambda word: counts[word])
    rare: list[str] = []
    held = 0
    while by_rarity and held + counts[by_rarity[0]] <= most:
        held += counts[by_rarity[0]]
        rare.append(by_rarity.pop(0))
    rows = {row[0]: row for row in await _matches(tx, ask, rare, most)}
    while by_rarity and len(rows) < most:
        further = await _matches(tx, ask, [by_rarity.pop(0)], most)
        rows |= {row[0]: row for row in further if row[0] not in rows}
    return list(rows.values())[:most]


async def _holders(tx: Transaction, word: str) -> int:
    row = await tx.fetch_one(
        "SELECT count(*) FROM item_text WHERE item_text MATCH :word", word=word
    )
    return 0 if row is None else int(row[0])


async def _population(tx: Transaction, ask: Ask, most: int) -> int:
    """How many items of the scopes are live; `most` of each are counted."""
    population = 0
    for scope_pk in ask.scopes:
        # Index: item_strongest (scope_pk, policy, fades_at DESC, id, expires_at, kind).
        row = await tx.fetch_one(
            f"""
            SELECT count(*)
              FROM (SELECT 1
                      FROM item INDEXED BY item_strongest
                     WHERE item.scope_pk = :scope
                       AND {_IS_WANTED}
                     LIMIT :most)
            """,
            scope=scope_pk,
            now=ask.now,
            kinds=ask.kinds,
            most=most,
        )
        population += 0 if row is None else int(row[0])
    return population
