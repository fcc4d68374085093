"""`MaintainsConformance`: what a store with a schema and files of its own must do, as tests.

Beside `StoreConformance`, whose `open_store` serves both:

    from memkit.testing import MaintainsConformance, StoreConformance
    from memkit_backends.sqlite import open_store

    class TestMyStore(StoreConformance, MaintainsConformance):
        async def open_store(self, clock):
            return await open_store("sqlite://:memory:", lease_clock=clock)
"""

from __future__ import annotations

from typing import Protocol

from memkit.contracts import Maintains, Store
from memkit.models import Changes, Items
from memkit.testing.reading import EVERY_CHANNEL, channels, everything
from memkit.testing.suite import StoreSuite
from memkit.testing.values import HERE, NOW, an_episode, an_item


class MaintainedStore(Store, Maintains, Protocol):
    """Both contracts in one object."""


class MaintainsConformance(StoreSuite):
    """The contract `Maintains`, rule by rule."""

    async def test_an_open_store_is_up_to_date(self, store: MaintainedStore) -> None:
        """Migrating what has been migrated applies nothing, and keeps everything."""
        await store.append([an_episode("hi")])
        before = await everything(store)
        migrated = await store.migrate()
        assert (migrated.found, migrated.applied) == (migrated.now, ())
        assert await everything(store) == before

    async def test_a_dry_run_migrates_nothing(self, store: MaintainedStore) -> None:
        """`dry_run` says what would be done; asked again, it says the same."""
        foreseen = await store.migrate(dry_run=True)
        assert await store.migrate(dry_run=True) == foreseen

    async def test_a_sound_store_has_no_errors(self, store: MaintainedStore) -> None:
        """`check` reports findings, of which none is an error, and writes nothing."""
        await store.append([an_episode("hi")])
        await store.apply(HERE, Changes(add=(an_item("Likes tea"),)))
        before = await everything(store)
        findings = await store.check()
        assert [each for each in findings if each.level == "error"] == []
        assert all(each.code and each.message for each in findings)
        assert await everything(store) == before

    async def test_findings_carry_no_content(self, store: MaintainedStore) -> None:
        """What an operator reads names counts and settings, never what was remembered."""
        await store.append([an_episode("canary said")])
        await store.apply(HERE, Changes(add=(an_item("canary item", key="canary-key"),)))
        assert "canary" not in repr(await store.check())

    async def test_erasing_keeps_what_is_live(self, store: MaintainedStore) -> None:
        """After `erase` everything that was not forgotten is there, and is found."""
        tea, gone = an_item("Likes tea"), an_item("Gone")
        await store.append([an_episode("hi", "there", keys=["m-1", "m-2"])])
        await store.apply(HERE, Changes(add=(tea, gone)))
        await store.forget(Items(scope=HERE, ids=(gone.id,)), at=NOW)
        before = await everything(store)
        await store.erase()
        assert await everything(store) == before
        assert await channels(store, tea) == EVERY_CHANNEL
        [answer] = await store.append([an_episode("hi", keys=["m-1"])])
        assert answer.skipped == 1
