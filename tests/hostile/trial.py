"""Trying a case on every store: no untyped exception, no leak, the same on each."""

from __future__ import annotations

import traceback
from collections.abc import Mapping

from tests.hostile.place import CANARY, Case, Place, must
from tests.hostile.stores import LOCAL, Opener


async def seen(case: Case, name: str, opener: Opener) -> str:
    """What the case came to on one store, and what that holds afterwards."""
    async with opener() as store:
        place = Place(name=name, store=store)
        await place.settle_neighbor()
        answer = await case.act(place)
        must(await place.neighbor_is_well(), "the neighbor's memory was touched")
        whole = repr((answer, await place.kept()))
    must(CANARY not in whole, "the neighbor's memory was seen")
    return whole


async def misses(case: Case, stores: Mapping[str, Opener] = LOCAL) -> list[str]:
    """What is wrong with the case, on which store; nothing at best."""
    found: list[str] = []
    answers: dict[str, str] = {}
    for name, opener in stores.items():
        try:
            answers[name] = await seen(case, name, opener)
        except AssertionError as exc:
            found.append(f"{case.name}, on {name}: {exc}")
        except Exception as exc:  # noqa: BLE001  # counting these is the point
            place = traceback.extract_tb(exc.__traceback__)[-1]
            raised = f"{type(exc).__name__} at {place.filename}:{place.lineno}"
            found.append(f"{case.name}, on {name}: raised {raised}: {exc}")
    if len(set(answers.values())) > 1:
        found.append(f"{case.name}: {_difference(answers)}")
    return found


def _difference(answers: Mapping[str, str]) -> str:
    """Where two stores part."""
    (one, first), *others = answers.items()
    other, second = next(each for each in others if each[1] != first)
    pairs = enumerate(zip(first, second, strict=False))
    at = next((place for place, (a, b) in pairs if a != b), min(len(first), len(second)))
    start = max(0, at - 60)
    return f"{one} has {first[start : at + 60]!r} where {other} has {second[start : at + 60]!r}"
