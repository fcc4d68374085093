"""How the in-memory store gives out work, beyond the kit."""

from __future__ import annotations

from datetime import timedelta

import pytest

from memkit.errors import InvalidInput, LeaseLost
from memkit.inmemory import InMemoryStore
from memkit.models import (
    Changes,
    Claim,
    Completed,
    Dead,
    Failed,
    Released,
    Scope,
    Session,
    Skipped,
)
from memkit.testing.clock import ManualClock
from memkit.testing.ledgers.suite import was_settled
from memkit.testing.reading import all_items, all_jobs
from memkit.testing.values import DAY, HERE, MINUTE, NOW, an_episode, an_item

pytestmark = pytest.mark.anyio

HOUR = timedelta(hours=1)
PLENTY = 10_000
TICK = timedelta(microseconds=1)


@pytest.fixture
def store() -> InMemoryStore:
    """A fresh store."""
    return InMemoryStore(lease_clock=ManualClock(NOW))


async def claimed(store: InMemoryStore, scope: Scope = HERE) -> Claim:
    """A claim that must be there to have."""
    claim = await store.claim(scope, now=NOW, budget=PLENTY, lease=HOUR)
    assert claim is not None
    return claim


async def test_a_forget_frees_the_scope_at_once(store: InMemoryStore) -> None:
    """The live claim ends with its job, so that what is said next need not wait for a lease."""
    await store.append([an_episode("a"), an_episode("b", session_id="s-2")])
    await claimed(store)
    await store.forget(Session(scope=HERE, session_id="s-2"), at=NOW)
    [job] = await all_jobs(store)
    assert (job.status, job.error, len(job.episode_ids)) == ("failed", "forgotten", 1)
    assert [each.messages[0].text for each in (await claimed(store)).episodes] == ["a"]


async def test_a_job_of_forgotten_words_forgets_its_checksum(store: InMemoryStore) -> None:
    """The same words, said again on purpose, are read again rather than skipped."""
    await store.append([an_episode("a"), an_episode("b", session_id="s-2")])
    outcome = Completed(changes=Changes(), checksum="c")
    job = await store.settle(await claimed(store), outcome, now=NOW)
    receipt = await store.forget(Session(scope=HERE, session_id="s-2"), at=NOW)
    [kept] = await all_jobs(store)
    assert (receipt.jobs, kept.id, kept.checksum) == (0, job.id, None)
    assert not await was_settled(store, HERE, "c")
    assert (await store.forget(Session(scope=HERE, session_id="s-1"), at=NOW)).jobs == 1


async def test_refused_changes_leave_the_claim_as_it_is(store: InMemoryStore) -> None:
    """A settlement whose changes cannot be kept writes nothing; another may follow."""
    await store.append([an_episode("a")])
    claim = await claimed(store)
    astray = an_item("Astray", scope=HERE.project("user"))
    outcome = Completed(changes=Changes(add=(an_item("Mine"), astray)), checksum="c")
    with pytest.raises(InvalidInput):
        await store.settle(claim, outcome, now=NOW)
    assert (await all_items(store), (await all_jobs(store))[0].status) == ([], "running")
    dead = Dead(error="invalid")
    assert (await store.settle(claim, dead, now=NOW)).status == "dead"


async def test_handing_back_twice_is_fine(store: InMemoryStore) -> None:
    """The second `Released` gives back no second attempt."""
    await store.append([an_episode("a")])
    claim = await claimed(store)
    first = await store.settle(claim, Released(), now=NOW)
    assert await store.settle(claim, Released(), now=NOW) == first
    assert (await claimed(store)).attempts == 1


async def test_another_end_after_the_end_is_refused(store: InMemoryStore) -> None:
    """What was completed cannot be declared dead by the same claim."""
    await store.append([an_episode("a")])
    claim = await claimed(store)
    await store.settle(claim, Completed(changes=Changes(), checksum="c"), now=NOW)
    with pytest.raises(LeaseLost):
        await store.settle(claim, Dead(error="refused"), now=NOW)


async def test_the_context_ends_where_the_work_begins(store: InMemoryStore) -> None:
    """A late retry is shown what was said before it, not what came after; and its own home's."""
    shared = HERE.project("user")
    await store.append([an_episode("elsewhere", home=shared)])
    await store.settle(await claimed(store, shared), Skipped(checksum="c"), now=NOW)
    await store.append([an_episode("first")])
    await store.settle(await claimed(store), Skipped(checksum="c"), now=NOW)
    await store.append([an_episode("poison")])
    failed = Failed(error="timeout", retry_at=NOW + DAY)
    await store.settle(await claimed(store), failed, now=NOW)
    await store.append([an_episode("last")])
    await store.settle(await claimed(store), Skipped(checksum="c"), now=NOW)
    claim = await store.claim(HERE, now=NOW + DAY, budget=PLENTY, lease=HOUR)
    assert claim is not None
    assert [[m.text for m in each.messages] for each in claim.context] == [["first"]]


async def test_an_episode_all_of_which_was_revised_is_settled_with_the_rest(
    store: InMemoryStore,
) -> None:
    """It is claimed without messages, so that it does not stay pending for ever."""
    await store.append([an_episode("Rex", keys=["k"])])
    await store.append([an_episode("Max", keys=["k"])], revise=True)
    claim = await claimed(store)
    assert [len(each.messages) for each in claim.episodes] == [0, 1]
    await store.settle(claim, Skipped(checksum="c"), now=NOW)
    assert (await store.stats()).pending == 0


async def test_requeue_counts_what_is_left(store: InMemoryStore) -> None:
    """Episodes forgotten, purged or settled since stay as they are, and count for nothing."""
    await store.append(
        [
            an_episode(str(n), session_id=f"s-{n}", expires_at=NOW if n == 1 else None)
            for n in range(3)
        ]
    )
    job = await store.settle(await claimed(store), Dead(error="refused"), now=NOW)
    await store.forget(Session(scope=HERE, session_id="s-0"), at=NOW)
    await store.purge(now=NOW)
    assert await store.requeue([job.id, job.id]) == 1
    await store.settle(await claimed(store), Skipped(checksum="c"), now=NOW)
    assert await store.requeue([job.id]) == 0


async def test_a_session_is_calm_at_the_very_end_of_idle(store: InMemoryStore) -> None:
    """`idle` old is due; `max_wait` old is not yet older than that."""
    await store.append([an_episode("a", at=NOW - HOUR), an_episode("b", at=NOW - MINUTE)])
    for idle, max_wait, is_due in (
        (MINUTE, None, True),
        (MINUTE + TICK, None, False),
        (HOUR, HOUR, False),
        (HOUR, HOUR - TICK, True),
    ):
        claim = await store.claim(now=NOW, budget=PLENTY, lease=HOUR, idle=idle, max_wait=max_wait)
        assert (claim is not None) == is_due
        if claim is not None:
            await store.settle(claim, Released(), now=NOW)


async def test_what_died_unread_is_counted_when_it_is_purged(store: InMemoryStore) -> None:
    """A dead episode was never consolidated either; a settled one was."""
    await store.append([an_episode("a", expires_at=NOW)])
    await store.settle(await claimed(store), Skipped(checksum="c"), now=NOW)
    await store.append([an_episode("b", expires_at=NOW)])
    await store.settle(await claimed(store), Dead(error="refused"), now=NOW)
    purged = await store.purge(now=NOW)
    assert (len(purged.episode_ids), purged.unread) == (2, 1)
