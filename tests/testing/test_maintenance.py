"""The rules for stores with a schema: one that is right keeps them, wrong ones do not."""

from __future__ import annotations

import pytest

from memkit.contracts import Store
from memkit.inmemory import InMemoryStore
from memkit.models import Finding, Migrated
from memkit.testing.clock import ManualClock
from memkit.testing.maintenance import MaintainsConformance
from memkit.testing.suite import standard_tests
from memkit.testing.verdicts import judge


class Maintained(InMemoryStore):
    """The reference, with a schema of one version."""

    breaks = ""

    async def migrate(self, *, dry_run: bool = False) -> Migrated:  # noqa: ARG002  # nothing to do
        """Nothing to do."""
        return Migrated(found=1, now=1)

    async def check(self) -> list[Finding]:
        """One thing to know."""
        return [Finding(level="info", code="in-memory", message="nothing survives the process")]

    async def erase(self) -> None:
        """Nothing is left over."""


class MigratesAgain(Maintained):
    """Applies what it has applied."""

    breaks = "test_an_open_store_is_up_to_date"

    async def migrate(self, *, dry_run: bool = False) -> Migrated:
        """Each time anew."""
        return Migrated(found=1, now=1, applied=() if dry_run else ("0001_initial",))


class MigratesForATest(Maintained):
    """Does what it was only asked about."""

    breaks = "test_a_dry_run_migrates_nothing"
    done = False

    async def migrate(self, *, dry_run: bool = False) -> Migrated:
        """And says so."""
        first, self.done = dry_run and not self.done, True
        return Migrated(found=0 if first else 1, now=1)


class CallsHealthAnError(Maintained):
    """Finds fault with itself."""

    breaks = "test_a_sound_store_has_no_errors"

    async def check(self) -> list[Finding]:
        """Where there is none."""
        return [Finding(level="error", code="unwell", message="something is always wrong")]


class Gossips(Maintained):
    """Tells an operator what was remembered."""

    breaks = "test_findings_carry_no_content"

    async def check(self) -> list[Finding]:
        """By the words of an item."""
        said = [item.content for item in self._state.items.values()] or ["nothing"]
        return [Finding(level="info", code="largest", message=f"the largest is {said[0]}")]


class ErasesTooMuch(Maintained):
    """Rewrites what is free, and what is not."""

    breaks = "test_erasing_keeps_what_is_live"

    async def erase(self) -> None:
        """Keys are taken for garbage."""
        for log in self._state.sessions.values():
            log.newest.clear()


WRONG = Maintained.__subclasses__()


class OfAMaintainedStore(MaintainsConformance):
    """The contract, asked of `kept`."""

    kept: type[Maintained] = Maintained

    async def open_store(self, clock: ManualClock) -> Store:
        """The store."""
        return self.kept(lease_clock=clock)


@pytest.mark.anyio
@pytest.mark.parametrize("wrong", [Maintained, *WRONG], ids=lambda wrong: wrong.__name__)
async def test_a_wrong_store_fails_the_rule_it_breaks(wrong: type[Maintained]) -> None:
    """And no other; one that is right fails none."""
    verdicts = await judge(type(wrong.__name__, (OfAMaintainedStore,), {"kept": wrong}))
    broken = {each.rule: each.why for each in verdicts if each.outcome == "broken"}
    assert broken.keys() == ({wrong.breaks} - {""}), broken


def test_every_rule_has_a_store_that_breaks_it() -> None:
    """No rule is there that nothing was seen to fail."""
    assert {name for name, _ in standard_tests(OfAMaintainedStore)} == {
        each.breaks for each in WRONG
    }
