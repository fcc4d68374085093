"""D11: what is forgotten stays away, whatever was in flight."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from functools import partial

from memkit.errors import Forgotten
from memkit.memory import Memory, Recorded
from memkit.models import (
    Changes,
    Completed,
    Extraction,
    ExtractionRequest,
    Proposal,
    Receipt,
    Scope,
)
from memkit.testing.reading import all_episodes, all_items, all_jobs
from tests.hostile.place import SCOPE, Place, cases, must, refused, same

ADDRESS = "my address is 7 Elm Street"
DOG = "my dog is called Rex"


class Echo:
    """Proposes what each turn says. Its first call waits until it is let go."""

    fingerprint = "echo"

    def __init__(self) -> None:
        self.reached = asyncio.Event()
        self.released = asyncio.Event()

    async def extract(self, request: ExtractionRequest) -> Extraction:
        """See `Extractor.extract`."""
        self.reached.set()
        await self.released.wait()
        return Extraction(
            proposals=tuple(
                Proposal(content=turn.message.text, sources=(turn.number,))
                for turn in request.turns
            )
        )


Forget = Callable[[Memory, Recorded], Awaitable[Receipt]]

TARGETS: dict[str, Forget] = {
    "the scope": lambda memory, _: memory.forget(SCOPE),
    "the session": lambda memory, _: memory.forget(SCOPE, session_id="s"),
    "the message": lambda memory, _: memory.forget(SCOPE, session_id="s", message_keys=["k-1"]),
    "the episode": lambda memory, recorded: memory.forget(
        SCOPE, episodes=[recorded.episode_id or ""]
    ),
    "the words of the session": lambda memory, _: memory.forget(
        SCOPE, session_id="s", replacement="[removed]"
    ),
    "the words of the message": lambda memory, _: memory.forget(
        SCOPE, session_id="s", message_keys=["k-1"], replacement="[removed]"
    ),
}


async def record(memory: Memory, *texts: str, session: str = "s") -> Recorded:
    """Record messages with keys `k-1`, `k-2` and so on."""
    said = [
        {"role": "user", "content": text, "key": f"k-{number}"}
        for number, text in enumerate(texts, start=1)
    ]
    return await memory.record(SCOPE, said, session_id=session)


async def must_be_gone(memory: Memory, place: Place) -> None:
    """No call, no later run and no table that can be read shows anything of the address."""
    for _ in range(2):
        await memory.consolidate()
        await memory.decay()
        place.clock.advance(hours=2)
    shown: list[object] = [
        await memory.search(SCOPE, ADDRESS),
        await memory.inject(SCOPE, query="Elm Street"),
        (await memory.inject(SCOPE, min_importance=0.0)).render(),
        await all_items(place.store),
        await all_episodes(place.store),
        await all_jobs(place.store),
    ]
    must("Elm" not in repr(shown), "it is back")


async def in_flight(forget: Forget, place: Place) -> object:
    """A run that was under way when its evidence was forgotten writes nothing."""
    extractor = Echo()
    async with place.memory(extractor) as memory:
        recorded = await record(memory, ADDRESS)
        run = asyncio.create_task(memory.consolidate(SCOPE))
        await extractor.reached.wait()
        receipt = await forget(memory, recorded)
        same(receipt.messages + receipt.redacted, 1)
        extractor.released.set()
        # What is left of the evidence is pending, and is read in a run of its own.
        job, *_ = await run
        same((job.status, job.error), ("failed", "forgotten"))
        await must_be_gone(memory, place)
        return job.error


async def afterwards(forget: Forget, place: Place) -> object:
    """What was learnt goes with its evidence, and what a history brings again stays away."""
    extractor = Echo()
    extractor.released.set()
    async with place.memory(extractor) as memory:
        recorded = await record(memory, ADDRESS)
        await record(memory, DOG, session="other")
        await memory.consolidate()
        same(len(await memory.search(SCOPE, ADDRESS)), 1)
        receipt = await forget(memory, recorded)
        must(receipt.items >= 1, f"{receipt.items} items went")
        again = await record(memory, ADDRESS)
        same((again.new, again.skipped), (0, 1))
        await must_be_gone(memory, place)
        repeated = await forget(memory, recorded)
        same((repeated.items, repeated.messages, repeated.redacted), (0, 0, receipt.redacted))
        return sorted(item.content for item in await all_items(place.store, SCOPE))


async def shared_evidence(place: Place) -> object:
    """What rests on other messages too stays, and names those alone."""
    extractor = Echo()
    extractor.released.set()
    async with place.memory(extractor) as memory:
        first = await record(memory, DOG)
        second = await record(memory, DOG, session="other")
        await memory.consolidate()
        [item] = await all_items(place.store, SCOPE)
        same(len(item.sources), 2)
        await memory.forget(SCOPE, episodes=[first.episode_id or ""])
        [item] = await all_items(place.store, SCOPE)
        same([source.episode_id for source in item.sources], [second.episode_id])
        await memory.forget(SCOPE, session_id="other")
        same(await all_items(place.store, SCOPE), [])
        return item.content


async def say_again(place: Place) -> object:
    """A person may say it again, and a host may tell it: only what came before is blocked."""
    extractor = Echo()
    extractor.released.set()
    async with place.memory(extractor) as memory:
        await record(memory, ADDRESS)
        await memory.consolidate()
        await memory.forget(SCOPE)
        place.clock.advance(minutes=1)
        await record(memory, ADDRESS, session="later")
        await memory.consolidate()
        same(len(await memory.search(SCOPE, ADDRESS)), 1)
        await memory.forget(SCOPE)
        await memory.remember(SCOPE, ADDRESS)
        return len(await memory.search(SCOPE, ADDRESS))


async def of_an_item(place: Place) -> object:
    """An item that is forgotten while a run meets it again is not brought back by it."""
    extractor = Echo()
    async with place.memory(extractor) as memory:
        await memory.remember(SCOPE, ADDRESS)
        [item] = await all_items(place.store, SCOPE)
        await record(memory, ADDRESS)
        run = asyncio.create_task(memory.consolidate(SCOPE))
        await extractor.reached.wait()
        same((await memory.forget(SCOPE, items=[item.id])).items, 1)
        extractor.released.set()
        job, *_ = await run
        same(job.error, "forgotten")
        await memory.consolidate()
        # Its evidence was not forgotten: it stays, and is older than the forgetting.
        same(await all_items(place.store, SCOPE), [])
        return len(await all_episodes(place.store, SCOPE))


async def of_another(place: Place) -> object:
    """Forgetting elsewhere neither stops nor spoils a run here."""
    extractor = Echo()
    async with place.memory(extractor) as memory:
        await record(memory, DOG)
        run = asyncio.create_task(memory.consolidate(SCOPE))
        await extractor.reached.wait()
        for other in (Scope("U1"), Scope("u1", "a"), Scope("u")):
            await memory.forget(other)
        extractor.released.set()
        [job] = await run
        same((job.status, job.added), ("completed", 1))
        return [item.content for item in await all_items(place.store, SCOPE)]


async def at_the_store(forget: Forget, place: Place) -> object:
    """A claim from before is refused by name, whatever it wants to settle or to apply."""
    async with place.memory() as memory:
        recorded = await record(memory, ADDRESS)
        lease = timedelta(minutes=5)
        claim = await place.store.claim(SCOPE, now=place.clock(), budget=1000, lease=lease)
        must(claim, "nothing was due")
        assert claim is not None
        await forget(memory, recorded)
        outcome = Completed(changes=Changes(), checksum="c")
        names = [
            await refused(place.store.settle(claim, outcome, now=place.clock()), Forgotten),
            await refused(place.store.renew(claim, lease=lease), Forgotten),
            await refused(place.store.apply(SCOPE, Changes(), epoch=claim.epoch), Forgotten),
        ]
        await must_be_gone(memory, place)
        return names


async def meanwhile(place: Place) -> object:
    """Recording, consolidating and forgetting at once: nothing of what was forgotten is left."""
    async with place.memory() as memory:
        for number in range(8):
            place.clock.advance(minutes=1)
            await record(memory, f"{ADDRESS} {number}", session=f"s-{number}")
            await asyncio.gather(memory.consolidate(), memory.forget(SCOPE), memory.decay())
        await must_be_gone(memory, place)
        return (await memory.stats(SCOPE)).items


async def given(script: Sequence[str], place: Place) -> object:
    """The eleventh case as it was handed to us."""
    must(script[2].startswith("forget(scope=u1)"), "another script than the one carried out here")
    return await in_flight(TARGETS["the scope"], place)


CASES = (
    *cases("forgotten in flight", (
        (name, partial(in_flight, forget)) for name, forget in TARGETS.items())),
    *cases("forgotten", ((name, partial(afterwards, forget)) for name, forget in TARGETS.items())),
    *cases("forgotten under a claim", (
        (name, partial(at_the_store, forget)) for name, forget in TARGETS.items())),
    *cases("forgotten", (
        ("one of two messages", shared_evidence), ("and said again", say_again),
        ("an item that is met again", of_an_item), ("by another", of_another),
        ("all the while", meanwhile))),
)  # fmt: skip
