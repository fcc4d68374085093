"""Recorded twice, resumed, or sent whole every turn, with stable, fresh or no keys.

`docs/lifecycle.md` has the same table; its rows are the ids of these tests.
"""

from __future__ import annotations

from itertools import count
from typing import Literal, NamedTuple

import pytest

from memkit import Memory, Message, Scope

pytestmark = pytest.mark.anyio

SCOPE = Scope("ann")

Keys = Literal["stable", "fresh", "none"]


class Row(NamedTuple):
    """Calls, each a history of messages (the same letter is the same message), and what is new."""

    calls: tuple[str, ...]
    stable: tuple[int, ...]
    fresh: tuple[int, ...]
    none: tuple[int, ...]


# A capital is another message whose text is that of the small letter; blanks part messages.
WITH_HISTORY = {
    "the first call": Row(("a b c",), (3,), (3,), (3,)),
    "the same call twice": Row(("a b c", "a b c"), (3, 0), (3, 0), (3, 0)),
    "the whole conversation every turn": Row(
        ("a b", "a b c d", "a b c d e f"), (2, 2, 2), (2, 2, 2), (2, 2, 2)
    ),
    "one message, then two": Row(("a", "a b"), (1, 1), (1, 1), (1, 1)),
    "a window that slides": Row(("a b c d", "c d e f", "e f g h"), (4, 2, 2), (4, 2, 2), (4, 2, 2)),
    "resumed from an older state": Row(
        ("a b c d", "a b", "a b e"), (4, 0, 1), (4, 0, 1), (4, 0, 1)
    ),
    "the same words again": Row(("a b B", "a b B B2"), (3, 1), (3, 1), (3, 1)),
    "a summary in place of the beginning": Row(
        ("a b c d", "s c d e", "s c d e f"), (4, 2, 1), (4, 2, 1), (4, 2, 1)
    ),
    "another answer to the last message": Row(("a b c", "a b x"), (3, 1), (3, 1), (3, 1)),
    "nothing in common": Row(("a b", "x y"), (2, 2), (2, 2), (2, 2)),
}

WITHOUT_HISTORY = {
    "only what is new": Row(("a b", "c d"), (2, 2), (2, 2), (2, 2)),
    "the same call twice": Row(("a b", "a b"), (2, 0), (2, 2), (2, 2)),
}


class Speaker:
    """Makes messages of letters, with the sort of keys that a framework gives them."""

    def __init__(self, keys: Keys) -> None:
        self._keys = keys
        self._minted = count()

    def says(self, call: str) -> list[Message]:
        """The messages of one call."""
        return [self._message(letter) for letter in call.split()]

    def _message(self, letter: str) -> Message:
        keys = {"stable": letter, "fresh": f"minted-{next(self._minted)}", "none": None}
        return Message.model_validate(
            {
                "role": "user",
                "content": f"Statement {letter[0].lower()}, as it was made.",
                "key": keys[self._keys],
            }
        )


async def news(memory: Memory, row: Row, keys: Keys, *, history: bool) -> tuple[int, ...]:
    """How many messages each call found to be new."""
    speaker = Speaker(keys)
    return tuple(
        [
            (await memory.record(SCOPE, speaker.says(call), session_id="s", history=history)).new
            for call in row.calls
        ]
    )


@pytest.mark.parametrize("keys", ["stable", "fresh", "none"])
@pytest.mark.parametrize("name", WITH_HISTORY)
async def test_a_history_is_stored_once(memory: Memory, name: str, keys: Keys) -> None:
    """What a session has is not stored again, however the conversation is handed in."""
    row = WITH_HISTORY[name]
    assert await news(memory, row, keys, history=True) == getattr(row, keys)


@pytest.mark.parametrize("keys", ["stable", "fresh", "none"])
@pytest.mark.parametrize("name", WITHOUT_HISTORY)
async def test_single_messages_are_told_apart_by_key(memory: Memory, name: str, keys: Keys) -> None:
    """Without a history only keys say that a message is the same; the rest is kept."""
    row = WITHOUT_HISTORY[name]
    assert await news(memory, row, keys, history=False) == getattr(row, keys)
