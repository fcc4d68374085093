"""What was said: what a session has, what an append adds to it, and how bodies are let go."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from memkit.errors import InvalidInput, MessageConflict
from memkit.inmemory.state import Entry, EpisodeRow, SessionId, SessionLog, State
from memkit.models import Appended, Episode, Message, Scope, Tail, key_hash


def tail(state: State, scope: Scope, session_id: str, *, limit: int) -> Tail:
    """See `Store.tail`."""
    entries = state.log((scope, session_id)).entries
    newest = entries[max(0, len(entries) - limit) :]
    return Tail(
        head=len(entries),
        digests=tuple(entry.digest for entry in newest),
        keys=tuple(entry.key or entry.key_hash for entry in newest),
    )


def append(
    state: State, episodes: Sequence[Episode], *, expected_head: int | None, revise: bool
) -> list[Appended]:
    """See `Store.append`. What may refuse the call is looked at before anything is stored."""
    if expected_head is not None and len(episodes) != 1:
        raise InvalidInput("expected_head goes with exactly one episode")
    if expected_head is not None and _is_stale(state, episodes[0], expected_head):
        return [Appended(episode_id=None, head=_head(state, episodes[0]), stale=True)]
    _refuse_foreign_ids(state, episodes)
    if not revise:
        _refuse_conflicts(state, episodes)
    return [_store(state, episode) for episode in episodes]


def _head(state: State, episode: Episode) -> int:
    return len(state.log((episode.scope, episode.session_id)).entries)


def _is_stale(state: State, episode: Episode, expected_head: int) -> bool:
    return episode.id not in state.episodes and _head(state, episode) != expected_head


def _refuse_foreign_ids(state: State, episodes: Sequence[Episode]) -> None:
    sessions = {row.skeleton.id: row.session for row in _rows(state, episodes)}
    for episode in episodes:
        session = (episode.scope, episode.session_id)
        if sessions.setdefault(episode.id, session) != session:
            raise InvalidInput(f"episode id {episode.id} is taken by another session")


def _rows(state: State, episodes: Iterable[Episode]) -> Iterator[EpisodeRow]:
    return (state.episodes[each.id] for each in episodes if each.id in state.episodes)


def _refuse_conflicts(state: State, episodes: Sequence[Episode]) -> None:
    """Walk the call as it would be stored, and compare the digests under each key."""
    walked = {row.skeleton.id for row in _rows(state, episodes)}
    new: dict[tuple[SessionId, str], str] = {}
    for episode in episodes:
        session = (episode.scope, episode.session_id)
        log = state.log(session)
        for message in () if episode.id in walked else episode.messages:
            if message.key is None or log.holder(message) is not None:
                continue
            first = new.setdefault((session, message.key), message.digest)
            if log.under(message.key) is not None or first != message.digest:
                raise MessageConflict(message.key, session_id=episode.session_id)
        walked.add(episode.id)


def _store(state: State, episode: Episode) -> Appended:
    if episode.id in state.episodes:
        return _repeated(state, episode)
    log = state.sessions.setdefault((episode.scope, episode.session_id), SessionLog())
    start, bodies, revised, holder = len(log.entries), dict[int, Message](), 0, None
    for message in episode.messages:
        held = log.holder(message)
        if held is not None:
            holder = held.episode_id
            continue
        revised += log.under(message.key) is not None
        bodies[len(log.entries)] = message.model_copy(deep=True)
        log.add(_entry(message, episode.id))
    answer = Appended(
        episode_id=episode.id if bodies else holder,
        head=len(log.entries),
        stored=len(bodies),
        skipped=len(episode.messages) - len(bodies),
        revised=revised,
    )
    if bodies:
        _keep(state, episode.model_copy(update={"messages": (), "position": start}), bodies, answer)
    return answer


def _keep(state: State, skeleton: Episode, bodies: dict[int, Message], answer: Appended) -> None:
    row = EpisodeRow(skeleton, bodies, next(state.sequence), answer)
    state.episodes[skeleton.id] = row
    state.log(row.session).episode_ids.append(skeleton.id)
    state.mark(row, "pending")


def _entry(message: Message, episode_id: str) -> Entry:
    hashed = None if message.key is None else key_hash(message.key)
    return Entry(message.digest, message.key, hashed, episode_id)


def _repeated(state: State, episode: Episode) -> Appended:
    """The answer to an id that is stored: as before, but what is gone does not come back."""
    row = state.episodes[episode.id]
    if row.bodies:
        return row.answer
    return Appended(
        episode_id=episode.id, head=_head(state, episode), skipped=len(episode.messages)
    )


def let_go(state: State, row: EpisodeRow, positions: Iterable[int], *, forgotten: bool) -> None:
    """Delete the bodies at `positions`; digests stay, and keys as hashes."""
    log = state.log(row.session)
    for position in positions:
        row.bodies.pop(position, None)
        log.entries[position].key = None
        if forgotten:
            log.forget(position)
    if not row.bodies:
        state.mark(row, "gone")


def pieces(row: EpisodeRow, positions: Iterable[int]) -> list[Episode]:
    """The episode with its messages at `positions` only, one value for each unbroken run.

    So `position` plus offset is a message's place, also where one before it is left out.
    """
    runs: list[list[int]] = []
    for position in sorted(positions):
        if runs and runs[-1][-1] + 1 == position:
            runs[-1].append(position)
        else:
            runs.append([position])
    return [row.excerpt(run).model_copy(update={"position": run[0]}) for run in runs] or [
        row.skeleton
    ]
