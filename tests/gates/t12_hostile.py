"""T12: hostile input ends in a clean result or a typed error, the same one on every store."""

from __future__ import annotations

import asyncio
import logging
import os
import random
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from memkit.models import utcnow
from memkit.testing.around import LedgerStore
from memkit.testing.wrong.finding import MatchesScopesAsPatterns, SearchesASCII
from memkit.testing.wrong.store import Wrong
from tests.gates.backends import SQLITE, Backend
from tests.gates.postgres import POSTGRES
from tests.gates.verdict import Gate, Verdict
from tests.hostile import scopes, searching
from tests.hostile.families import CASES
from tests.hostile.given import given_cases
from tests.hostile.place import Case
from tests.hostile.stores import REFERENCE, STORES, Opener
from tests.hostile.trial import misses

BUGS: dict[str, tuple[type[Wrong], tuple[Case, ...]]] = {
    "like-scopes": (MatchesScopesAsPatterns, scopes.CASES),
    "ascii-search": (SearchesASCII, searching.CASES),
}
"""What stands in for the in-memory store, and the family that has to notice."""


@asynccontextmanager
async def wrong(sort: type[Wrong]) -> AsyncIterator[LedgerStore]:
    """A store with one fault."""
    yield sort(utcnow)


def given() -> Iterator[Case]:
    """The cases that were handed to us, where they are published."""
    folder = os.environ.get("MEMKIT_SHARED")
    if folder is not None:
        yield from given_cases(Path(folder))


def chosen(n: int, chance: random.Random, bug: str | None) -> list[Case]:
    """All that were given, and of our own so many that it is `n`; a whole family for a bug."""
    if bug:
        family = BUGS[bug][1]
        return chance.sample(family, len(family))
    handed = list(given())
    return handed + chance.sample(CASES, min(len(CASES), max(0, n - len(handed))))


def run(backend: Backend, n: int, seed: int, bug: str | None) -> Verdict:
    """`n` cases on a database and on the reference; with a bug, until one is missed."""
    # Failed jobs are warned of, and here they are part of the plan.
    logging.getLogger("memkit").addHandler(logging.NullHandler())
    reference: dict[str, Opener] = {"memory": partial(wrong, BUGS[bug][0])} if bug else REFERENCE
    stores = reference | {backend.name: STORES[backend.name]}
    tried, found = 0, list[str]()
    for case in chosen(n, random.Random(seed), bug):
        tried += 1
        found += asyncio.run(misses(case, stores))
        if bug and found:
            break
    return Verdict(
        failed=len(found) + (tried == 0),
        facts={
            "cases": tried,
            "given": len(list(given())),
            "stores": " ".join(stores),
            "first": next(iter(found), "")[:200],
        },
    )


def gate(backend: Backend) -> Gate:
    """The gate on one database."""
    return Gate(
        name=f"T12{backend.suffix}",
        promise=f"hostile input: a clean result or a typed error, equal on {backend.name}",
        full=len(CASES) + 12,
        least=60,
        run=partial(run, backend),
        bugs=tuple(BUGS),
    )


GATES = [gate(SQLITE), gate(POSTGRES)]
