"""Values for tests: whole and plain, with only what a test cares about spelled out."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from pydantic import JsonValue

from memkit.decay import NEVER, Policy, end
from memkit.models import (
    Episode,
    MemoryItem,
    Message,
    Query,
    Reinforcement,
    Role,
    Scope,
    Source,
    Status,
    new_id,
)
from memkit.text import tokenize

NOW: Final = datetime(2026, 1, 1, 9, tzinfo=UTC)
"""The moment at which every test begins."""

DAY: Final = timedelta(days=1)
MINUTE: Final = timedelta(minutes=1)

HERE: Final = Scope("ann", "guide", "trip")
THERE: Final = Scope("bob", "guide", "trip")
"""Two scopes that have nothing to do with each other."""


def numbered(number: int) -> str:
    """An id of the usual form; a higher number sorts later."""
    return f"00000000-0000-7000-8000-{number:012x}"


def tokens_of(text: str) -> str:
    """The search tokens of `text`, in the form items carry them."""
    return " ".join(tokenize(text))


def a_message(
    text: str, *, key: str | None = None, role: Role = "user", at: datetime = NOW
) -> Message:
    """One message of plain text."""
    return Message.model_validate({"role": role, "content": text, "key": key, "time": at})


def an_episode(  # noqa: PLR0913  # a test names those it cares about
    *said: str | Message,
    keys: Sequence[str] = (),
    episode_id: str | None = None,
    scope: Scope = HERE,
    home: Scope | None = None,
    session_id: str = "s-1",
    at: datetime = NOW,
    tokens: int = 10,
    expires_at: datetime | None = None,
) -> Episode:
    """What one recording adds: messages, or texts that become them, `keys` in their order."""
    named = dict(enumerate(keys))
    return Episode(
        id=episode_id or new_id(),
        scope=scope,
        home=home or scope,
        session_id=session_id,
        messages=tuple(
            each if isinstance(each, Message) else a_message(each, key=named.get(place), at=at)
            for place, each in enumerate(said)
        ),
        recorded_at=at,
        tokens=tokens,
        expires_at=expires_at,
    )


def a_source(episode: Episode, place: int = 0, *, position: int | None = None) -> Source:
    """The message at `place` of `episode`, as an item names where it came from."""
    return Source(
        episode_id=episode.id,
        session_id=episode.session_id,
        position=episode.position + place if position is None else position,
        key=episode.messages[place].key,
        recorded_at=episode.recorded_at,
    )


def an_item(  # noqa: PLR0913  # a test names those it cares about
    content: str,
    *,
    item_id: str | None = None,
    scope: Scope = HERE,
    at: datetime = NOW,
    importance: float = 0.8,
    policy: Policy | None = None,
    ttl: timedelta | None = None,
    pinned: bool = False,
    kind: str = "semantic",
    status: Status = "active",
    sources: Sequence[Source] = (),
    key: str | None = None,
    value: JsonValue = None,
) -> MemoryItem:
    """Something remembered, its dates worked out as core would."""
    policy = policy or (NEVER if pinned else Policy())
    fades_at = policy.fades_at(importance, at)
    return MemoryItem(
        id=item_id or new_id(),
        scope=scope,
        content=content,
        kind=kind,
        importance=importance,
        created_at=at,
        observed_at=at,
        reinforced_at=at,
        policy=policy.name,
        fades_at=fades_at,
        ends_at=end(at, ttl),
        pinned=pinned,
        status=status,
        sources=tuple(sources),
        origin="user" if sources else "told",
        key=key,
        value=value,
        tokens=tokens_of(content),
    )


def a_reinforcement(
    item: MemoryItem, *, importance: float, at: datetime, sources: Sequence[Source] = ()
) -> Reinforcement:
    """`item` met again at `at`, under its own policy."""
    policy = Policy.from_name(item.policy)
    fades_at = policy.fades_at(importance, at)
    return Reinforcement(
        id=item.id,
        importance=importance,
        reinforced_at=at,
        policy=item.policy,
        fades_at=fades_at,
        pinned=item.pinned,
        sources=tuple(sources),
    )


def a_query(  # noqa: PLR0913  # a test names those it cares about
    text: str = "",
    *scopes: Scope,
    strongest: int = 0,
    exact: Sequence[str] = (),
    kinds: Sequence[str] | None = None,
    now: datetime = NOW,
    cap: int = 2000,
) -> Query:
    """A question in words, asked of `scopes` (of `HERE` if none is given)."""
    return Query(
        scopes=scopes or (HERE,),
        now=now,
        strongest=strongest,
        tokens=tokenize(text),
        text=cap,
        exact=tuple(exact),
        kinds=None if kinds is None else tuple(kinds),
    )
