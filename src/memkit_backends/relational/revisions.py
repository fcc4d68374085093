"""Messages that a later one of their session revises: claims leave them out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from memkit.models import Episode
from memkit_backends.relational.driver import Row, Transaction
from memkit_backends.relational.episode_rows import StoredEpisode
from memkit_backends.relational.messages import NO_KEY, parts


def pieces_of(places: Iterable[tuple[StoredEpisode, int]]) -> Iterator[Episode]:
    """The chosen messages, as pieces of their episodes."""
    chosen: dict[int, tuple[StoredEpisode, list[int]]] = {}
    for stored, place in places:
        chosen.setdefault(stored.pk, (stored, []))[1].append(place)
    for stored, positions in chosen.values():
        yield from stored.pieces(positions)


async def newest_pieces(tx: Transaction, taken: Sequence[StoredEpisode]) -> list[Episode]:
    """The episodes without messages that a later one of their session revises."""
    revised = await revised_places(tx, taken)
    return [
        piece
        for each in taken
        for piece in each.pieces(
            place for place in each.bodies if (each.session_pk, place) not in revised
        )
    ]


async def revised_places(tx: Transaction, stored: Sequence[StoredEpisode]) -> set[tuple[int, int]]:
    """Session and position of messages whose key comes again later in their session."""
    first: dict[int, int] = {}
    for each in stored:
        if any(body.key is not None for body in each.bodies.values()):
            place = each.position
            first[each.session_pk] = min(place, first.get(each.session_pk, place))
    revised: set[tuple[int, int]] = set()
    for session, position in first.items():
        # Index: episode (session_pk, position).
        rows = await tx.fetch_all(
            """
            SELECT position, keys
              FROM episode
             WHERE session_pk = :session
               AND position >= :position
               AND keys IS NOT NULL
             ORDER BY position
            """,
            session=session,
            position=position,
        )
        revised |= {(session, place) for place in _overtaken(rows)}
    return revised


def _overtaken(rows: Sequence[Row]) -> Iterator[int]:
    """Positions of keys that come again later; rows hold a position and key digests."""
    newest: dict[bytes, int] = {}
    for start, keys in rows:
        for place, digest in enumerate(parts(keys), start=start):
            if digest == NO_KEY:
                continue
            if digest in newest:
                yield newest[digest]
            newest[digest] = place
