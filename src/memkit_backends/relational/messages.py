"""Messages as an episode's row keeps them: bodies as JSON, digests of eight bytes each.

A forgotten message is a null among the bodies, so that the others keep their places. Once
nothing is left the column itself is NULL. Digests of keys and contents always stay.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Final

from pydantic import TypeAdapter
from pydantic_core import from_json, to_json

from memkit.models import Message, key_hash
from memkit.models.message import ROLES, only_text, spoken
from memkit_backends.relational.damage import reads_a_row

DIGEST_BYTES = 8
NO_KEY = bytes(DIGEST_BYTES)
"""Stands for a message without key; no key's digest is this, but for one in 2**64."""

_PLAIN = ("role", "content", "key", "time")
_SAID = 2  # role and content are always there

_BODIES: TypeAdapter[tuple[Message | None, ...]] = TypeAdapter(tuple[Message | None, ...])


def dump(messages: Sequence[Message | None]) -> str | None:
    """The bodies as JSON, or None if none is left."""
    if not any(messages):
        return None
    return to_json([each and _body(each) for each in messages]).decode()


def _body(message: Message) -> Message | dict[str, object]:
    """What `load` makes the same message of: without what goes without saying, if it is plain."""
    text = only_text(message)
    if text is None:
        return message
    body: dict[str, object] = {"role": message.role, "content": text}
    if message.key is not None:
        body["key"] = message.key
    if message.time is not None:
        body["time"] = message.time
    return body


@reads_a_row
def load(bodies: str | None) -> tuple[Message | None, ...]:
    """What `dump` made, None where a message was forgotten."""
    if bodies is None:
        return ()
    messages: list[Message | None] = []
    for body in from_json(bodies):
        message = None if body is None else _plain(body)
        if message is None and body is not None:
            # By the rules for all that a message may be, at ten times the price.
            return _BODIES.validate_json(bodies)
        messages.append(message)
    return tuple(messages)


def _plain(body: dict[str, object]) -> Message | None:
    """The message of a body of text alone, as `dump` makes it; None if it is another."""
    role, text, key, time = map(body.get, _PLAIN)
    if role not in ROLES or not isinstance(text, str):
        return None
    if len(body) != _SAID + (key is not None) + (time is not None):
        return None
    if not isinstance(key, str | None) or not isinstance(time, str | None):
        return None
    said = None if time is None else datetime.fromisoformat(time)
    return None if said is not None and said.tzinfo is None else spoken(role, text, said, key)


ALL: Final = "all"
"""Instead of a list of places: every message of the episode."""


def dump_offsets(offsets: Iterable[int]) -> str:
    """Places within an episode, as its row keeps them."""
    return json.dumps(sorted(offsets), separators=(",", ":"))


@reads_a_row
def load_offsets(offsets: str | None, size: int) -> frozenset[int]:
    """What `dump_offsets` made, or `ALL` of an episode of `size`; NULL is none."""
    if offsets is None:
        return frozenset()
    return frozenset(range(size) if offsets == ALL else json.loads(offsets))


def key_digest(key: str) -> bytes:
    """What stands for a key in the row.

    Two keys of one session collide once in 2**64. Then the bodies are compared; where they
    are gone, the second key counts as the first one: as a revision, or a conflict.
    """
    return bytes.fromhex(key_hash(key))


def key_digests(messages: Sequence[Message]) -> bytes | None:
    """The digests of all keys in order, or None if no message has a key."""
    if all(message.key is None for message in messages):
        return None
    return b"".join(NO_KEY if each.key is None else key_digest(each.key) for each in messages)


def content_digests(messages: Sequence[Message]) -> bytes:
    """The digests of all contents in order."""
    return bytes.fromhex("".join([message.digest for message in messages]))


def parts(digests: bytes) -> Iterator[bytes]:
    """The single digests of a column, in order."""
    return (digests[at : at + DIGEST_BYTES] for at in range(0, len(digests), DIGEST_BYTES))
