"""Processes that end without a word: they end all the same, and what was acknowledged is there."""

from __future__ import annotations

import asyncio
import subprocess
import sys

import pytest

from memkit_backends.postgres import open_store

IMPORTS = """
import asyncio, sys
from memkit.testing.values import an_episode
from memkit_backends.postgres import open_store
url, schema = sys.argv[1:]
def opened():
    return open_store(url, schema=schema)
"""

ENDINGS = {
    "falls off the end": """
async def main():
    global store
    store = await opened()
    await store.append([an_episode("tea")])
asyncio.run(main())
""",
    "is held in a closure": """
async def main():
    store = await opened()
    await store.append([an_episode("tea")])
    return lambda: store
kept = asyncio.run(main())
""",
    "exits in the middle": """
async def main():
    global store
    store = await opened()
    await store.append([an_episode("tea")])
    sys.exit(0)
asyncio.run(main())
""",
    "leaves a call behind": """
async def main():
    global store, call
    store = await opened()
    await store.append([an_episode("tea")])
    call = asyncio.ensure_future(store.append([an_episode("coffee")]))
    await asyncio.sleep(0)
asyncio.run(main())
""",
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_process_that_never_closes_still_ends(
    postgres_store: tuple[str, str], ending: str
) -> None:
    """It ends by itself, says nothing, and what was acknowledged is there."""
    url, schema = postgres_store
    done = subprocess.run(
        [
            sys.executable,
            "-W",
            "error",
            # asyncio and asyncpg say of their sockets what everybody says who is not closed.
            "-W",
            "ignore::ResourceWarning",
            "-c",
            IMPORTS + ENDINGS[ending],
            url,
            schema,
        ],
        capture_output=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == 0
    assert done.stderr.decode() == ""
    assert asyncio.run(kept(url, schema)) >= 1


async def kept(url: str, schema: str) -> int:
    """How many episodes there are."""
    store = await open_store(url, schema=schema)
    count = (await store.stats()).episodes
    await store.aclose()
    return count
