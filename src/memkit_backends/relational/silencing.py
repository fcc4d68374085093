"""Bodies of messages that are forgotten: deleted, or replaced by other words."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from memkit.models import Message, TextBlock
from memkit_backends.relational.dialect import Dialect
from memkit_backends.relational.driver import Transaction
from memkit_backends.relational.messages import dump, dump_offsets, load, load_offsets


@dataclass(frozen=True, slots=True)
class Chosen:
    """An episode of which all messages, or those at `offsets`, are to be forgotten."""

    pk: int
    id: str
    home_pk: int
    position: int
    size: int
    offsets: Collection[int]

    @property
    def is_whole(self) -> bool:
        """Whether nothing of it is to be left."""
        return len(self.offsets) == self.size

    @property
    def places(self) -> Collection[int]:
        """The positions of the messages in their session."""
        return {self.position + offset for offset in self.offsets}


async def silence(tx: Transaction, dialect: Dialect, chosen: Sequence[Chosen]) -> dict[str, int]:
    """Delete the bodies; count the messages, and the episodes of which nothing is left."""
    episodes, messages = await _silence_whole(
        tx, dialect, [each.pk for each in chosen if each.is_whole]
    )
    for each in chosen:
        if not each.is_whole:
            before, after = await _rewrite(tx, each, dict.fromkeys(each.offsets))
            messages += before - after
            episodes += before > 0 and after == 0
    return {"episodes": episodes, "messages": messages}


async def _silence_whole(tx: Transaction, dialect: Dialect, pks: Sequence[int]) -> tuple[int, int]:
    row = await tx.fetch_one(
        f"""
        SELECT count(*), coalesce(sum(size - gone), 0)
          FROM episode
         WHERE pk {dialect.is_one_of_integers(":pks")}
           AND messages IS NOT NULL
        """,
        pks=list(pks),
    )
    await tx.execute(
        f"""
        UPDATE episode
           SET messages = NULL, gone = size, forgotten = 'all', status = 'gone'
         WHERE pk {dialect.is_one_of_integers(":pks")}
        """,
        pks=list(pks),
    )
    return (0, 0) if row is None else (row[0], row[1])


async def redact(tx: Transaction, chosen: Sequence[Chosen], replacement: str) -> dict[str, int]:
    """Put `replacement` in place of the bodies that are there; count them."""
    redacted = 0
    for each in chosen:
        bodies = await _bodies(tx, each)
        words = {
            offset: _replaced(body, replacement)
            for offset, body in enumerate(bodies)
            if body is not None and offset in each.offsets
        }
        await _rewrite(tx, each, words, flag="redacted")
        redacted += len(words)
    return {"redacted": redacted}


async def _bodies(tx: Transaction, chosen: Chosen) -> tuple[Message | None, ...]:
    row = await tx.fetch_one("SELECT messages FROM episode WHERE pk = :pk", pk=chosen.pk)
    return load(row[0]) if row is not None else ()


def _replaced(message: Message, replacement: str) -> Message:
    return message.model_copy(update={"content": (TextBlock(text=replacement),), "metadata": {}})


async def _rewrite(
    tx: Transaction,
    chosen: Chosen,
    changed: Mapping[int, Message | None],
    flag: str = "",
) -> tuple[int, int]:
    """Put other bodies, or none, at some offsets; how many were there before and after."""
    row = await tx.fetch_one(
        "SELECT messages, forgotten, flags, status FROM episode WHERE pk = :pk", pk=chosen.pk
    )
    if row is None:
        return 0, 0
    messages, forgotten, flags, status = row
    bodies = load(messages)
    left = [changed.get(offset, body) for offset, body in enumerate(bodies)]
    after = sum(body is not None for body in left)
    await tx.execute(
        """
        UPDATE episode
           SET messages = :messages, forgotten = :forgotten, flags = :flags,
               gone = :gone, status = :status
         WHERE pk = :pk
        """,
        pk=chosen.pk,
        messages=dump(left),
        forgotten=dump_offsets(load_offsets(forgotten, chosen.size) | changed.keys()),
        flags=" ".join(dict.fromkeys([*flags.split(), *flag.split()])),
        gone=chosen.size - after,
        status=status if after else "gone",
    )
    return sum(body is not None for body in bodies), after
