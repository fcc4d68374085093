"""What a call of `forget` means: exactly one target, and never the whole scope by accident."""

from __future__ import annotations

from collections.abc import Sequence

from memkit.errors import InvalidInput
from memkit.models import Episodes, Items, Messages, Scope, Session, Target, WholeScope


def target(  # noqa: PLR0913  # the ways to name it
    scope: Scope,
    home: Scope,
    *,
    items: Sequence[str] | None,
    session_id: str | None,
    message_keys: Sequence[str] | None,
    episodes: Sequence[str] | None,
) -> Target:
    """The target that these arguments name; the whole home if they name nothing.

    An empty sequence names nothing that could be forgotten, and is refused.
    """
    match items, session_id, message_keys, episodes:
        case None, None, None, None:
            return WholeScope(scope=home)
        case ids, None, None, None if ids is not None:
            return Items(scope=home, ids=tuple(ids))
        case None, str(), None, None:
            return Session(scope=scope, session_id=session_id)
        case None, str(), keys, None if keys is not None:
            return Messages(scope=scope, session_id=session_id, keys=tuple(keys))
        case None, None, None, ids if ids is not None:
            return Episodes(scope=home, ids=tuple(ids))
        case _:
            raise InvalidInput(
                "forget takes one of items, session_id (with or without message_keys), or "
                "episodes; without any it forgets the whole scope"
            )
