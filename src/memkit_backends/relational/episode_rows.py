"""Episodes read back from their rows: whole, or in the pieces that a claim takes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, LiteralString

from memkit.decay import from_microseconds
from memkit.models import Episode, EpisodeFlag, Message, Scope
from memkit_backends.relational.damage import reads_a_row
from memkit_backends.relational.driver import Row
from memkit_backends.relational.messages import load

EPISODE: Final[LiteralString] = """
       episode.pk, episode.id, episode.session_pk, owner.key, home.key, session.name,
       episode.position, episode.tokens, episode.flags, episode.recorded_at,
       episode.expires_at, episode.attempts, episode.messages
"""
"""The columns of an episode, of EPISODES."""

EPISODES: Final[LiteralString] = """
       episode
  JOIN session ON session.pk = episode.session_pk
  JOIN scope AS owner ON owner.pk = session.scope_pk
  JOIN scope AS home ON home.pk = episode.home_pk
"""


@dataclass(frozen=True, slots=True)
class StoredEpisode:
    """An episode as it is stored; `bodies` is what is left of its messages, by position."""

    pk: int
    id: str
    session_pk: int
    scope: Scope
    home: Scope
    session_id: str
    position: int
    tokens: int
    flags: tuple[EpisodeFlag, ...]
    recorded_at: datetime
    expires_at: datetime | None
    attempts: int
    bodies: Mapping[int, Message]

    @property
    def episode(self) -> Episode:
        """The episode with all bodies that are left."""
        return self._with(self.bodies.values(), self.position)

    def pieces(self, positions: Iterable[int]) -> list[Episode]:
        """The episode with its messages at `positions` only, one value for each unbroken run.

        So `position` plus offset is a message's place, also where one before it is left out.
        """
        runs: list[list[int]] = []
        for place in sorted(positions):
            if runs and runs[-1][-1] + 1 == place:
                runs[-1].append(place)
            else:
                runs.append([place])
        pieces = [self._with(map(self.bodies.__getitem__, run), run[0]) for run in runs]
        return pieces or [self._with((), self.position)]

    @reads_a_row
    def _with(self, messages: Iterable[Message], position: int) -> Episode:
        return Episode(
            id=self.id,
            scope=self.scope,
            home=self.home,
            session_id=self.session_id,
            messages=tuple(messages),
            recorded_at=self.recorded_at,
            expires_at=self.expires_at,
            position=position,
            tokens=self.tokens,
            flags=self.flags,
        )


@reads_a_row
def stored_episodes(rows: Sequence[Row]) -> list[StoredEpisode]:
    """What rows of EPISODE columns make, in their order."""
    # Many rows have few scopes, and reading one from its key takes longer than the rest.
    scopes = {key: Scope.from_key(key) for row in rows for key in row[3:5]}
    return [_stored(row, scopes) for row in rows]


def _stored(row: Row, scopes: Mapping[str, Scope]) -> StoredEpisode:
    (pk, episode_id, session_pk, owner, home, session, position, tokens, *rest) = row
    (flags, recorded_at, expires_at, attempts, messages) = rest
    placed = enumerate(load(messages), start=position)
    return StoredEpisode(
        pk=pk,
        id=episode_id,
        session_pk=session_pk,
        scope=scopes[owner],
        home=scopes[home],
        session_id=session,
        position=position,
        tokens=tokens,
        flags=tuple(flags.split()),
        recorded_at=from_microseconds(recorded_at),
        expires_at=None if expires_at is None else from_microseconds(expires_at),
        attempts=attempts,
        bodies={place: body for place, body in placed if body is not None},
    )
