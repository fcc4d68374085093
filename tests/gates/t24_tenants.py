"""T24: fifty scopes at once, and none of them ever sees, moves or hears of another's memory."""

from __future__ import annotations

import asyncio
import logging
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

from memkit.app import open_memory
from memkit.config import Config
from memkit.errors import InvalidInput, MemkitError
from memkit.extraction import build_prompt
from memkit.memory import Memory
from memkit.models import Extraction, ExtractionRequest, MemoryItem, Proposal, Scope
from memkit.testing.clock import ManualClock
from memkit.testing.hostile import LOOKALIKES
from memkit.testing.values import NOW
from tests.gates.backends import SQLITE, Backend
from tests.gates.postgres import POSTGRES
from tests.gates.progress import watched
from tests.gates.tenantless import BUGS, open_with
from tests.gates.verdict import Gate, Verdict

PLAIN = tuple(Scope(f"user-{number}", "guide") for number in range(50))
SCOPES = [*(each for each in LOOKALIKES if not each.is_unset), *PLAIN][:50]
"""Many of them look like each other."""

SESSION, KEY = "s", "k"
"""The same ones for everybody."""


def canary(number: int) -> str:
    """The word of one scope: no other's contains it."""
    return f"canary{number:03d}q"


@dataclass
class Aviary:
    """What was heard where it should not have been, and how often anything was heard at all."""

    foreign: list[str] = field(default_factory=list)
    seen: Counter[str] = field(default_factory=Counter)

    def listen(self, where: str, heard: object, own: int | None) -> None:
        """Note every canary in `heard` but the own one; without an own one, every one."""
        text = repr(heard)
        if "canary" not in text:
            return
        for number in range(len(SCOPES)):
            if canary(number) in text:
                self.seen[where] += 1
                if number != own:
                    self.foreign.append(f"{where} of {own}: {canary(number)}")


class Listening(logging.Handler):
    """Hears what is logged, arguments and tracebacks included; nobody's canary belongs there."""

    def __init__(self, aviary: Aviary) -> None:
        super().__init__(logging.DEBUG)
        self._aviary = aviary
        self._lines = logging.Formatter()

    def emit(self, record: logging.LogRecord) -> None:
        """See `logging.Handler.emit`."""
        self._aviary.listen("logs", self._lines.format(record), None)


class Overheard:
    """Proposes what was said, and lets what it is shown be listened to."""

    fingerprint = "overheard"

    def __init__(self, aviary: Aviary) -> None:
        self._aviary = aviary

    async def extract(self, request: ExtractionRequest) -> Extraction:
        """See `Extractor.extract`."""
        own = SCOPES.index(request.scope)
        self._aviary.listen("prompts", build_prompt(request), own)
        proposals = [
            Proposal(content=turn.message.text, sources=(turn.number,)) for turn in request.turns
        ]
        if request.known:
            proposals.append(Proposal(action="update", content=f"{canary(own)} anew", target=1))
        return Extraction(proposals=tuple(proposals))


@dataclass
class Tenants:
    """All scopes on one memory, and one random call after the other."""

    memory: Memory
    aviary: Aviary
    chance: random.Random
    ids: dict[int, list[str]] = field(default_factory=lambda: {each: [] for each in range(50)})
    episodes: dict[int, list[str]] = field(default_factory=lambda: {each: [] for each in range(50)})

    async def act(self) -> None:
        """One call of one scope; what it answers or raises holds its own canary alone."""
        own = self.chance.randrange(len(SCOPES))
        name, call = self.chance.choice(list(CALLS.items()))
        try:
            answer = await call(self, own)
        except MemkitError as exc:
            self.aviary.listen("errors", (exc, exc.__cause__, vars(exc)), own)
            return
        self.aviary.listen(name, answer, own)

    def another(self, own: int) -> int:
        """Any other scope."""
        return (own + self.chance.randrange(1, len(SCOPES))) % len(SCOPES)

    def foreign(self, own: int, ids: Mapping[int, list[str]]) -> str:
        """An id that another scope has, if any has one yet."""
        other = ids[self.another(own)]
        return self.chance.choice(other) if other else "00000000-0000-7000-8000-000000000000"

    async def record(self, own: int) -> object:
        """Say one's canary, under a key that everybody uses."""
        said = {
            "role": "user",
            "content": f"I am {canary(own)}, number {self.chance.randrange(40)}",
            "key": f"{KEY}-{self.chance.randrange(200)}",
        }
        recorded = await self.memory.record(
            SCOPES[own], [said], session_id=SESSION, revise=self.chance.random() < 0.5
        )
        if recorded.episode_id and recorded.new:
            self.episodes[own].append(recorded.episode_id)
        return recorded

    async def remember(self, own: int) -> object:
        """Tell one's canary, under a key that everybody uses, or the words that everybody says."""
        if self.chance.random() < 0.3:
            return await self.memory.remember(SCOPES[own], "likes tea with everybody")
        item = await self.memory.remember(
            SCOPES[own],
            f"{canary(own)} likes tea {self.chance.randrange(9)}",
            key=self.chance.choice((None, KEY)),
            value={"who": canary(own)},
        )
        self.ids[own].append(item.id)
        return item

    async def inject(self, own: int) -> object:
        """Recall by importance, by everybody's words, and by another's canary."""
        query = self.chance.choice((None, "I am likes tea number", canary(self.another(own))))
        found = await self.memory.inject(
            SCOPES[own], query=query, limit=100, min_importance=0.0, token_budget=50_000
        )
        return found, found.render()

    async def search(self, own: int) -> object:
        """Ask for everybody's words and for another's canary."""
        query = f"likes tea {canary(self.another(own))}"
        return await self.memory.search(SCOPES[own], query, limit=100)

    async def get(self, own: int) -> object:
        """Read by id, one's own and another's."""
        ids = [*self.ids[own][-3:], *(self.foreign(own, self.ids) for _ in range(5))]
        return await self.memory.get(SCOPES[own], ids)

    async def scan(self, own: int) -> object:
        """List what is one's own."""
        what = self.chance.choice(("items", "episodes", "jobs", "tombstones"))
        return await self.memory.scan(what, scope=SCOPES[own], limit=1000)

    async def consolidate(self, own: int) -> object:
        """Turn one's own episodes into items, or everybody's."""
        if self.chance.random() < 0.1:
            await self.memory.consolidate()
            return None
        return await self.memory.consolidate(SCOPES[own])

    async def edit(self, own: int) -> object:
        """Change another's item: there is none with that id."""
        item_id, scope = self.foreign(own, self.ids), SCOPES[own]
        call = self.chance.choice(
            (
                partial(self.memory.update, scope, item_id, content=f"{canary(own)} was here"),
                partial(self.memory.update, scope, item_id, status="quarantined"),
                partial(self.memory.pin, scope, item_id),
                partial(self.memory.reinforce, scope, item_id, importance=1.0),
            )
        )
        try:
            item: MemoryItem = await call()
        except InvalidInput as exc:
            return exc
        self.aviary.foreign.append(f"edit of {own}: {item.id} was another's")
        return item

    async def forget(self, own: int) -> object:
        """Forget something of another's by id, or a little of one's own by key."""
        scope = SCOPES[own]
        if self.chance.random() < 0.3:
            keys = [f"{KEY}-{self.chance.randrange(200)}"]
            return await self.memory.forget(scope, session_id=SESSION, message_keys=keys)
        item, episode = self.foreign(own, self.ids), self.foreign(own, self.episodes)
        receipts = (
            await self.memory.forget(scope, items=[item]),
            await self.memory.forget(scope, episodes=[episode]),
        )
        gone = sum(each.items + each.episodes + each.messages for each in receipts)
        self.aviary.foreign += [f"forget of {own}: {gone} of another's"] * (gone > 0)
        return receipts

    async def all_there(self) -> list[str]:
        """Whether each scope still has what it told under its key, and nobody else's."""
        missing = []
        for number, scope in enumerate(SCOPES):
            kept = await self.memory.store.by_key(scope, KEY)
            self.aviary.listen("by key", kept, number)
            if kept is not None and canary(number) not in kept.content:
                missing.append(f"the key of {number}")
            items = (await self.memory.scan("items", scope=scope, limit=1000)).rows
            self.aviary.listen("items", items, number)
            missing += [f"an item of {number}"] * any(each.scope != scope for each in items)
            known = {each.id for each in items}
            missing += [
                f"an item told by {number}" for each in self.ids[number] if each not in known
            ]
        return missing


CALLS: dict[str, Callable[[Tenants, int], Awaitable[object]]] = {
    "record": Tenants.record,
    "remember": Tenants.remember,
    "inject": Tenants.inject,
    "search": Tenants.search,
    "get": Tenants.get,
    "scan": Tenants.scan,
    "consolidate": Tenants.consolidate,
    "edit": Tenants.edit,
    "forget": Tenants.forget,
}


async def tried(backend: Backend, n: int, seed: int, bug: str | None) -> Verdict:
    """`n` calls by scopes at random."""
    aviary, chance = Aviary(), random.Random(seed)
    logger = logging.getLogger()
    ears = Listening(aviary)
    logger.addHandler(ears)
    logger.setLevel(logging.DEBUG)
    with backend.fresh() as location:
        store = await open_with(bug, backend, location)
        async with open_memory(
            Config(), store=store, extractor=Overheard(aviary), clock=ManualClock(NOW)
        ) as memory:
            tenants = Tenants(memory, aviary, chance)
            for done in watched(range(n)):
                await tenants.act()
                if bug and aviary.foreign and done > len(SCOPES):
                    break
            missing = await tenants.all_there()
        await store.aclose()
    logger.removeHandler(ears)
    heard = {"prompts", "search", "inject", "get", "scan"} - aviary.seen.keys()
    return Verdict(
        lost=0 if bug else len(missing),
        failed=len(aviary.foreign) + len(heard),
        facts={
            "scopes": len(SCOPES),
            "own": sum(aviary.seen.values()) - len(aviary.foreign),
            "first": next(iter([*aviary.foreign, *missing, *heard]), ""),
        },
    )


def run(backend: Backend, n: int, seed: int, bug: str | None) -> Verdict:
    """See `tried`."""
    return asyncio.run(tried(backend, n, seed, bug))


def gate(backend: Backend) -> Gate:
    """The gate on one database."""
    return Gate(
        name=f"T24{backend.suffix}",
        promise=f"no scope sees another's memory, on {backend.name}",
        full=5_000,
        least=500,
        run=partial(run, backend),
        bugs=tuple(BUGS),
    )


GATES = [gate(SQLITE), gate(POSTGRES)]
