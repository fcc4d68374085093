"""The hot reads: one statement each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, LiteralString

from memkit.models import CANDIDATE_CAP
from memkit_backends.relational.candidates import CANDIDATE
from memkit_backends.relational.dialect import Ask
from memkit_backends.relational.driver import Row, Transaction

_IS_OF_KIND: Final[LiteralString] = """
       (CAST(:kinds AS TEXT[]) IS NULL OR item.kind = ANY(CAST(:kinds AS TEXT[])))
"""
_IS_LIVE: Final[LiteralString] = """
       item.status = 'active'
   AND item.expires_at > :now
"""
_IS_WANTED: Final[LiteralString] = f"""
       {_IS_LIVE}
   AND item.kind = ANY(CAST(:kinds AS TEXT[]))
"""


def _wanted(ask: Ask) -> LiteralString:
    # Two statements rather than one with an OR, and one for each scope rather than a list of
    # them: what is cheap for any value is planned once, and else anew for each call.
    return _IS_LIVE if ask.kinds is None else _IS_WANTED


async def strongest(tx: Transaction, ask: Ask, count: int) -> list[Row]:
    """See `Dialect.strongest`."""
    rows: list[Row] = []
    for scope_pk in ask.scopes:
        # One leap through the index to each policy, then a range for each.
        # Index: item_strongest (scope_pk, policy, fades_at DESC, id, expires_at, kind).
        rows += await tx.fetch_all(
            f"""
            WITH RECURSIVE range (policy) AS (
                SELECT min(policy)
                  FROM item
                 WHERE scope_pk = :scope
                   AND status = 'active'
                 UNION ALL
                SELECT (SELECT min(policy)
                          FROM item
                         WHERE scope_pk = :scope
                           AND status = 'active'
                           AND policy > range.policy)
                  FROM range
                 WHERE range.policy IS NOT NULL
            )
            SELECT ranged.*
              FROM range
             CROSS JOIN LATERAL (
                   SELECT {CANDIDATE}
                     FROM item
                    WHERE item.scope_pk = :scope
                      AND item.policy = range.policy
                      AND {_wanted(ask)}
                    ORDER BY item.fades_at DESC, item.id
                    LIMIT :count
                   ) AS ranged
             WHERE range.policy IS NOT NULL
            """,
            scope=scope_pk,
            now=ask.now,
            kinds=ask.kinds,
            count=count,
        )
    return rows


WORDS: Final[LiteralString] = """
       string_to_array(
           CAST(item.scope_pk AS TEXT) || 'x'
               || replace(item.tokens, ' ', ' ' || CAST(item.scope_pk AS TEXT) || 'x'),
           ' '
       )
"""
"""What the index of words holds, to the letter."""

# Planned to be read to its end, though nobody may do so: a plan for any words at all would, for
# a few rows of a small table, walk through the table. By that plan, too, an index on dates
# would seem to be of use, which the difference of dates forestalls.
_HELD: Final[LiteralString] = f"""
    WITH held AS MATERIALIZED (
        SELECT {CANDIDATE}, item.tokens, item.pk
          FROM item
         WHERE {WORDS} && CAST(:words AS TEXT[])
           AND item.status = 'active'
           AND item.expires_at - CAST(:now AS BIGINT) > 0
           AND {_IS_OF_KIND}
    )
"""


async def text(
    tx: Transaction, ask: Ask, tokens: Sequence[str], most: int
) -> tuple[list[Row], int, bool]:
    """See `Dialect.text`."""
    population = await _population(tx, ask)
    if not population:
        return [], 0, False
    words = [f"{scope_pk}x{token}" for scope_pk in ask.scopes for token in dict.fromkeys(tokens)]
    # One more than asked tells whether there are more.
    rows = await _matches(tx, ask, words, most + 1)
    is_cut = len(rows) > most
    if is_cut:
        rows = await _with_rarest_words(tx, ask, words, most)
    return rows, population, is_cut


async def _matches(tx: Transaction, ask: Ask, words: list[str], most: int) -> list[Row]:
    """Items that hold any of the words."""
    # Index: item_words.
    return await tx.fetch_all(
        f"""
        {_HELD}
        SELECT {CANDIDATE}, item.tokens
          FROM held AS item
         LIMIT :most
        """,
        words=words,
        now=ask.now,
        kinds=ask.kinds,
        most=most,
    )


async def _population(tx: Transaction, ask: Ask) -> int:
    """How many items of the scopes are live, as far as that matters."""
    population = 0
    for scope_pk in ask.scopes:
        # Index: item_strongest (scope_pk, policy, fades_at DESC, id, expires_at, kind).
        row = await tx.fetch_one(
            f"""
            SELECT count(*)
              FROM (SELECT 1
                      FROM item
                     WHERE item.scope_pk = :scope
                       AND {_wanted(ask)}
                     LIMIT {CANDIDATE_CAP}) AS live
            """,
            scope=scope_pk,
            now=ask.now,
            kinds=ask.kinds,
        )
        population += 0 if row is None else int(row[0])
    return population


async def _with_rarest_words(tx: Transaction, ask: Ask, words: list[str], most: int) -> list[Row]:
    """`most` of the matches: all that hold a rare word, then the newest of the next rarest."""
    counts: dict[str, int] = dict(await _holders(tx, words))
    by_rarity = sorted((word for word in words if counts[word]), key=lambda word: counts[word])
    rare: list[str] = []
    held = 0
    while by_rarity and held + counts[by_rarity[0]] <= most:
        held += counts[by_rarity[0]]
        rare.append(by_rarity.pop(0))
    rows = {row[0]: row for row in await _newest(tx, ask, rare, most)}
    while by_rarity and len(rows) < most:
        further = await _newest(tx, ask, [by_rarity.pop(0)], most)
        rows |= {row[0]: row for row in further if row[0] not in rows}
    return list(rows.values())[:most]


async def _holders(tx: Transaction, words: list[str]) -> list[Row]:
    # Index: item_words.
    return await tx.fetch_all(
        f"""
        SELECT asked.word,
               (SELECT count(*) FROM item
                 WHERE {WORDS} && ARRAY[asked.word] AND item.status = 'active')
          FROM unnest(CAST(:words AS TEXT[])) AS asked (word)
        """,
        words=words,
    )


async def _newest(tx: Transaction, ask: Ask, words: list[str], most: int) -> list[Row]:
    """Items that hold any of the words, the newest first."""
    if not words:
        return []
    # Index: item_words.
    return await tx.fetch_all(
        f"""
        {_HELD}
        SELECT {CANDIDATE}, item.tokens
          FROM held AS item
         ORDER BY item.pk DESC
         LIMIT :most
        """,
        words=words,
        now=ask.now,
        kinds=ask.kinds,
        most=most,
    )
