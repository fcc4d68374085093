"""Keys known with another content: what the rows say of them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from memkit.models import Episode
from memkit_backends.relational.driver import Row, Transaction
from memkit_backends.relational.messages import key_digest, load, load_offsets, parts
from memkit_backends.relational.novelty import Content, Novelty, Verdict, novelty
from memkit_backends.relational.sessions import Place, SessionLog


async def certain_novelty(
    tx: Transaction, episode: Episode, log: SessionLog, *, revise: bool
) -> Novelty:
    """What of `episode` is new to a session that `log` knows to its end."""
    sort = partial(novelty, episode.messages, log, session_id=episode.session_id)
    verdicts: dict[Content, Verdict] = {}
    found = sort(revise=True)
    while found.doubts:
        # What one verdict lets in may cast doubt on a later content of the same key.
        verdicts |= await _verdicts(tx, log, found.doubts)
        found = sort(revise=True, verdicts=verdicts)
    return found if revise or not found.revised else sort(revise=False, verdicts=verdicts)


async def _verdicts(
    tx: Transaction, log: SessionLog, doubts: Mapping[Content, Place]
) -> dict[Content, Verdict]:
    forgotten = await _forgotten(tx, log)
    verdicts: dict[Content, Verdict] = {}
    for (key, digest), place in doubts.items():
        if (key_digest(key), bytes.fromhex(digest)) in forgotten:
            verdicts[key, digest] = "forgotten"
        else:
            row = await row_at(tx, log, place.position)
            verdicts[key, digest] = _verdict(row, key, place.position)
    return verdicts


def _verdict(row: Row, key: str, position: int) -> Verdict:
    _, start, size, bodies, forgotten = row
    if position - start in load_offsets(forgotten, size):
        return "forgotten"
    body = load(bodies)[position - start] if bodies else None
    return "changed" if body is None or body.key == key else "other"


async def _forgotten(tx: Transaction, log: SessionLog) -> set[tuple[bytes, bytes]]:
    """Key and content digests of the session's forgotten messages: the key may live on."""
    # Index: episode (session_pk, position).
    rows = await tx.fetch_all(
        """
        SELECT size, keys, digests, forgotten
          FROM episode
         WHERE session_pk = :session
           AND keys IS NOT NULL
           AND forgotten IS NOT NULL
        """,
        session=log.pk,
    )
    return {
        pair
        for size, keys, digests, forgotten in rows
        for offset, pair in enumerate(zip(parts(keys), parts(digests), strict=True))
        if offset in load_offsets(forgotten, size)
    }


async def row_at(tx: Transaction, log: SessionLog, position: int) -> Row:
    """The row that holds a recorded position: id, position, size, messages, forgotten."""
    # Index: episode (session_pk, position).
    row = await tx.fetch_one(
        """
        SELECT id, position, size, messages, forgotten
          FROM episode
         WHERE session_pk = :session
           AND position <= :position
         ORDER BY position DESC
         LIMIT 1
        """,
        session=log.pk,
        position=position,
    )
    if row is None:
        raise AssertionError("a recorded position has a row")
    return row
