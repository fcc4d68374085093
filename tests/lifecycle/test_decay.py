"""Decay: what is past its time goes, by whichever policy; dates follow a changed one."""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from memkit import InvalidInput, Memory, Purged, Scope, open_memory
from memkit.decay import Policy
from memkit.inmemory import InMemoryStore
from memkit.models import Applied, Changes, Reinforcement
from memkit.testing.clock import ManualClock
from memkit.testing.values import DAY, a_message, a_reinforcement

pytestmark = pytest.mark.anyio

SCOPE = Scope("ann")


async def importance(memory: Memory) -> float | None:
    """Of the only item, if it is still recalled."""
    items = (await memory.inject(SCOPE, min_importance=0.0)).items
    return round(items[0].importance, 3) if items else None


async def test_an_item_fades_as_promised(memory: Memory, clock: ManualClock) -> None:
    """0.85 is 0.51 after ten days, 0.18 after thirty, 0.065 after fifty, gone on day 56."""
    start = clock()
    await memory.remember(SCOPE, "likes tea", importance=0.85)
    table = {0: 0.85, 10: 0.509, 30: 0.182, 50: 0.065, 55: 0.051, 56: None}
    for day, expected in table.items():
        clock.set(start + day * DAY)
        assert await importance(memory) == expected
        gone = await memory.decay()
        assert len(gone.item_ids) == (expected is None)


async def test_how_often_decay_runs_is_no_matter(store_url: str, clock: ManualClock) -> None:
    """A pass writes nothing but what it deletes: thirty passes equal none."""
    async with open_memory(store_url, clock=clock) as memory:
        told = await memory.remember(SCOPE, "likes tea", importance=0.85)
        for _ in range(30):
            clock.advance(days=1)
            assert (await memory.decay()).item_ids == ()
        assert await memory.get(SCOPE, [told.id]) == [told]


async def test_a_day_has_24_hours_in_every_zone(store_url: str) -> None:
    """On the night on which clocks are put forward, an episode is kept for as long as on others."""
    berlin = ManualClock(datetime(2027, 3, 27, 12, tzinfo=ZoneInfo("Europe/Berlin")))
    async with open_memory(store_url, clock=berlin, decay={"episode_ttl": "1d"}) as memory:
        await memory.record(SCOPE, [a_message("I live in Oslo.")], session_id="s")
        [episode] = (await memory.scan("episodes")).rows
        assert episode.expires_at is not None
        kept = episode.expires_at.astimezone(UTC) - episode.recorded_at.astimezone(UTC)
        assert kept == DAY


async def test_kinds_fade_by_their_own_policies(store_url: str, clock: ManualClock) -> None:
    """Order is by importance now, also across policies."""
    settings = {"kinds": {"preference": {"factor": 0.99}, "procedural": {"factor": 1}}}
    async with open_memory(store_url, clock=clock, decay=settings) as memory:
        await memory.remember(SCOPE, "semantic", importance=0.9)
        await memory.remember(SCOPE, "preference", kind="preference", importance=0.8)
        await memory.remember(SCOPE, "procedural", kind="procedural", importance=0.7)

        async def order() -> list[str]:
            return [each.content for each in (await memory.inject(SCOPE)).items]

        assert await order() == ["semantic", "preference", "procedural"]
        clock.advance(days=12)
        assert await order() == ["preference", "procedural", "semantic"]
        clock.advance(days=12)
        assert await order() == ["procedural", "preference", "semantic"]
        clock.advance(days=10_000)
        assert len((await memory.decay()).item_ids) == 2
        assert await order() == ["procedural"]


async def test_a_dry_run_only_says(memory: Memory, clock: ManualClock) -> None:
    """What would go is listed, and stays."""
    told = await memory.remember(SCOPE, "likes tea", importance=0.1)
    clock.advance(days=100)
    assert (await memory.decay(dry_run=True)).item_ids == (told.id,)
    assert (await memory.decay(dry_run=True)).item_ids == (told.id,)
    assert (await memory.decay()).item_ids == (told.id,)
    assert (await memory.decay()).item_ids == ()


class Sipping(InMemoryStore):
    """Purges a few at a time, and notes whether it was told to believe the clock."""

    def __init__(self) -> None:
        super().__init__()
        self.forced: set[bool] = set()

    async def purge(
        self, *, now: datetime, limit: int = 1000, dry_run: bool = False, force: bool = False
    ) -> Purged:
        """At most ten."""
        self.forced.add(force)
        return await super().purge(now=now, limit=min(limit, 10), dry_run=dry_run, force=force)


async def test_a_pass_goes_to_the_end(clock: ManualClock) -> None:
    """However much has expired, and however little goes at a time, one call removes it all."""
    async with open_memory(store=Sipping(), clock=clock) as memory:
        for number in range(35):
            await memory.remember(SCOPE, f"fact {number}", importance=0.1)
        clock.advance(days=100)
        gone = await memory.decay()
        assert (len(gone.item_ids), gone.more) == (35, False)
        assert (await memory.stats()).items == 0


async def test_only_a_clock_that_is_handed_in_is_believed(clock: ManualClock) -> None:
    """The system's clock may be wrong; a test's may run ahead."""
    store = Sipping()
    async with open_memory(store=store) as memory:
        await memory.decay()
    assert store.forced == {False}
    async with open_memory(store=store, clock=clock) as memory:
        await memory.decay()
    assert store.forced == {False, True}


async def test_evidence_goes_with_its_time(
    store_url: str, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    """Episodes have a time to live; if one ends unread, that is said, with the number."""
    settings = {"episode_ttl": "90d"}
    async with open_memory(store_url, clock=clock, decay=settings) as memory:
        await memory.record(SCOPE, [a_message("I live in Oslo now.")], session_id="s")
        await memory.consolidate()
        await memory.record(SCOPE, [a_message("A canary that was never read.")], session_id="t")
        clock.advance(days=91)
        with caplog.at_level(logging.DEBUG):
            gone = await memory.decay()
        assert (len(gone.episode_ids), gone.unread) == (2, 1)
        assert "1 episodes expired before they were consolidated" in caplog.text
        assert "canary" not in caplog.text
        again = await memory.record(
            SCOPE, [a_message("I live in Oslo now.")], session_id="s", history=True
        )
        assert (again.new, again.skipped) == (0, 1)


async def test_a_clock_that_runs_ahead_is_not_believed(store_url: str) -> None:
    """The system's clock, a day and more ahead of the store's, would delete what is alive."""
    ahead = datetime(2099, 1, 1, tzinfo=UTC)
    async with open_memory(store_url) as memory:
        await memory.remember(SCOPE, "likes tea")
        with pytest.raises(InvalidInput):
            await memory.store.purge(now=ahead)
        await memory.decay()
        assert (await memory.stats()).items == 1


async def test_dates_follow_a_changed_policy(clock: ManualClock) -> None:
    """`check` says that items fade by an older policy, `rebuild` works their dates out anew."""
    store = InMemoryStore()
    async with open_memory(store=store, clock=clock) as memory:
        told = await memory.remember(SCOPE, "likes tea", importance=0.8)
        pinned = await memory.remember(SCOPE, "allergic to nuts", pinned=True)
        brief = await memory.remember(SCOPE, "is in town", ttl=7 * DAY)
        await memory.remember(Scope("bob"), "likes noodles")
        assert [each.code for each in await memory.check()] == []
    async with open_memory(store=store, clock=clock, decay={"factor": 0.9}) as memory:
        assert [each.code for each in await memory.check()] == ["policy-changed"]
        assert await memory.rebuild() == 3
        assert await memory.rebuild() == 0
        assert [each.code for each in await memory.check()] == []
        changed, kept, ends = await memory.get(SCOPE, [told.id, pinned.id, brief.id])
        assert (changed.policy, changed.importance) == ("0.9/0.05", 0.8)
        assert changed.fades_at < told.fades_at
        assert kept == pinned
        assert ends.expires_at == brief.expires_at
        clock.advance(days=10)
        [_, tea] = (await memory.inject(SCOPE)).items
        assert tea.importance == pytest.approx(0.8 * 0.9**10)


class Overtaken(InMemoryStore):
    """Lets an item be met again between what a rebuild read and what it writes."""

    met: Reinforcement | None = None

    async def apply(self, scope: Scope, changes: Changes, *, epoch: int | None = None) -> Applied:
        """See `Store.apply`."""
        met, self.met = self.met, None
        if met is not None:
            await super().apply(scope, Changes(reinforce=(met,)))
        return await super().apply(scope, changes, epoch=epoch)


@pytest.mark.parametrize("factor", [0.95, 0.99])
async def test_a_rebuild_takes_nothing_back(clock: ManualClock, factor: float) -> None:
    """What is reinforced while dates are worked out anew fades by its reinforcement."""
    store = Overtaken()
    async with open_memory(store=store, clock=clock) as memory:
        told = await memory.remember(SCOPE, "likes tea", importance=0.3)
    async with open_memory(store=store, clock=clock, decay={"factor": 0.99}) as memory:
        clock.advance(days=1)
        met = told.model_copy(update={"policy": Policy(factor).name})
        store.met = a_reinforcement(met, importance=0.5, at=clock())
        assert await memory.rebuild() == (factor == 0.95)
        [kept] = await memory.get(SCOPE, [told.id])
        assert (kept.importance, kept.policy) == (0.5, "0.99/0.05")
        assert kept.fades_at == Policy(0.99).fades_at(0.5, clock())


async def test_what_is_written_and_never_read_is_noticed(clock: ManualClock) -> None:
    """A projection that is written but not read would look like forgetting everything."""
    settings = {"write": "user", "read": ["full"]}
    async with open_memory("memory://", clock=clock, scope=settings) as memory:
        assert [each.code for each in await memory.check()] == ["written-never-read"]
