"""The end of a session: what an append has to go on from."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from memkit.models import Message, Scope, Tail
from memkit_backends.relational.damage import reads_a_row
from memkit_backends.relational.driver import Row, Transaction
from memkit_backends.relational.messages import NO_KEY, load, parts
from memkit_backends.relational.noun import Noun


class Tails(Noun):
    """`Store.tail`."""

    async def tail(self, scope: Scope, session_id: str, *, limit: int) -> Tail:
        """See `Store.tail`."""
        return await self._driver.read_each(partial(_tail, scope, session_id, limit))


async def _tail(scope: Scope, session_id: str, limit: int, tx: Transaction) -> Tail:
    # Index: session (scope_pk, name), then episode (session_pk, position) from its end.
    rows = await tx.fetch_all(
        """
        SELECT episode.position, episode.size, episode.keys, episode.digests,
               CASE WHEN episode.keys IS NULL THEN NULL ELSE episode.messages END
          FROM scope
          JOIN session ON session.scope_pk = scope.pk AND session.name = :session
          JOIN episode ON episode.session_pk = session.pk
         WHERE scope.key = :scope
         ORDER BY episode.position DESC
         LIMIT :most
        """,
        scope=scope.key,
        session=session_id,
        most=max(limit, 1),
    )
    return _ending(rows, limit)


@reads_a_row
def _ending(rows: Sequence[Row], limit: int) -> Tail:
    digests: list[str] = []
    keys: list[str | None] = []
    for _, _, row_keys, row_digests, bodies in rows:
        if len(digests) >= limit:
            break
        digests[:0] = [digest.hex() for digest in parts(row_digests)]
        keys[:0] = _keys(row_keys, len(row_digests) // len(NO_KEY), load(bodies))
    cut = max(0, len(digests) - limit)
    head = rows[0][0] + rows[0][1] if rows else 0
    return Tail(head=head, digests=tuple(digests[cut:]), keys=tuple(keys[cut:]))


def _keys(digests: bytes | None, size: int, bodies: Sequence[Message | None]) -> list[str | None]:
    """The keys of one row: as they are where a body is left, else as their `key_hash`."""
    if digests is None:
        return [None] * size
    left = bodies or (None,) * size
    return [
        None if digest == NO_KEY else body.key if body and body.key else digest.hex()
        for digest, body in zip(parts(digests), left, strict=True)
    ]
