"""A server that goes away comes back, and memkit with it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from memkit.errors import StoreUnavailable
from memkit.testing.values import an_episode
from memkit_backends.postgres import open_store
from tests.postgres.server import new_schema, own_server, restart, stop, url_of

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def server() -> Iterator[Any]:
    """A server that nobody else uses."""
    with own_server() as server:
        yield server


async def test_it_works_again_after_a_restart(server: Any) -> None:
    """Calls during a restart wait for it and succeed; nothing acknowledged is lost."""
    store = await open_store(url_of(server), schema=new_schema())
    acknowledged = 0

    async def record() -> None:
        nonlocal acknowledged
        for number in range(60):
            await store.append([an_episode("tea", session_id=f"s{number}")])
            acknowledged += 1

    recording = asyncio.create_task(record())
    for _ in range(3):
        await asyncio.to_thread(restart, server)
    await recording
    assert acknowledged == 60
    assert (await store.stats()).episodes == 60
    await store.aclose()


async def test_a_server_that_stays_away_is_said(server: Any) -> None:
    """Within the deadline the call is `StoreUnavailable`: nothing was done, try again."""
    store = await open_store(url_of(server), schema=new_schema(), deadline=1)
    await asyncio.to_thread(stop, server)
    try:
        with pytest.raises(StoreUnavailable) as caught:
            await store.append([an_episode("tea")])
        assert caught.value.retryable
        assert caught.value.outcome == "not_done"
    finally:
        await asyncio.to_thread(restart, server)
    assert (await store.append([an_episode("tea")]))[0].stored == 1
    await store.aclose()
