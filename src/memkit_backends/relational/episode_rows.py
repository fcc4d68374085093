"""Episodes read back from their rows: whole, or in the pieces that a claim takes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, LiteralString

from memkit.decay import from_microseconds
from memkit.models import Episode, Message, Scope
from memkit_backends.relational.damage import reads_a_row
from memkit_backends.relational.driver import Row
from memkit_backends.relational.messages import load

EPISODE: Final[LiteralString] = """
       episode.pk, episode.id, episode.session_pk, owner.key, home.key, session.name,
       episode.position, episode.size, episode.tokens, episode.flags, episode.recorded_at,
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
    """An episode without its messages, and what is left of those by position."""

    pk: int
    session_pk: int
    size: int
    attempts: int
    skeleton: Episode
    bodies: Mapping[int, Message]

    @classmethod
    @reads_a_row
    def of(cls, row: Row) -> StoredEpisode:
        """What a row of EPISODE columns makes."""
        (pk, episode_id, session_pk, owner, home, session, position, size, *rest) = row
        (tokens, flags, recorded_at, expires_at, attempts, messages) = rest
        skeleton = Episode(
            id=episode_id,
            scope=Scope.from_key(owner),
            home=Scope.from_key(home),
            session_id=session,
            messages=(),
            recorded_at=from_microseconds(recorded_at),
            expires_at=None if expires_at is None else from_microseconds(expires_at),
            position=position,
            tokens=tokens,
            flags=tuple(flags.split()),
        )
        placed = enumerate(load(messages), start=position)
        bodies = {place: body for place, body in placed if body is not None}
        return cls(pk, session_pk, size, attempts, skeleton, bodies)

    @property
    def episode(self) -> Episode:
        """The episode with all bodies that are left."""
        return self._with(self.bodies.values(), self.skeleton.position)

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
        return [self._with(map(self.bodies.__getitem__, run), run[0]) for run in runs] or [
            self.skeleton
        ]

    def _with(self, messages: Iterable[Message], position: int) -> Episode:
        return self.skeleton.model_copy(update={"messages": tuple(messages), "position": position})
