"""Hostile input ends in a clean result or a typed error, the same one on every store."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.hostile.families import CASES
from tests.hostile.given import INTERPRETED, given_cases
from tests.hostile.place import Case
from tests.hostile.stores import STORES
from tests.hostile.trial import misses

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    "case", CASES, ids=[case.name.encode("unicode_escape").decode() for case in CASES]
)
async def test_a_case_of_our_own(case: Case) -> None:
    """No untyped exception, no foreign row, nothing lost or bent, and equal on every store."""
    assert await misses(case) == []


@pytest.mark.parametrize("number", sorted(INTERPRETED))
async def test_a_case_that_was_given(number: str, shared_folder: Path) -> None:
    """Each of the twelve, read from where they are published, holds on every store."""
    [case] = [each for each in given_cases(shared_folder) if each.name.startswith(number)]
    assert await misses(case, STORES) == []


def test_every_case_that_was_given_is_carried_out(shared_folder: Path) -> None:
    """None is passed over, and none is carried out that is not there any more."""
    assert len(list(given_cases(shared_folder))) == len(INTERPRETED)


def test_cases_have_names_of_their_own() -> None:
    """A failure names one case."""
    names = [case.name for case in CASES]
    assert len(set(names)) == len(names) >= 200
