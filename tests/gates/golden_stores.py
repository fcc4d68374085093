"""Stores of released schemas: how one is made, and what must be found in it ever after.

`python -m tests.gates.golden_stores FOLDER` adds the store of today's schema to a folder.
"""

from __future__ import annotations

import asyncio
import hashlib
import sys
from datetime import timedelta
from pathlib import Path

from pydantic import TypeAdapter

from memkit.contracts import Store
from memkit.models import (
    Changes,
    Completed,
    Items,
    MemoryItem,
    Session,
    Status,
    Supersession,
    new_id,
)
from memkit.testing.hostile import LOOKALIKES, TEXTS
from memkit.testing.reading import everything
from memkit.testing.values import HERE, NOW, THERE, a_source, an_episode, an_item
from memkit_backends.sqlite import open_store
from memkit_backends.sqlite.migrating import supported

GOLDEN = Path(__file__).parent / "golden"
STATUSES: tuple[Status, ...] = ("active", "superseded", "quarantined")


async def make(path: Path) -> None:
    """A store with every sort of row at `path`, closed."""
    store = await open_store(path)
    for number, text in enumerate(TEXTS):
        scope = LOOKALIKES[number % len(LOOKALIKES)]
        said = an_episode(text, "and more", keys=[f"key-{number}"], scope=scope, home=HERE)
        await store.append([said])
        await store.apply(HERE, Changes(add=(item(number, text, sources=(a_source(said),)),)))
    claim = await store.claim(HERE, now=NOW, budget=200, lease=timedelta(minutes=1))
    assert claim is not None
    added = item(1000, "Made by a job"), item(1001, "Succeeded")
    ended = Supersession(id=added[1].id, by=added[0].id, at=NOW)
    await store.apply(HERE, Changes(add=added[1:]))
    decided = Changes(add=added[:1], supersede=(ended,))
    await store.settle(claim, Completed(changes=decided, checksum="golden"), now=NOW)
    await store.append([an_episode("to be forgotten", scope=THERE, session_id="gone")])
    await store.forget(Session(scope=THERE, session_id="gone"), at=NOW)
    await store.forget(Items(scope=HERE, ids=(added[1].id,)), at=NOW)
    await store.aclose()


def item(number: int, text: str, **values: object) -> MemoryItem:
    """An item that differs from the others in as many columns as may be."""
    return an_item(
        f"{number} {text}"[:5000],
        item_id=new_id(),
        kind=("semantic", "preference", "episodic")[number % 3],
        importance=number % 10 / 10,
        status=STATUSES[number % 3],
        pinned=number % 7 == 0,
        key=f"item-{number}" if number % 5 == 0 else None,
        value={"number": number, "text": text[:50]} if number % 4 == 0 else None,
        **values,
    )


async def fingerprint(store: Store) -> str:
    """A hash of all that a store shows of itself: the same before and after an upgrade."""
    found = TypeAdapter(tuple[object, ...]).dump_json(await everything(store))
    return hashlib.sha256(found).hexdigest()


async def add_to(folder: Path) -> None:
    """The store of today's schema, with its fingerprint."""
    path = folder / f"{supported():04}.db"
    await make(path)
    store = await open_store(path)
    path.with_suffix(".sha256").write_text(f"{await fingerprint(store)}\n")
    await store.aclose()


if __name__ == "__main__":
    asyncio.run(add_to(Path(sys.argv[1])))
