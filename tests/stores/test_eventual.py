"""The eventual double: the kit's eventual rules, and the ways in which it is not a database."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memkit.contracts import Ledger, Store
from memkit.errors import Forgotten, LeaseLost, StoreUnavailable
from memkit.models import Changes, Claim, Completed, Failed, Items, MemoryItem, WholeScope
from memkit.testing.clock import ManualClock
from memkit.testing.eventual import EventualStore
from memkit.testing.ledgers import LedgerConformance
from memkit.testing.patience import Settling
from memkit.testing.reading import all_items, all_jobs, contents, texts
from memkit.testing.stores import StoreConformance
from memkit.testing.values import HERE, NOW, a_source, an_episode, an_item

pytestmark = pytest.mark.anyio

LAG = timedelta(seconds=90)
LEASE = timedelta(hours=1)


class TestEventualStore(StoreConformance, LedgerConformance):
    """The double keeps every rule that does not ask for transactions or immediacy."""

    async def open_store(self, clock: ManualClock) -> EventualStore:
        """A fresh store on a fresh service."""
        return EventualStore(clock=clock)

    async def reopen(self, store: Store, clock: ManualClock) -> EventualStore:
        """Another worker on the same service."""
        assert isinstance(store, Settling)
        assert isinstance(store.inner, EventualStore)
        return EventualStore(clock=clock, service=store.inner.service)


class Stops:
    """Stops a call before its n-th write from now on, once."""

    def __init__(self) -> None:
        self._left: int | None = None

    def after(self, writes: int) -> None:
        """Let that many writes pass, then fail one."""
        self._left = writes

    def never(self) -> None:
        """Let everything pass again."""
        self._left = None

    def __call__(self, name: str) -> None:
        """Called before each write."""
        if self._left is None:
            return
        self._left -= 1
        if self._left < 0:
            self._left = None
            raise StoreUnavailable(f"stopped before {name}")


@pytest.fixture
def clock() -> ManualClock:
    """The one clock of the service and its workers."""
    return ManualClock(NOW)


@pytest.fixture
def stops() -> Stops:
    """What stops the first worker."""
    return Stops()


@pytest.fixture
def store(clock: ManualClock, stops: Stops) -> EventualStore:
    """The first worker."""
    return EventualStore(clock=clock, lag=LAG, before_write=stops)


@pytest.fixture
def other(store: EventualStore, clock: ManualClock) -> EventualStore:
    """A second worker on the same service."""
    return EventualStore(clock=clock, service=store.service)


async def claimed(store: EventualStore) -> Claim:
    """A claim that must be there to have."""
    claim = await store.claim(now=NOW, budget=1000, lease=LEASE)
    assert claim is not None
    return claim


def decided(*items: MemoryItem) -> Completed:
    """A run that decided to remember `items`."""
    return Completed(changes=Changes(add=items), checksum="c")


async def record(store: EventualStore, clock: ManualClock, *said: str) -> None:
    """Record a session each, and let it be seen."""
    await store.append([an_episode(each, session_id=each) for each in said])
    clock.advance(LAG)


async def test_the_store_says_what_it_is_not(store: EventualStore) -> None:
    """No transactions, seen late, leases that advise; and a ledger all the same."""
    offered = store.capabilities
    assert isinstance(store, Ledger)
    assert (offered.name, offered.transactions) == ("eventual", False)
    assert (offered.consistency, offered.leases) == ("eventual", "advisory")


async def test_a_write_is_seen_after_the_lag_by_everybody(
    store: EventualStore, other: EventualStore, clock: ManualClock
) -> None:
    """Its author sees it no sooner than others do."""
    await store.append([an_episode("hi")])
    await store.apply(HERE, Changes(add=(an_item("Tea"),)))
    clock.advance(LAG - timedelta(microseconds=1))
    for each in (store, other):
        assert (await texts(each), await contents(each)) == ([], [])
    clock.advance(timedelta(microseconds=1))
    for each in (store, other):
        assert (await texts(each), await contents(each)) == (["hi"], ["Tea"])


async def test_an_item_lies_under_an_id_of_the_service(
    store: EventualStore, clock: ManualClock
) -> None:
    """The caller's id is kept beside it, and is the one that every answer names."""
    tea = an_item("Tea")
    await store.apply(HERE, Changes(add=(tea,)))
    clock.advance(LAG)
    [record] = store.service.records()
    assert record.item.id.startswith("mem-")
    assert record.metadata["mk_id"] == tea.id
    assert await store.get(HERE, [tea.id]) == [tea]
    assert await store.get(HERE, [record.item.id]) == []


async def test_a_write_repeated_unseen_is_one_in_every_answer(
    store: EventualStore, clock: ManualClock
) -> None:
    """Two records lie in the service; reading merges them by the caller's id."""
    tea = an_item("Tea")
    for _ in range(2):
        assert (await store.apply(HERE, Changes(add=(tea,)))).added == (tea.id,)
    clock.advance(LAG)
    assert len(store.service.records()) == 2
    assert await all_items(store) == [tea]


async def test_a_message_recorded_twice_unseen_is_one(
    store: EventualStore, other: EventualStore, clock: ManualClock
) -> None:
    """A key is unique among what can be seen; a conflict nobody saw becomes a revision."""
    for each in (store, other):
        await each.append([an_episode("Rex", keys=["k"])])
    await other.append([an_episode("Max", keys=["k"])])
    clock.advance(LAG)
    assert sorted(await texts(store)) == ["Max", "Rex"]
    [episode] = (await claimed(store)).episodes[-1:]
    assert episode.messages[0].text == "Max"


async def test_changes_may_stop_in_between(
    store: EventualStore, clock: ManualClock, stops: Stops
) -> None:
    """What was written before stays; a repetition writes the rest and doubles nothing."""
    changes = Changes(add=tuple(an_item(f"Item {n}") for n in range(3)))
    stops.after(2)
    with pytest.raises(StoreUnavailable):
        await store.apply(HERE, changes)
    clock.advance(LAG)
    assert await contents(store) == ["Item 0", "Item 1"]
    await store.apply(HERE, changes)
    clock.advance(LAG)
    assert await contents(store) == ["Item 0", "Item 1", "Item 2"]


async def test_the_lowest_claim_wins(
    store: EventualStore, other: EventualStore, clock: ManualClock
) -> None:
    """Both workers get one; once they can be seen, the higher is lost."""
    await record(store, clock, "I like tea")
    low, high = await claimed(store), await claimed(other)
    assert low.fence < high.fence
    clock.advance(LAG)
    with pytest.raises(LeaseLost):
        await other.renew(high, lease=LEASE)
    with pytest.raises(LeaseLost):
        await other.settle(high, decided(an_item("Tea, says the higher")), now=NOW)
    await store.settle(low, decided(an_item("Tea")), now=NOW)
    clock.advance(LAG)
    assert await contents(other) == ["Tea"]
    assert [each.id for each in await all_jobs(other)] == [low.job_id]


async def test_of_two_decisions_the_lowest_is_remembered(
    store: EventualStore, other: EventualStore, clock: ManualClock
) -> None:
    """Two workers settled the same episode before either could be seen: one of them counts."""
    await record(store, clock, "I like tea")
    low, high = await claimed(store), await claimed(other)
    await other.settle(high, decided(an_item("Tea, first decided")), now=NOW)
    await store.settle(low, decided(an_item("Tea, decided later")), now=NOW)
    clock.advance(LAG)
    assert await contents(store) == ["Tea, first decided"]
    assert (await store.stats()).pending == 0


async def test_what_was_decided_is_journaled_before_any_of_it(
    store: EventualStore, other: EventualStore, clock: ManualClock, stops: Stops
) -> None:
    """After a crash in between, whoever comes next is given the whole decision to carry out."""
    await record(store, clock, "I like tea", "I own a dog")
    tea, dog = an_item("Tea"), an_item("Dog")
    crashed = await claimed(store)
    stops.after(2)
    with pytest.raises(StoreUnavailable):
        await store.settle(crashed, decided(tea, dog), now=NOW)
    clock.advance(LEASE)
    assert await contents(other) == ["Tea"]
    claim = await claimed(other)
    assert claim.decision == Changes(add=(tea, dog))
    assert {each.id for each in claim.episodes} == {each.id for each in crashed.episodes}
    await other.settle(claim, Completed(changes=claim.decision, checksum="c"), now=NOW)
    clock.advance(LAG)
    assert await contents(store) == ["Dog", "Tea"]
    assert await store.claim(now=NOW, budget=1000, lease=LEASE) is None


async def test_a_decision_that_won_is_adopted(
    store: EventualStore, other: EventualStore, clock: ManualClock, stops: Stops
) -> None:
    """Who took over before it could be seen carries it out instead of what he decided himself."""
    await record(store, clock, "I like tea")
    slow = await claimed(store)
    clock.advance(LEASE)
    stops.after(1)
    with pytest.raises(StoreUnavailable):
        await store.settle(slow, decided(an_item("Tea, says the slow")), now=NOW)
    claim = await claimed(other)
    assert claim.decision is None
    clock.advance(LAG)
    await other.settle(claim, decided(an_item("Tea, says the quick")), now=NOW)
    clock.advance(LAG)
    assert await contents(store) == ["Tea, says the slow"]
    assert (await store.stats()).pending == 0


async def test_a_decision_that_lost_settles_nothing(
    store: EventualStore, other: EventualStore, clock: ManualClock, stops: Stops
) -> None:
    """The winner crashed and the loser could not see it: the episode waits for the winner's end."""
    await record(store, clock, "I like tea")
    slow = await claimed(store)
    clock.advance(LEASE)
    stops.after(1)
    with pytest.raises(StoreUnavailable):
        await store.settle(slow, decided(an_item("Tea, says the slow")), now=NOW)
    await other.settle(await claimed(other), decided(an_item("Tea, says the quick")), now=NOW)
    clock.advance(LAG)
    assert (await contents(store), (await store.stats()).pending) == ([], 1)
    claim = await claimed(other)
    assert claim.decision is not None
    await other.settle(claim, Completed(changes=claim.decision, checksum="c"), now=NOW)
    clock.advance(LAG)
    assert await contents(store) == ["Tea, says the slow"]


async def test_a_repeated_part_brings_nothing_back(
    store: EventualStore, other: EventualStore, clock: ManualClock, stops: Stops
) -> None:
    """A part of a decision is carried out once, though its item was removed since."""
    await record(store, clock, "I like tea", "I own a dog")
    tea, dog = an_item("Tea"), an_item("Dog")
    crashed = await claimed(store)
    stops.after(2)
    with pytest.raises(StoreUnavailable):
        await store.settle(crashed, decided(tea, dog), now=NOW)
    clock.advance(LEASE)
    await other.apply(HERE, Changes(remove=(tea.id,)))
    claim = await claimed(other)
    assert claim.decision is not None
    await other.settle(claim, Completed(changes=claim.decision, checksum="c"), now=NOW)
    clock.advance(LAG)
    assert await contents(store) == ["Dog"]


async def test_a_forget_voids_what_was_decided(
    store: EventualStore, other: EventualStore, clock: ManualClock, stops: Stops
) -> None:
    """A decision from before it is carried out no further, and given to nobody."""
    await record(store, clock, "I like tea")
    claim = await claimed(store)
    stops.after(1)
    with pytest.raises(StoreUnavailable):
        await store.settle(claim, decided(an_item("Tea")), now=NOW)
    clock.advance(LAG)
    await other.forget(Items(scope=HERE, ids=("whichever",)), at=NOW)
    clock.advance(LAG)
    assert (await claimed(other)).decision is None
    with pytest.raises(Forgotten):
        await store.settle(claim, decided(an_item("Tea")), now=NOW)
    assert await contents(store) == []


async def test_a_forget_overtakes_a_write_that_did_not_see_it(
    store: EventualStore, other: EventualStore, clock: ManualClock
) -> None:
    """Its author was answered well; what can be seen afterwards is without it."""
    await record(store, clock, "I like tea")
    claim = await claimed(store)
    clock.advance(LAG)
    await other.forget(WholeScope(scope=HERE), at=NOW)
    job = await store.settle(claim, decided(an_item("Tea")), now=NOW)
    assert job.status == "completed"
    clock.advance(LAG)
    assert (await contents(store), await all_jobs(store)) == ([], [])


async def test_a_failure_leaves_the_decision_to_the_next_try(
    store: EventualStore, clock: ManualClock, stops: Stops
) -> None:
    """A worker that could not carry out its own decision says so; it is not decided anew."""
    await record(store, clock, "I like tea")
    claim = await claimed(store)
    stops.after(1)
    with pytest.raises(StoreUnavailable):
        await store.settle(claim, decided(an_item("Tea")), now=NOW)
    clock.advance(LAG)
    await store.settle(claim, Failed(error="unavailable", retry_at=NOW + LAG), now=NOW)
    clock.advance(LAG)
    assert await store.claim(now=NOW, budget=1000, lease=LEASE) is None
    again = await store.claim(now=NOW + LAG, budget=1000, lease=LEASE)
    assert again is not None
    assert again.decision is not None


worker_steps = st.tuples(
    st.sampled_from([0, 1]),
    st.sampled_from(["claim", "settle", "wait", "wait long", "say"]),
    st.integers(0, 4),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(worker_steps, max_size=14))
async def test_whatever_two_workers_do_each_episode_is_remembered_once(
    steps: Sequence[tuple[int, str, int]],
) -> None:
    """Claims that overlap, calls that stop at any write, lags: in the end once, never less."""
    clock, stops = ManualClock(NOW), (Stops(), Stops())
    first = EventualStore(clock=clock, lag=LAG, before_write=stops[0])
    second = EventualStore(clock=clock, service=first.service, before_write=stops[1])
    workers = (first, second)
    claims: list[Claim | None] = [None, None]
    said = 1
    await first.append([an_episode("Fact 0")])
    for worker, step, writes in steps:
        store, claim = workers[worker], claims[worker]
        match step:
            case "say":
                await store.append([an_episode(f"Fact {said}")])
                said += 1
            case "claim":
                claims[worker] = await store.claim(now=NOW, budget=1000, lease=LEASE)
            case "settle" if claim is not None:
                stops[worker].after(writes)
                await settle(store, claim, by=worker)
                stops[worker].never()
            case _:
                clock.advance(LEASE if step == "wait long" else LAG / 2)
    clock.advance(LEASE)
    while (claim := await first.claim(now=NOW, budget=1000, lease=LEASE)) is not None:
        clock.advance(LAG)
        await settle(first, claim, by=0)
        clock.advance(LAG)
    learnt = [each.split(" by ")[0] for each in await contents(first)]
    assert learnt == sorted(f"Fact {n}" for n in range(said))


async def settle(store: EventualStore, claim: Claim, *, by: int) -> None:
    """Carry out the decision that came along, or decide something that names who did."""
    items = [
        an_item(f"{message.text} by {by}", sources=[a_source(episode, place)])
        for episode in claim.episodes
        for place, message in enumerate(episode.messages)
    ]
    changes = claim.decision or Changes(add=tuple(items))
    try:
        await store.settle(claim, Completed(changes=changes, checksum=claim.job_id), now=NOW)
    except (StoreUnavailable, LeaseLost):
        return
