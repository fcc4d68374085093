"""Consolidating: each effect once, whatever the extractor, the store or the caller does."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from typing import NoReturn

import pytest

from memkit import (
    Background,
    CapabilityError,
    Changes,
    Claim,
    ConfigError,
    ConsolidationJob,
    Extraction,
    ExtractionError,
    ExtractionRequest,
    Extractor,
    InvalidInput,
    Job,
    LeaseLost,
    Ledger,
    Memory,
    OutcomeUnknown,
    Proposal,
    Query,
    Scope,
    Store,
    StoreUnavailable,
    open_memory,
)
from memkit.inmemory import InMemoryStore
from memkit.testing.clock import ManualClock
from memkit.testing.values import NOW, a_message, an_item
from tests.lifecycle.extractors import RATE_LIMITED, UNREADABLE, Held, Scripted, fact, found

pytestmark = pytest.mark.anyio

SCOPE = Scope("ann")


@asynccontextmanager
async def opened(
    store: str | Store, clock: ManualClock, extractor: Extractor, **settings: object
) -> AsyncIterator[Memory]:
    """A memory with this extractor, and `settings` under `[consolidate]`."""
    async with open_memory(
        store=store, clock=clock, extractor=extractor, consolidate=settings
    ) as memory:
        yield memory


async def told(memory: Memory, *texts: str, scope: Scope = SCOPE, session: str = "s") -> None:
    """Record each text as an episode of its own."""
    for text in texts:
        await memory.record(scope, [a_message(text)], session_id=session)


async def contents(memory: Memory, scope: Scope = SCOPE) -> list[str]:
    """What is remembered."""
    found = await memory.inject(scope, min_importance=0.0)
    return sorted(each.content for each in found.items)


async def test_what_was_said_becomes_items(store_url: str, clock: ManualClock) -> None:
    """Pending episodes are extracted once, with their evidence; then there is nothing to do."""
    extractor = Scripted(found("Ann lives in Oslo.", "Ann likes tea."))
    async with opened(store_url, clock, extractor) as memory:
        await told(memory, "I live in Oslo.", "I like tea.")
        [job] = await memory.consolidate(SCOPE)
        assert (job.status, job.added, len(job.episode_ids)) == ("completed", 2, 2)
        assert job.usage.calls == 1
        assert await contents(memory) == ["Ann likes tea.", "Ann lives in Oslo."]
        [item, _] = (await memory.scan("items")).rows
        assert {each.session_id for each in item.sources} == {"s"}
        assert (item.job_id, item.model) == (job.id, "test:model")
        assert await memory.consolidate() == []
        assert len(extractor.requests) == 1


async def test_every_scope_is_found(store_url: str, clock: ManualClock) -> None:
    """Nobody lists scopes: whatever is pending anywhere is done."""
    async with opened(store_url, clock, Scripted(found("a fact"))) as memory:
        scopes = [Scope(f"user-{number}") for number in range(10)]
        for scope in scopes:
            await told(memory, "I live in Oslo.", scope=scope)
        jobs = await memory.consolidate()
        assert {job.scope for job in jobs} == set(scopes)
        assert {job.status for job in jobs} == {"completed"}


async def test_one_scope_may_be_asked_for(store_url: str, clock: ManualClock) -> None:
    """Consolidating one scope leaves the others pending."""
    async with opened(store_url, clock, Scripted(found("a fact"))) as memory:
        await told(memory, "I live in Oslo.")
        await told(memory, "I live in Rome.", scope=Scope("bob"))
        assert [job.scope for job in await memory.consolidate(SCOPE)] == [SCOPE]
        assert (await memory.stats()).pending == 1


async def test_nothing_worth_keeping_is_done(store_url: str, clock: ManualClock) -> None:
    """An empty extraction is an answer, not a failure."""
    async with opened(store_url, clock, Scripted(found())) as memory:
        await told(memory, "Hello there!")
        [job] = await memory.consolidate()
        assert (job.status, job.added) == ("completed", 0)
        assert (await memory.stats()).pending == 0


async def test_the_same_input_is_read_once(store_url: str, clock: ManualClock) -> None:
    """Episodes that were settled before with the same words need no second call."""
    extractor = Scripted(found("Ann lives in Oslo."))
    async with opened(store_url, clock, extractor) as memory:
        await told(memory, "I live in Oslo.")
        await memory.consolidate()
        await told(memory, "I live in Oslo.")
        [job] = await memory.consolidate()
        assert job.status == "skipped"
        assert len(extractor.requests) == 1


async def test_another_session_is_other_input(store_url: str, clock: ManualClock) -> None:
    """The same words on another occasion are heard, and reinforce what is known."""
    extractor = Scripted(found("Ann lives in Oslo."))
    async with opened(store_url, clock, extractor) as memory:
        await told(memory, "I live in Oslo.")
        await memory.consolidate()
        clock.advance(days=10)
        await told(memory, "I live in Oslo.", session="t")
        [job] = await memory.consolidate()
        assert (job.status, job.added, job.reinforced) == ("completed", 0, 1)
        [item] = (await memory.scan("items")).rows
        assert item.reinforced_at == clock()


async def test_known_items_and_context_are_given_along(store_url: str, clock: ManualClock) -> None:
    """The extractor sees what is related and what was settled before, apart from the turns."""
    extractor = Scripted(found("Ann lives in Oslo."), found())
    async with opened(store_url, clock, extractor) as memory:
        await told(memory, "I live in Oslo.")
        await memory.consolidate()
        await told(memory, "Oslo is cold in winter.")
        await memory.consolidate()
        request = extractor.requests[1]
        assert [each.content for each in request.known] == ["Ann lives in Oslo."]
        assert [each.text for each in request.context] == ["I live in Oslo."]
        assert [each.message.text for each in request.turns] == ["Oslo is cold in winter."]


async def test_an_update_supersedes(store_url: str, clock: ManualClock) -> None:
    """A contradicted item stays readable as history and is recalled no more."""

    async def corrects(request: ExtractionRequest) -> Extraction:
        return Extraction(proposals=(fact("Ann lives in Rome.", target=request.known[0].number),))

    extractor = Scripted(found("Ann lives in Oslo."), corrects)
    async with opened(store_url, clock, extractor) as memory:
        await told(memory, "I live in Oslo.")
        await memory.consolidate()
        clock.advance(days=1)
        await told(memory, "I moved from Oslo, I live in Rome now.")
        [job] = await memory.consolidate()
        assert (job.added, job.removed) == (1, 1)
        assert await contents(memory) == ["Ann lives in Rome."]
        assert (await memory.stats()).superseded == 1


async def test_what_is_left_out_is_said(
    clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    """More than the turns can hold is no memory, and no secret either."""
    flood = found(*(f"fact number {number}" for number in range(500)))
    async with opened("memory://", clock, Scripted(flood)) as memory:
        await told(memory, "I live in Oslo.")
        [job] = await memory.consolidate()
        assert job.added < 200
        assert f"left out {500 - job.added} proposals" in caplog.text


async def test_secrets_do_not_become_items(store_url: str, clock: ManualClock) -> None:
    """What a model repeats of a card number or an address is left out of what is remembered."""
    extractor = Scripted(found("Card 4111 1111 1111 1111, mail ann@example.org."))
    async with opened(store_url, clock, extractor) as memory:
        await told(memory, "Here is how to reach and to charge me.")
        await memory.consolidate()
        [content] = await contents(memory)
        assert "4111" not in content
        assert "ann@" not in content


async def test_what_a_tool_said_is_quarantined(store_url: str, clock: ManualClock) -> None:
    """A fact whose only source is a tool is kept out of every answer until it is released."""
    async with opened(store_url, clock, Scripted(found("The user is an admin."))) as memory:
        await memory.record(
            SCOPE, [a_message("Store: the user is an admin.", role="tool")], session_id="s"
        )
        await memory.consolidate()
        assert await contents(memory) == []
        assert await memory.search(SCOPE, "admin") == []
        [item] = (await memory.scan("items")).rows
        assert (item.status, item.origin) == ("quarantined", "tool")
        await memory.update(SCOPE, item.id, status="active")
        found_again = await memory.inject(SCOPE)
        assert found_again.has_untrusted


async def test_what_is_quarantined_does_not_pile_up(store_url: str, clock: ManualClock) -> None:
    """A tool that says the same each day leaves one item, whose words no extractor is shown."""
    extractor = Scripted(found("The user is an admin."))
    async with opened(store_url, clock, extractor) as memory:
        for said in ("The user is an admin.", "As before.", "And again."):
            await memory.record(SCOPE, [a_message(said, role="tool")], session_id="s")
            await memory.consolidate()
            clock.advance(timedelta(days=1))
        [item] = (await memory.scan("items")).rows
        assert (item.status, len(item.sources)) == ("quarantined", 3)
        assert [request.known for request in extractor.requests] == [()] * 3


@pytest.mark.parametrize(
    "failure", [UNREADABLE, ExtractionError("truncated"), ExtractionError("refused")]
)
async def test_a_failure_is_tried_again_and_then_put_aside(
    store_url: str, clock: ManualClock, failure: ExtractionError
) -> None:
    """Attempts are counted and bounded, waits doubled; what is dead waits to be retried."""
    extractor = Scripted(failure)
    settings = {"max_attempts": 3, "backoff": "1m"}
    async with opened(store_url, clock, extractor, **settings) as memory:
        await told(memory, "I live in Oslo.")
        seen: list[tuple[str, int]] = []
        for wait in (1, 2):
            [job] = await memory.consolidate()
            seen.append((job.status, job.attempts))
            assert job.error == failure.reason
            assert job.retry_at is not None
            assert 0.5 <= (job.retry_at - clock()) / timedelta(minutes=wait) <= 1
            assert await memory.consolidate() == []
            clock.set(job.retry_at)
        [job] = await memory.consolidate()
        assert [*seen, (job.status, job.attempts)] == [("failed", 1), ("failed", 2), ("dead", 3)]
        clock.advance(days=30)
        assert await memory.consolidate() == []
        assert len(extractor.requests) == 3
        assert await memory.retry([job.id]) == 1
        assert [each.status for each in await memory.consolidate()] == ["failed"]


async def test_one_poison_episode_harms_no_other(store_url: str, clock: ManualClock) -> None:
    """A failed batch is tried one episode at a time: the good ones get through."""

    async def chokes(request: ExtractionRequest) -> Extraction:
        texts = [each.message.text for each in request.turns]
        if "poison" in texts:
            raise ExtractionError("unreadable")
        return found(*texts)

    async with opened(store_url, clock, Scripted(chokes), max_attempts=2) as memory:
        await told(memory, "I live in Oslo.", "poison", "I like tea.")
        [job] = await memory.consolidate()
        assert (job.status, len(job.episode_ids)) == ("failed", 3)
        clock.advance(hours=1)
        jobs = await memory.consolidate()
        assert sorted(each.status for each in jobs) == ["completed", "completed", "dead"]
        assert await contents(memory) == ["I like tea.", "I live in Oslo."]


async def test_rate_limits_use_up_no_attempt(store_url: str, clock: ManualClock) -> None:
    """However often a provider is busy, the episodes are not to blame; its wish is granted."""
    extractor = Scripted(*[RATE_LIMITED] * 20, found("Ann lives in Oslo."))
    async with opened(store_url, clock, extractor, max_attempts=1) as memory:
        await told(memory, "I live in Oslo.")
        for _ in range(20):
            [job] = await memory.consolidate()
            assert (job.status, job.error) == ("failed", "rate_limited")
            assert job.retry_at is not None
            assert job.retry_at >= clock() + timedelta(seconds=90)
            clock.set(job.retry_at)
        assert [each.status for each in await memory.consolidate()] == ["completed"]


async def test_a_hanging_extractor_is_given_up(store_url: str, clock: ManualClock) -> None:
    """The deadline ends the call; the episodes stay."""
    async with opened(store_url, clock, Held(), deadline="50ms") as memory:
        await told(memory, "I live in Oslo.")
        [job] = await memory.consolidate()
        assert (job.status, job.error) == ("failed", "timeout")
        assert (await memory.stats()).pending == 1


async def test_a_broken_extractor_is_a_failure(
    store_url: str, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    """Whatever it raises is counted against the episodes; what it says is not logged."""
    async with opened(store_url, clock, Scripted(KeyError("a-canary"))) as memory:
        await told(memory, "I live in Oslo.")
        with caplog.at_level(logging.DEBUG):
            [job] = await memory.consolidate()
        assert (job.status, job.error) == ("failed", "invalid")
        assert "KeyError" in caplog.text
        assert "a-canary" not in caplog.text


@pytest.mark.parametrize(
    ("failure", "reason"),
    [
        (lambda: Extraction(proposals=(Proposal(content="x", importance=7),)), "invalid"),
        (lambda: raised(LeaseLost("another job")), "invalid"),
        (lambda: raised(StoreUnavailable("a store of its own")), "invalid"),
        (lambda: raised(asyncio.CancelledError()), "unavailable"),
    ],
    ids=["bad value", "lease lost", "store", "cancelled"],
)
async def test_what_an_extractor_cannot_do_is_its_episodes_failure(
    store_url: str, clock: ManualClock, failure: Callable[[], Extraction], reason: str
) -> None:
    """Whatever comes of one scope's episodes, another scope's are consolidated."""

    async def answer(request: ExtractionRequest) -> Extraction:
        is_poison = request.turns[0].message.text == "poison"
        return failure() if is_poison else found("Bob likes tea.")

    extractor = Scripted(answer)
    async with opened(store_url, clock, extractor, concurrency=1) as memory:
        await told(memory, "poison")
        await told(memory, "I like tea.", scope=Scope("bob"))
        jobs = await memory.consolidate()
        assert [(job.status, job.error) for job in jobs] == [
            ("failed", reason),
            ("completed", None),
        ]
        assert (await memory.stats()).pending == 1


def raised(error: BaseException) -> NoReturn:
    """Raise it."""
    raise error


async def test_a_wrong_configuration_is_nobodys_attempt(store_url: str, clock: ManualClock) -> None:
    """An error that no retry mends is raised, and the episodes are handed back as they were."""
    async with opened(store_url, clock, Scripted(ConfigError("no key"))) as memory:
        await told(memory, "I live in Oslo.")
        for _ in range(10):
            with pytest.raises(ConfigError):
                await memory.consolidate()
        assert (await memory.stats()).pending == 1
        assert (await memory.jobs()).rows == ()


async def test_a_cancelled_run_hands_back(store_url: str, clock: ManualClock) -> None:
    """Cancelled in the middle, the claim is released at once, its attempt with it."""
    held = Held()
    async with opened(store_url, clock, held, max_attempts=1) as memory:
        await told(memory, "I live in Oslo.")
        for _ in range(3):
            held.reached.clear()
            run = asyncio.create_task(memory.consolidate())
            await held.reached.wait()
            run.cancel()
            with pytest.raises(asyncio.CancelledError):
                await run
        memory.extractor = Scripted(found("Ann lives in Oslo."))
        [job] = await memory.consolidate()
        assert (job.status, job.attempts) == ("completed", 1)


class Granting(InMemoryStore):
    """Grants a claim, and takes its time to say so."""

    def __init__(self) -> None:
        super().__init__()
        self.granted = asyncio.Event()
        self.answers = asyncio.Event()

    async def claim(self, *args: object, **kwargs: object) -> Claim | None:  # type: ignore[override]  # passed on as it is
        """The claim, in the end."""
        claim = await super().claim(*args, **kwargs)  # type: ignore[arg-type]  # passed on as it is
        self.granted.set()
        await self.answers.wait()
        return claim


async def test_a_run_cancelled_while_it_claims_hands_back(clock: ManualClock) -> None:
    """What was granted to a caller who is gone by then is pending again at once."""
    store = Granting()
    async with opened(store, clock, Scripted(found("a fact")), max_attempts=1) as memory:
        await told(memory, "I live in Oslo.")
        run = asyncio.create_task(memory.consolidate(SCOPE))
        await store.granted.wait()
        run.cancel()
        await asyncio.sleep(0)
        store.answers.set()
        with pytest.raises(asyncio.CancelledError):
            await run
        [job] = await memory.consolidate(SCOPE)
        assert (job.status, job.attempts) == ("completed", 1)
        assert len((await memory.jobs(SCOPE)).rows) == 1
        assert (await memory.jobs(Scope("bob"))).rows == ()


@pytest.mark.parametrize("ticks", range(0, 60, 4))
async def test_a_run_may_be_cancelled_anywhere(
    store_url: str, clock: ManualClock, ticks: int
) -> None:
    """Whatever it waits for, nothing stays claimed and no attempt is used up."""
    async with opened(store_url, clock, Scripted(found("a fact")), max_attempts=1) as memory:
        await told(memory, "I live in Oslo.")
        run = asyncio.create_task(memory.consolidate())
        for _ in range(ticks):
            await asyncio.sleep(0)
        run.cancel()
        with suppress(asyncio.CancelledError):
            await run
        await memory.consolidate()
        [job] = (await memory.jobs()).rows
        assert (job.status, job.attempts, job.added) == ("completed", 1, 1)
        assert await contents(memory) == ["a fact"]


async def test_a_revised_message_ends_what_came_of_it(store_url: str, clock: ManualClock) -> None:
    """No word in common: what rests on the older content alone is superseded all the same."""
    extractor = Scripted(found("Ann has a dog called Rex."), found("A parrot named Kiki."))
    async with opened(store_url, clock, extractor, related=0) as memory:
        for text in ("My dog is Rex", "Sorry: parrot, Kiki!"):
            said = [a_message(text, key="m-1")]
            await memory.record(SCOPE, said, session_id="s", revise=True)
            await memory.consolidate()
            clock.advance(minutes=1)
        assert await contents(memory) == ["A parrot named Kiki."]
        old, new = (await memory.scan("items")).rows
        assert (old.status, old.superseded_by) == ("superseded", new.id)


async def test_forgetting_overtakes_what_is_under_way(store_url: str, clock: ManualClock) -> None:
    """What was forgotten while a model thought about it never arrives."""
    held = Held("Ann lives at 7 Elm Street.")
    async with opened(store_url, clock, held) as memory:
        await told(memory, "My address is 7 Elm Street.")
        run = asyncio.create_task(memory.consolidate())
        await held.reached.wait()
        receipt = await memory.forget(SCOPE)
        assert (receipt.episodes, receipt.messages) == (1, 1)
        held.released.set()
        [job] = await run
        assert (job.status, job.error) == ("failed", "forgotten")
        assert await memory.consolidate() == []
        await memory.decay()
        assert await contents(memory) == []
        assert await memory.search(SCOPE, "Elm Street") == []
        assert (await memory.scan("items")).rows == ()


async def test_unpinning_meets_what_is_under_way(store_url: str, clock: ManualClock) -> None:
    """What is unpinned while it is met again fades from then on."""
    held = Held("Ann lives in Oslo.")
    async with opened(store_url, clock, held) as memory:
        item = await memory.remember(SCOPE, "Ann lives in Oslo.", pinned=True)
        await told(memory, "Ann lives in Oslo.")
        run = asyncio.create_task(memory.consolidate())
        await held.reached.wait()
        freed = await memory.pin(SCOPE, item.id, pinned=False)
        held.released.set()
        [job] = await run
        assert job.reinforced == 1
        [kept] = await memory.get(SCOPE, [item.id])
        assert (kept.pinned, kept.policy) == (False, freed.policy)
        assert len(kept.sources) == 1


async def test_two_at_once_do_each_thing_once(store_url: str, clock: ManualClock) -> None:
    """At most one live claim per scope, whoever asks."""
    extractor = Scripted(found("a fact"))
    async with opened(store_url, clock, extractor) as memory:
        scopes = [Scope(f"user-{number}") for number in range(8)]
        for scope in scopes:
            await told(memory, "I live in Oslo.", scope=scope)
        answers = await asyncio.gather(*(memory.consolidate() for _ in range(4)))
        jobs = [job for each in answers for job in each]
        assert sorted(job.scope.key for job in jobs) == sorted(scope.key for scope in scopes)
        assert len(extractor.requests) == 8


async def test_scheduled_runs_leave_a_conversation_alone(
    store_url: str, clock: ManualClock
) -> None:
    """A job of the scheduler waits until nobody talks, at most so long; a person need not."""
    extractor = Scripted(found())
    async with opened(store_url, clock, extractor, idle="5m", max_wait="1h") as memory:
        sweep = Job(stage="consolidate")
        await told(memory, "one")
        await memory.run(sweep)
        assert len(extractor.requests) == 0
        clock.advance(minutes=5)
        await memory.run(sweep)
        assert len(extractor.requests) == 1
        for _ in range(14):
            await told(memory, "another")
            clock.advance(minutes=4.5)
            await memory.run(sweep)
        assert len(extractor.requests) == 2
        await told(memory, "the last")
        await memory.consolidate()
        assert len(extractor.requests) == 3


class Journaling(InMemoryStore):
    """A store that hands out what a crashed run had decided."""

    async def claim(self, *args: object, **kwargs: object) -> Claim | None:  # type: ignore[override]  # passed on as it is
        """The claim, with a decision."""
        claim = await super().claim(*args, **kwargs)  # type: ignore[arg-type]  # passed on as it is
        decided = Changes(add=(an_item("decided before", scope=SCOPE),))
        return claim and claim.model_copy(update={"decision": decided})


async def test_a_decision_is_carried_out_without_a_call(clock: ManualClock) -> None:
    """What was decided before a crash is settled as it stands."""
    extractor = Scripted(found("decided anew"))
    async with opened(Journaling(), clock, extractor) as memory:
        await told(memory, "I live in Oslo.")
        [job] = await memory.consolidate()
        assert job.added == 1
        assert await contents(memory) == ["decided before"]
        assert extractor.requests == []


class Faulty(InMemoryStore):
    """A store whose ledger fails in the ways that a test names, once each."""

    def __init__(self, **faults: Exception) -> None:
        super().__init__()
        self.faults = faults
        self.renewed = asyncio.Event()

    def _fail(self, name: str) -> None:
        if name in self.faults:
            raise self.faults.pop(name)

    async def renew(self, claim: Claim, *, lease: timedelta) -> Claim:
        """Fails once, if a test says so."""
        self._fail("renew")
        self.renewed.set()
        return await super().renew(claim, lease=lease)

    async def settle(self, *args: object, **kwargs: object) -> ConsolidationJob:  # type: ignore[override]  # passed on as it is
        """Settles, and then loses the answer; or does not get so far."""
        self._fail("unsettled")
        job = await super().settle(*args, **kwargs)  # type: ignore[arg-type]  # passed on as it is
        self._fail("settled")
        return job

    async def background(self, claim: Claim, query: Query, *, checksum: str) -> Background:
        """Fails once, if a test says so."""
        self._fail("looked")
        return await super().background(claim, query, checksum=checksum)


async def test_a_lost_answer_is_asked_for_again(clock: ManualClock) -> None:
    """Settling is repeated when its answer was lost; the effect is there once."""
    store = Faulty(settled=OutcomeUnknown("lost"))
    async with opened(store, clock, Scripted(found("a fact"))) as memory:
        await told(memory, "I live in Oslo.")
        [job] = await memory.consolidate()
        assert (job.status, job.added) == ("completed", 1)
        assert await contents(memory) == ["a fact"]


async def test_what_a_store_cannot_keep_is_a_failure(clock: ManualClock) -> None:
    """A decision that the store refuses counts against its episodes, and stops nobody else."""
    store = Faulty(unsettled=InvalidInput("too long for this store"))
    async with opened(store, clock, Scripted(found("a fact"))) as memory:
        await told(memory, "I live in Oslo.")
        await told(memory, "I live in Rome.", scope=Scope("bob"))
        jobs = await memory.consolidate()
        assert sorted((job.status, job.error) for job in jobs) == [
            ("completed", None),
            ("failed", "invalid"),
        ]


async def test_a_lost_lease_is_said(clock: ManualClock) -> None:
    """Whose claim was taken over writes nothing and says so; the next run finishes."""
    store = Faulty(unsettled=LeaseLost("x"))
    async with opened(store, clock, Scripted(found("a fact"))) as memory:
        await told(memory, "I live in Oslo.")
        [job] = await memory.consolidate()
        assert (job.status, job.error) == ("failed", "lease_lost")


async def test_a_store_that_fails_is_an_error(clock: ManualClock) -> None:
    """A failure of the store is raised, never an empty list of jobs; nothing stays claimed."""
    store = Faulty(looked=StoreUnavailable("gone"))
    async with opened(store, clock, Scripted(found("a fact"))) as memory:
        await told(memory, "I live in Oslo.")
        with pytest.raises(StoreUnavailable):
            await memory.consolidate()
        [job] = await memory.consolidate()
        assert (job.status, job.attempts) == ("completed", 1)


async def test_a_long_call_keeps_its_lease(clock: ManualClock) -> None:
    """The lease is renewed while the model thinks, also after a renewal that failed."""
    held = Held("a fact")
    store = Faulty(renew=StoreUnavailable("a moment"))
    async with opened(store, clock, held, lease="600ms", deadline="590ms") as memory:
        await told(memory, "I live in Oslo.")
        run = asyncio.create_task(memory.consolidate())
        await held.reached.wait()
        await asyncio.wait_for(store.renewed.wait(), 5)
        held.released.set()
        [job] = await run
        assert (job.status, job.attempts) == ("completed", 1)


async def test_a_claim_that_is_lost_ends_the_call(clock: ManualClock) -> None:
    """There is no use in waiting for a model whose answer nobody may write."""
    held = Held("a fact")
    store = Faulty(renew=LeaseLost("x"))
    async with opened(store, clock, held, lease="90ms", deadline="80ms") as memory:
        await told(memory, "I live in Oslo.")
        [job] = await memory.consolidate()
        assert (job.status, job.error) == ("failed", "lease_lost")


async def test_a_process_that_crashes_its_workers_is_put_aside(clock: ManualClock) -> None:
    """An episode that never lets a run end is dead after as many attempts as any other."""
    moments = ManualClock(NOW)
    store = InMemoryStore(lease_clock=moments)
    extractor = Scripted(found("a fact"))
    async with opened(store, clock, extractor, max_attempts=2) as memory:
        await told(memory, "I live in Oslo.")
        for _ in range(2):
            assert await store.claim(now=clock(), budget=1000, lease=timedelta(minutes=1))
            moments.advance(minutes=2)
        [job] = await memory.consolidate()
        assert (job.status, job.error, job.attempts) == ("dead", "crashed", 3)
        assert extractor.requests == []


class Managed:
    """A store that extracts by itself: no ledger."""

    def __init__(self, inner: InMemoryStore) -> None:
        self.capabilities = inner.capabilities
        self.aclose = inner.aclose


async def test_a_store_that_extracts_itself_is_not_consolidated(clock: ManualClock) -> None:
    """What the store does not offer is an error that says so."""
    store = Managed(InMemoryStore())
    assert not isinstance(store, Ledger)
    async with open_memory(store=store, clock=clock) as memory:  # type: ignore[arg-type]  # no more of a store is needed
        with pytest.raises(CapabilityError):
            await memory.consolidate()
        with pytest.raises(CapabilityError):
            await memory.erase()
