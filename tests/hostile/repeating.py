"""D10: a message that is handed in again is there once; another content of its key is refused."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

from memkit.errors import MemkitError, MessageConflict
from memkit.memory import Memory, Recorded
from memkit.models import Scope
from memkit.testing.reading import all_episodes
from tests.hostile.place import SCOPE, Place, cases, must, same

REX, MAX = "my dog is called Rex", "my dog is called Max"


def said(key: str | None, text: str, **fields: object) -> dict[str, object]:
    """One message."""
    return {"role": "user", "key": key, "content": text, **fields}


class Call(NamedTuple):
    """One call of `record` and what must come of it: new, skipped, revised; or a conflict."""

    messages: Sequence[Mapping[str, object]]
    counts: tuple[int, int, int] | None
    session: str = "s"
    scope: Scope = SCOPE
    revise: bool = False
    history: bool = False


KEY = "thread-1:turn-7"
STORIES: dict[str, tuple[tuple[Call, ...], list[str]]] = {
    "the same twice": (
        (Call([said(KEY, REX)], (1, 0, 0)), Call([said(KEY, REX)], (0, 1, 0))), [REX]),
    "another content": (
        (Call([said(KEY, REX)], (1, 0, 0)), Call([said(KEY, MAX)], None)), [REX]),
    "another content, and back": (
        (Call([said(KEY, REX)], (1, 0, 0)), Call([said(KEY, MAX)], None),
         Call([said(KEY, REX)], (0, 1, 0))), [REX]),
    "another content among sound ones": (
        (Call([said(KEY, REX)], (1, 0, 0)),
         Call([said("a", "one"), said(KEY, MAX), said("b", "two")], None)), [REX]),
    "another role": (
        (Call([said(KEY, REX)], (1, 0, 0)),
         Call([said(KEY, REX, role="assistant")], None)), [REX]),
    "another name": (
        (Call([said(KEY, REX)], (1, 0, 0)), Call([said(KEY, REX, name="Ann")], None)), [REX]),
    "another time": (
        (Call([said(KEY, REX)], (1, 0, 0)),
         Call([said(KEY, REX, time="2020-01-01T00:00:00Z")], (0, 1, 0))), [REX]),
    "other metadata": (
        (Call([said(KEY, REX)], (1, 0, 0)),
         Call([said(KEY, REX, metadata={"try": 2})], (0, 1, 0))), [REX]),
    "a blank more": (
        (Call([said(KEY, REX)], (1, 0, 0)), Call([said(KEY, f"{REX} ")], None)), [REX]),
    "another normal form": (
        (Call([said(KEY, "caf\u00e9")], (1, 0, 0)), Call([said(KEY, "cafe\u0301")], None)),
        ["caf\u00e9"]),
    "what is mended alike": (
        (Call([said(KEY, "a\0b")], (1, 0, 0)), Call([said(KEY, "a\ufffdb")], (0, 1, 0))),
        ["a\ufffdb"]),
    "a key twice in one call": (
        (Call([said(KEY, REX), said(KEY, REX)], (1, 1, 0)),), [REX]),
    "a key twice with two contents": (
        (Call([said(KEY, REX), said(KEY, MAX)], None),), []),
    "a revision": (
        (Call([said(KEY, REX)], (1, 0, 0)),
         Call([said(KEY, MAX)], (0, 0, 1), revise=True),
         Call([said(KEY, MAX)], (0, 1, 0), revise=True),
         Call([said(KEY, MAX)], (0, 1, 0)), Call([said(KEY, REX)], None)), [REX, MAX]),
    "keys that look alike": (
        (Call([said(each, REX) for each in ("k", "K", "k ", " k", "\uff4b", "k\u200b", "k%", "_")],
              (8, 0, 0)),), [REX] * 8),
    "keys that look like numbers": (
        (Call([said(each, REX) for each in ("1", "01", "1.0", "+1", "1e0", "null", "None")],
              (7, 0, 0)),), [REX] * 7),
    "the same key in two sessions": (
        (Call([said(KEY, REX)], (1, 0, 0)), Call([said(KEY, MAX)], (1, 0, 0), session="S")),
        [REX, MAX]),
    "the same key in two scopes": (
        (Call([said(KEY, REX)], (1, 0, 0)),
         Call([said(KEY, MAX)], (1, 0, 0), scope=Scope("u1", "a"))), [REX, MAX]),
    "no key": (
        (Call([said(None, REX)], (1, 0, 0)), Call([said(None, REX)], (1, 0, 0))), [REX, REX]),
    "no key, as a history": (
        (Call([said(None, REX)], (1, 0, 0), history=True),
         Call([said(None, REX), said(None, MAX)], (1, 1, 0), history=True),
         Call([said(None, REX), said(None, MAX)], (0, 2, 0), history=True)), [REX, MAX]),
    "a history in which a key's content changed": (
        (Call([said("a", REX), said("b", "ok")], (2, 0, 0), history=True),
         Call([said("a", MAX), said("b", "ok")], None, history=True)), [REX, "ok"]),
    "the same word over and over": (
        (Call([said(None, "ok")] * 50, (50, 0, 0)),
         Call([said(None, "ok")] * 51, (1, 50, 0), history=True)), ["ok"] * 51),
}  # fmt: skip


async def recorded(memory: Memory, call: Call) -> Recorded | str:
    """What the call came to, or the name of its error."""
    try:
        return await memory.record(
            call.scope,
            call.messages,
            session_id=call.session,
            revise=call.revise,
            history=call.history,
        )
    except MessageConflict as exc:
        return type(exc).__name__


async def texts(place: Place) -> list[str]:
    """What is kept, as it was recorded."""
    episodes = await all_episodes(place.store)
    return [message.text for episode in episodes for message in episode.messages]


async def tell(calls: Sequence[Call], left: Sequence[str], place: Place) -> object:
    """One after the other, each call comes to what it must, and nothing more is kept."""
    async with place.memory() as memory:
        for number, call in enumerate(calls):
            place.clock.advance(seconds=1)
            answer = await recorded(memory, call)
            if isinstance(answer, str):
                same((number, None), (number, call.counts))
            else:
                same(
                    (number, answer.new, answer.skipped, answer.revised),
                    (number, *(call.counts or ())),
                )
    same(sorted(await texts(place)), sorted(left))
    return left


async def race(messages: Sequence[Mapping[str, object]], place: Place, *, history: bool) -> object:
    """Callers at the same time, through two memories: one stores, all get its episode."""
    call = Call(messages, None, history=history)
    async with place.memory() as one, place.memory() as other:
        answers = await asyncio.gather(
            *(recorded(memory, call) for memory in (one, other) for _ in range(4))
        )
    kept = [each for each in answers if isinstance(each, Recorded)]
    same(len(kept), len(answers))
    same(sum(each.new for each in kept), len(messages))
    same(len({each.episode_id for each in kept if each.episode_id}), 1)
    same(await texts(place), [each["content"] for each in messages])
    return len(kept)


async def quarrel(place: Place) -> object:
    """Of two contents for one key, said at once, one is kept and the other refused."""
    calls = [Call([said(KEY, text)], None) for text in (REX, MAX)]
    async with place.memory() as one, place.memory() as other:
        answers = await asyncio.gather(recorded(one, calls[0]), recorded(other, calls[1]))
        same(sorted(type(each).__name__ for each in answers), ["Recorded", "str"])
        must(await texts(place) in ([REX], [MAX]), "both are kept, or none")
        # Which of them is a matter of luck.
        return (await one.forget(SCOPE)).messages


async def given(calls: Sequence[Mapping[str, str]], place: Place) -> object:
    """The tenth case as it was handed to us: twice at once, then another content."""
    first, second, third = ([said(each["idempotency_key"], each["text"])] for each in calls)
    async with place.memory() as one, place.memory() as other:
        kept = await asyncio.gather(
            one.record(SCOPE, first, session_id="thread-1"),
            other.record(SCOPE, second, session_id="thread-1"),
        )
        same(len({each.episode_id for each in kept}), 1)
        try:
            await one.record(SCOPE, third, session_id="thread-1")
        except MemkitError as exc:
            same(type(exc), MessageConflict)
        else:
            must(claim=False, otherwise="the third was taken")
    same(await texts(place), [calls[0]["text"]])
    return sum(each.new for each in kept)


CASES = (
    *cases("recorded", ((name, partial(tell, *story)) for name, story in STORIES.items())),
    *cases("at once", (
        ("with a key", partial(race, [said(KEY, REX)], history=False)),
        ("with keys", partial(race, [said("a", REX), said("b", MAX)], history=False)),
        ("as a history", partial(race, [said(None, REX), said(None, MAX)], history=True)),
        ("two contents", quarrel))),
)  # fmt: skip
