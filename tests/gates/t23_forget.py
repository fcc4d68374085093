"""T23: what is forgotten is in no answer and no table, and after `erase` in no file."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from datetime import datetime
from functools import partial
from itertools import cycle, islice

from memkit.app import open_memory
from memkit.config import Config
from memkit.errors import ExtractionError
from memkit.memory import Memory
from memkit.models import (
    Changes,
    Extraction,
    ExtractionRequest,
    MemoryItem,
    Proposal,
    Receipt,
    Scope,
    Target,
    content_hash,
)
from memkit.testing.around import LedgerStoreAround
from memkit.testing.clock import ManualClock
from memkit.testing.reading import all_episodes, all_items, all_jobs, all_tombstones, channels
from memkit.testing.values import NOW, an_item
from tests.gates.backends import SQLITE, Backend, GateStore
from tests.gates.postgres import POSTGRES
from tests.gates.progress import watched
from tests.gates.traces import TRACES
from tests.gates.verdict import Gate, Verdict

SCOPE, OTHER = Scope("ann"), Scope("bob", "guide")
SESSIONS = ("s-1", "s-2")
LETTERS = "bcdfghjkmnpqrtvwxz"
"""No vowels: no stemmer changes such a word."""

CONFIG = Config.model_validate({"record": {"keep_tool_traffic": True}})


class Parrot:
    """Proposes what every turn says, in other letters; chokes on what says so."""

    fingerprint = "parrot"

    async def extract(self, request: ExtractionRequest) -> Extraction:
        """See `Extractor.extract`; the first known item is replaced."""
        texts = [turn.message.text for turn in request.turns]
        if any("choke" in text for text in texts):
            raise ExtractionError("invalid", "it was told to")
        added = (
            Proposal(content=f"{turn.message.text.title()} it is", sources=(turn.number,))
            for turn in request.turns
        )
        replaced = Proposal(action="update", content=f"{texts[0]} after all", target=1)
        return Extraction(proposals=(*added, *([replaced] if request.known else ())))


async def tell(memory: Memory, scope: Scope, word: str, *, name: str) -> None:
    """Put a word wherever a memory can hold one; `name` is in keys, and speaks."""
    for number, session in enumerate(SESSIONS):
        said = [
            {"role": "user", "content": f"I call it {word}, or {word.upper()}", "name": name},
            {"role": "assistant", "content": f"{word.title()}!", "metadata": {word: [word]}},
            {"role": "tool", "content": f"found {word}"},
            {"role": "user", "content": blocks(word)},
        ]
        keyed = [{**each, "key": f"{name}-{at}"} for at, each in enumerate(said)]
        await memory.record(scope, keyed, session_id=session)
        await memory.record(scope, [{**said[0], "key": None}], session_id=session)
        if number:
            await memory.record(
                scope, [{"role": "user", "content": f"choke on {word}"}], session_id=session
            )
        await memory.consolidate(scope)
    revised = [{"role": "user", "content": f"No: {word} it was", "key": f"{name}-0"}]
    await memory.record(scope, revised, session_id=SESSIONS[0], revise=True)
    await memory.consolidate(scope)
    held = {"metadata": {word: word}, "value": {word: [word.upper()]}}
    item = await memory.remember(scope, f"{word} is told", key=f"k-{word}", **held)
    await memory.update(scope, item.id, content=f"{word} was told otherwise")
    quiet = await memory.remember(scope, f"{word} is quarantined")
    await memory.update(scope, quiet.id, status="quarantined")


def blocks(word: str) -> list[dict[str, object]]:
    """The sorts of content that there are."""
    return [
        {"type": "text", "text": f"see {word}", "extra": {word: word}},
        {"type": "reasoning", "text": f"they mean {word}"},
        {"type": "tool_call", "id": word, "name": word, "arguments": {word: word}},
        {"type": "tool_result", "call_id": word, "content": [word]},
        {"type": "media", "media": "image", "reference": f"file:{word}.png"},
    ]


async def forget_scope(memory: Memory) -> Receipt:
    """Everything at once."""
    return await memory.forget(SCOPE)


async def forget_sessions(memory: Memory) -> Receipt:
    """What was said, then what is left: what was told."""
    for session in SESSIONS:
        await memory.forget(SCOPE, session_id=session)
    return await forget_items(memory)


async def forget_episodes(memory: Memory) -> Receipt:
    """The same by source."""
    episodes = await all_episodes(memory.store, SCOPE)
    await memory.forget(SCOPE, episodes=[each.id for each in episodes])
    return await forget_items(memory)


async def forget_messages(memory: Memory) -> Receipt:
    """The same by key, and what has none by source."""
    for session in SESSIONS:
        episodes = await all_episodes(memory.store, SCOPE, session_id=session)
        keys = {said.key for each in episodes for said in each.messages if said.key}
        await memory.forget(SCOPE, session_id=session, message_keys=sorted(keys))
    return await forget_episodes(memory)


async def forget_words(memory: Memory) -> Receipt:
    """The words of every message are replaced; what came of them goes, and what was told."""
    for session in SESSIONS:
        await memory.forget(SCOPE, session_id=session, replacement="[removed]")
    return await forget_items(memory)


async def forget_items(memory: Memory) -> Receipt:
    """All items that are left."""
    items = await all_items(memory.store, SCOPE)
    return await memory.forget(SCOPE, items=[each.id for each in items] or ["none"])


WAYS: tuple[Callable[[Memory], Awaitable[Receipt]], ...] = (
    forget_scope,
    forget_sessions,
    forget_episodes,
    forget_messages,
    forget_words,
)


class KeepsHistory(LedgerStoreAround):
    """The bug: what was superseded outlives what is forgotten."""

    async def forget(
        self, target: Target, *, at: datetime, replacement: str | None = None
    ) -> Receipt:
        """See `Store.forget`."""
        items = await all_items(self.inner, SCOPE)
        old = tuple(
            each.model_copy(update={"sources": ()}) for each in items if each.status == "superseded"
        )
        receipt = await self.inner.forget(target, at=at, replacement=replacement)
        await self.inner.apply(SCOPE, Changes(add=old))
        return receipt


async def answers(memory: Memory, word: str, ids: Sequence[str]) -> AsyncIterator[object]:
    """Whatever a memory and its store answer about a word."""
    store = memory.store
    for query in (word, word.upper(), f"I call it {word}"):
        yield await memory.search(SCOPE, query, limit=100)
        yield await memory.inject(SCOPE, query=query, min_importance=0.0)
    found = await memory.inject(SCOPE, min_importance=0.0)
    yield found.render()
    yield await memory.get(SCOPE, ids)
    yield await store.by_key(SCOPE, f"k-{word}")
    yield await all_items(store)
    yield await all_episodes(store)
    yield await all_jobs(store)
    yield await all_tombstones(store)
    for session in SESSIONS:
        yield await store.tail(SCOPE, session, limit=100)
    likely = an_item(f"{word} is told", scope=SCOPE)
    yield [word] * bool(await channels(store, likely))


async def missed(
    backend: Backend, location: str, memory: Memory, word: str, ids: Sequence[str]
) -> list[str]:
    """Where a forgotten word is still to be seen."""
    found = [
        f"answer {number}"
        async for number, answer in numbered(answers(memory, word, ids))
        if word in repr(answer).lower()
    ]
    traces = TRACES[backend.name]
    return [*found, *traces.rows(backend, location, word), *traces.index(backend, location, word)]


async def numbered(rows: AsyncIterator[object]) -> AsyncIterator[tuple[int, object]]:
    """Each with its number."""
    number = 0
    async for row in rows:
        yield number, row
        number += 1


async def one_round(
    backend: Backend, way: Callable[[Memory], Awaitable[Receipt]], word: str, bug: str | None
) -> tuple[list[str], list[str]]:
    """What is left of a word that is forgotten in one way, and which of a neighbor's are not."""
    kept = word[::-1]
    traces = TRACES[backend.name]
    with backend.fresh() as location:
        store = await backend.open(location)
        if bug == "skip-fts-delete":
            traces.cut_index(backend, location)
        wrapped: GateStore | LedgerStoreAround = (
            KeepsHistory(store) if bug == "keep-history" else store
        )
        async with open_memory(
            CONFIG, store=wrapped, extractor=Parrot(), clock=ManualClock(NOW)
        ) as memory:
            # Replaced messages keep their keys and their speakers.
            await tell(memory, SCOPE, word, name="ann" if way is forget_words else word)
            await tell(memory, OTHER, kept, name=kept)
            before = await all_items(store, OTHER)
            items = await all_items(store, SCOPE)
            seen = not unlike(items) and traces.files(backend, location, word)
            await way(memory)
            found = await missed(backend, location, memory, word, [each.id for each in items])
            await store.erase()
            found += traces.files(backend, location, word)
            lost = [each.id for each in before if each not in await all_items(store, OTHER)]
            lost += [] if seen and traces.files(backend, location, kept) else ["the control"]
        await store.aclose()
        found += traces.files(backend, location, word)
    return found, lost


def unlike(items: Sequence[MemoryItem]) -> set[str]:
    """Which statuses no item has: a word must have been everywhere before it is forgotten."""
    assert len({content_hash(each.content) for each in items}) > len(SESSIONS)
    return {"active", "superseded", "quarantined"} - {each.status for each in items}


def words(n: int, chance: random.Random) -> Iterator[str]:
    """Words that nothing else contains."""
    return ("".join(chance.choices(LETTERS, k=16)) for _ in watched(range(n)))


def run(backend: Backend, n: int, seed: int, bug: str | None) -> Verdict:
    """`n` words, each told to a store of its own and forgotten in one of the ways."""
    logging.getLogger("memkit").addHandler(logging.NullHandler())
    chance = random.Random(seed)
    found, lost, rounds = list[str](), list[str](), 0
    for way, word in islice(zip(cycle(WAYS), words(n, chance), strict=False), n):
        left, gone = asyncio.run(one_round(backend, way, word, bug))
        rounds += 1
        found += [f"{way.__name__}: {each}" for each in left]
        lost += gone
        if bug and found:
            break
    return Verdict(
        lost=len(lost),
        failed=len(found) + (rounds == 0),
        facts={"rounds": rounds, "first": next(iter([*found, *lost]), "")[:200]},
    )


def gate(backend: Backend, *bugs: str) -> Gate:
    """The gate on one database."""
    return Gate(
        name=f"T23{backend.suffix}",
        promise=f"forgotten is forgotten: in no answer, table or file, on {backend.name}",
        full=50,
        least=len(WAYS),
        run=partial(run, backend),
        bugs=bugs,
    )


GATES = [gate(SQLITE, "skip-fts-delete", "keep-history"), gate(POSTGRES, "keep-history")]
