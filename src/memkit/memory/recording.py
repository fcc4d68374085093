"""Record: what was said goes into a session, each message once. No model is called."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from memkit.config import Config
from memkit.contracts import Store
from memkit.errors import InvalidInput, StoreBusy
from memkit.memory.alignment import unrecorded
from memkit.memory.intake import Intake, Kept, Said
from memkit.memory.recognition import Recognition, Seen
from memkit.models import (
    Appended,
    Episode,
    EpisodeFlag,
    Message,
    Scope,
    Tail,
    check_id,
    new_id,
)
from memkit.models.base import unchecked
from memkit.text import estimate_tokens

if TYPE_CHECKING:
    from memkit.redact import Redactor

__all__ = ["Recorded", "Recording", "Said"]

_SESSIONS = 256
"""Sessions whose end is remembered between calls, which spares reading it."""
_LEAST_TAIL = 64
_TRIES = 32
_ABSURD = 100
"""So many times the longest message, in one call: refused."""
_ROLE_TOKENS = 4
"""About what a message costs a model beside its text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """What one `record` came to.

    `new` messages were stored, `revised` are new contents of known keys, `skipped` were
    there already; what had nothing to keep (a tool's traffic, memkit's own block) is in none
    of them. `episode_id` holds them, or None where that is not known because nothing was
    new. `head` is how many messages the session has now. `flags` say what was done to those
    that were stored.
    """

    episode_id: str | None
    new: int
    skipped: int
    revised: int
    head: int
    flags: tuple[EpisodeFlag, ...] = ()


class Recording:
    """Recording into one store."""

    def __init__(
        self,
        store: Store,
        config: Config,
        redactor: Redactor | None,
        *,
        make_id: Callable[[], str] = new_id,
    ) -> None:
        self._store = store
        self._config = config
        self._intake = Intake(config.record, redactor)
        self._recognition = Recognition(self._intake)
        self._make_id = make_id
        self._tails: OrderedDict[tuple[Scope, str], Tail] = OrderedDict()

    async def record(  # noqa: PLR0913  # what is said, where, and how it is meant
        self,
        scope: Scope,
        messages: Iterable[Said],
        *,
        session_id: str,
        history: bool,
        revise: bool,
        now: datetime,
    ) -> Recorded:
        """See `Memory.record`."""
        given = self._given(messages)
        # Before anything is asked of the store, so that a wrong call is told so in any case.
        seen = self._recognition.see(given, now=now) if history else []
        kept = [] if history else [self._intake.keep(each, now=now) for each in given]
        blank = unchecked(
            Episode,
            id=self._make_id(),
            scope=scope,
            home=self._config.scope.home(scope),
            session_id=check_id("session_id", session_id),
            messages=(),
            recorded_at=now,
            expires_at=self._expiry(now),
            position=0,
            tokens=0,
            flags=(),
        )
        if history:
            return await self._align(blank, given, seen, revise=revise)
        episode = self._filled(blank, kept)
        if not episode.messages:
            head = (await self._store.tail(scope, session_id, limit=1)).head
            return Recorded(episode_id=None, new=0, skipped=0, revised=0, head=head)
        [appended] = await self._store.append([episode], revise=revise)
        return _recorded(appended, episode)

    def _given(self, messages: Iterable[Said]) -> list[Said]:
        is_one = isinstance(messages, (str, bytes, Mapping, Message))
        if is_one or not isinstance(messages, Iterable):
            raise InvalidInput("record takes a sequence of messages")
        given = list(messages)
        most = self._config.record.max_messages
        if len(given) > most:
            raise InvalidInput(
                f"{len(given)} messages in one call; at most {most} are taken (record.max_messages)"
            )
        return given

    def _expiry(self, now: datetime) -> datetime | None:
        ttl = self._config.decay.episode_ttl
        return None if ttl is None else now + ttl

    async def _align(
        self, blank: Episode, given: Sequence[Said], seen: Sequence[Seen], *, revise: bool
    ) -> Recorded:
        """Store what the session lacks, provided that it still ends where that was seen."""
        history = [each for each in seen if each.digest]
        if len(history) < len(seen):
            given = [said for said, each in zip(given, seen, strict=True) if each.digest]
        session = (blank.scope, blank.session_id)
        # Edits lengthen a session beyond its history.
        reach = max(2 * len(history), _LEAST_TAIL)
        for _ in range(_TRIES):
            tail = await self._tail(session, reach)
            places = unrecorded(tail, history)
            known = len(history) - len(places)
            if not places:
                return Recorded(episode_id=None, new=0, skipped=known, revised=0, head=tail.head)
            kept = [
                history[place].kept or self._intake.keep(given[place], now=blank.recorded_at)
                for place in places
            ]
            episode = self._filled(blank, kept)
            [appended] = await self._store.append([episode], expected_head=tail.head, revise=revise)
            self._remember(session, tail, episode, appended, reach=reach)
            if not appended.stale:
                return _recorded(appended, episode, known=known)
        raise StoreBusy(
            f"session {blank.session_id!r} grew {_TRIES} times while one history was aligned; "
            "nothing was stored, try again"
        )

    def _filled(self, blank: Episode, kept: Iterable[Kept]) -> Episode:
        """The episode of what is kept."""
        messages: list[Message] = []
        flags: set[EpisodeFlag] = set()
        length = tokens = 0
        for each in kept:
            if each.message is not None:
                text = each.message.text
                messages.append(each.message)
                flags |= each.flags
                length += len(text)
                tokens += _ROLE_TOKENS + estimate_tokens(text)
        most = _ABSURD * self._config.record.max_message_characters
        if length > most:
            raise InvalidInput(f"over {most} characters of text in one call; record it in parts")
        values = {"messages": tuple(messages), "flags": tuple(sorted(flags)), "tokens": tokens}
        return unchecked(Episode, **{**blank.__dict__, **values})

    async def _tail(self, session: tuple[Scope, str], reach: int) -> Tail:
        known = self._tails.get(session)
        if known is not None and len(known.digests) >= min(reach, known.head):
            return known
        return await self._store.tail(*session, limit=reach)

    def _remember(
        self,
        session: tuple[Scope, str],
        tail: Tail,
        episode: Episode,
        appended: Appended,
        *,
        reach: int,
    ) -> None:
        """Keep the session's end in mind, if it is known for certain."""
        self._tails.pop(session, None)
        if appended.stale or appended.stored != len(episode.messages):
            return
        self._tails[session] = unchecked(
            Tail,
            head=appended.head,
            digests=(*tail.digests, *[each.digest for each in episode.messages])[-reach:],
            keys=(*tail.keys, *[each.key for each in episode.messages])[-reach:],
        )
        if len(self._tails) > _SESSIONS:
            self._tails.popitem(last=False)


def _recorded(appended: Appended, episode: Episode, *, known: int = 0) -> Recorded:
    return Recorded(
        episode_id=appended.episode_id,
        new=appended.stored - appended.revised,
        skipped=appended.skipped + known,
        revised=appended.revised,
        head=appended.head,
        flags=episode.flags if appended.stored else (),
    )
