"""Values at the edges: what Postgres cannot keep never gets there, what is large does."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta
from random import Random

import pytest

from memkit.errors import InvalidInput
from memkit.models import Changes, Completed, MemoryItem, Scope
from memkit.testing.clock import ManualClock
from memkit.testing.hostile import TEXTS
from memkit.testing.values import HERE, NOW, a_query, an_episode, an_item, tokens_of
from memkit_backends.postgres import open_store
from memkit_backends.postgres.store import PostgresStore
from memkit_backends.relational.driver import Transaction
from memkit_backends.sqlite import open_store as open_sqlite

pytestmark = pytest.mark.anyio

HOUR = timedelta(hours=1)
WORDS = ["tea", "coffee", "rust", "paris", "dog", "東京", "naïve", "c++", "2026", "kraków"]


async def test_no_number_that_is_none_is_kept(store: PostgresStore) -> None:
    """NaN would come first for ever: the schema refuses it, past core as well."""
    item = an_item("Likes tea").model_copy(update={"importance": float("nan")})
    with pytest.raises(InvalidInput):
        await store.apply(HERE, Changes(add=(item,)))
    assert (await store.stats()).items == 0


@pytest.mark.parametrize("text", ["a\0b", "half \ud83d"], ids=["NUL", "surrogate"])
async def test_what_core_lets_through_by_mistake_is_refused(
    store: PostgresStore, text: str
) -> None:
    """Text that Postgres cannot keep is a typed error without that text, and nothing is kept."""
    item = an_item("fine").model_copy(update={"content": text})
    with pytest.raises(InvalidInput) as caught:
        await store.apply(HERE, Changes(add=(item,)))
    assert text not in f"{caught.value} {caught.value.__cause__}"
    assert (await store.stats()).items == 0


async def test_a_turn_of_five_megabytes_is_kept(store: PostgresStore) -> None:
    """A long message is kept whole and a long item is found: no index has to hold either."""
    text = " ".join(f"word{number}" for number in range(500_000))
    assert len(text) > 5_000_000
    await store.append([an_episode(text)])
    (kept,) = (await store.scan("episodes")).rows
    assert kept.messages[0].text == text
    await store.apply(HERE, Changes(add=(an_item(text[:2_000_000]),)))
    (found,) = (await store.find(a_query("word17"))).text
    assert found.content == text[:2_000_000]


async def test_fifty_thousand_ids_are_one_question(store: PostgresStore) -> None:
    """A list is one parameter, however long."""
    items = [an_item(f"fact {number}") for number in range(50)]
    await store.apply(HERE, Changes(add=tuple(items)))
    ids = [f"nobody {number}" for number in range(50_000)] + [item.id for item in items]
    assert [each.id for each in await store.get(HERE, ids)] == [item.id for item in items]


@pytest.mark.parametrize("text", TEXTS)
async def test_any_text_is_kept_and_found(store: PostgresStore, text: str) -> None:
    """Text of any sort is kept as it is, and no search for it is a query language."""
    item = an_item(text)
    await store.apply(HERE, Changes(add=(item,)))
    (kept,) = await store.get(HERE, [item.id])
    assert kept.content == text
    found = await store.find(a_query(text))
    assert [each.id for each in found.text] == ([item.id] if item.tokens else [])


@pytest.mark.parametrize("most", [2000, 40, 7])
async def test_a_search_finds_what_sqlite_finds(store: PostgresStore, most: int) -> None:
    """The same items, the same count, and the same choice where there are more than asked."""
    random = Random(most)
    other = await open_sqlite("sqlite://:memory:")
    for number in range(300):
        content = " ".join(random.choices(WORDS, weights=range(1, 11), k=random.randint(1, 5)))
        item = an_item(f"{content} n{number}", scope=HERE)
        for each in (store, other):
            await each.apply(HERE, Changes(add=(item,)))
    for _ in range(30):
        asked = tuple(tokens_of(" ".join(random.sample(WORDS, 3))).split())
        query = replace(a_query("", HERE), tokens=asked, text=most)
        here, there = await store.find(query), await other.find(query)
        assert {each.id for each in here.text} == {each.id for each in there.text}
        assert here.population == there.population
        assert here.truncated == there.truncated
    await other.aclose()


async def test_leases_go_by_the_servers_clock(store: PostgresStore) -> None:
    """A worker whose clock is a day ahead takes nobody's claim away."""
    await store.append([an_episode("tea")])
    claim = await store.claim(now=NOW + HOUR, budget=100, lease=HOUR)
    assert claim is not None
    ahead = NOW + timedelta(days=1)
    assert await store.claim(now=ahead, budget=100, lease=HOUR) is None
    await store.settle(claim, Completed(changes=Changes(), checksum="c"), now=ahead)


async def test_those_who_claim_at_once_get_different_scopes(url: str, schema: str) -> None:
    """What one is taking is passed by, not waited for: eight claims, eight scopes."""
    stores = [await open_store(url, schema=schema, max_size=1) for _ in range(8)]
    for number in range(8):
        await stores[0].append([an_episode("tea", scope=Scope(f"user {number}"))])
    scopes: list[Scope] = []
    for _ in range(8):
        # A scope that another looks at this very moment is passed by, so ask until all have.
        claims = await asyncio.gather(
            *(each.claim(now=NOW + HOUR, budget=100, lease=HOUR) for each in stores)
        )
        scopes += [claim.scope for claim in claims if claim is not None]
    assert len(scopes) == len(set(scopes)) == 8
    for each in stores:
        await each.aclose()


async def test_a_clock_handed_in_is_the_stores_own(url: str, schema: str) -> None:
    """Tests move the time of leases: the clock that is given stands for the server's."""
    clock = ManualClock(NOW)
    store = await open_store(url, schema=schema, lease_clock=clock)
    await store.append([an_episode("tea")])
    assert await store.claim(now=NOW + HOUR, budget=100, lease=HOUR) is not None
    assert await store.claim(now=NOW + HOUR, budget=100, lease=HOUR) is None
    clock.advance(hours=2)
    assert await store.claim(now=NOW + HOUR, budget=100, lease=HOUR) is not None
    await store.aclose()


def _holds(item: MemoryItem, token: str) -> bool:
    return token in item.tokens.split()


async def test_the_index_equals_the_items_after_anything(store: PostgresStore) -> None:
    """After additions, changes and removals each word finds just the items that hold it."""
    random = Random(3)
    items = [an_item(" ".join(random.choices(WORDS, k=3)) + f" n{n}") for n in range(100)]
    await store.apply(HERE, Changes(add=tuple(items)))
    gone = tuple(item.id for item in items[:30])
    await store.apply(HERE, Changes(remove=gone))
    kept = (await store.scan("items", limit=1000)).rows
    for token in tokens_of(" ".join(WORDS)).split():
        query = replace(a_query("", HERE), tokens=(token,))
        found = {each.id for each in (await store.find(query)).text}
        assert found == {each.id for each in kept if _holds(each, token)}


async def test_one_statement_sees_one_moment(store: PostgresStore) -> None:
    """A read of several statements sees one state, whatever is written between them."""

    async def count_twice(tx: Transaction) -> list[int]:
        counts = []
        for _ in range(2):
            row = await tx.fetch_one("SELECT count(*) FROM episode")
            counts.append(row[0] if row else -1)
            await store.append([an_episode("tea")])
        return counts

    assert await store._driver.read(count_twice) == [0, 0]
