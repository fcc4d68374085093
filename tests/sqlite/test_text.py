"""The index of words: in step with the items, and deaf to anything but words."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memkit.errors import StoreCorrupt, StoreError
from memkit.models import Changes, Items, MemoryItem, Patch, Scope, Supersession
from memkit.testing.hostile import TEXTS
from memkit.testing.values import HERE, NOW, THERE, a_query, an_item, tokens_of
from memkit_backends.relational.driver import Row, Transaction
from memkit_backends.sqlite import open_store
from memkit_backends.sqlite.store import SQLiteStore

pytestmark = pytest.mark.anyio

WORDS = ["tea", "coffee", "rust", "paris", "dog", "東京", "naïve", "c++", "2026"]


async def test_the_index_equals_the_items_after_anything(store: SQLiteStore) -> None:
    """After 2,000 random operations each word finds just the items that hold it."""
    random, items = Random(3), dict[str, MemoryItem]()
    for _ in range(500):
        scope = random.choice([HERE, THERE])
        await store.apply(scope, some_changes(random, scope, items))
        if random.random() < 0.1 and items:
            ids = tuple(random.sample(sorted(items), 1))
            await store.forget(Items(scope=scope, ids=ids), at=NOW)
    for scope in (HERE, THERE):
        kept = (await store.scan("items", scope=scope, limit=10_000)).rows
        for word in WORDS:
            [token, *_] = tokens_of(word).split()
            query = replace(a_query("", scope), tokens=(token,))
            wanted = {
                each.id for each in kept if token in each.tokens.split() and each.status == "active"
            }
            assert {each.id for each in (await store.find(query)).text} == wanted
    await intact(store)


def some_changes(random: Random, scope: Scope, items: dict[str, MemoryItem]) -> Changes:
    """Up to four changes of any sort, to items of either scope."""

    def text() -> str:
        return " ".join(random.choices(WORDS, k=random.randint(1, 4)))

    def known() -> str:
        return random.choice(sorted(items) or ["nobody"])

    added = [an_item(text(), scope=scope) for _ in range(random.randint(0, 2))]
    items.update((each.id, each) for each in added)
    content = text()
    patches = [
        Patch(id=known(), content=content, tokens=tokens_of(content)),
        Patch(id=known(), tokens=""),
        Patch(id=known(), status=random.choice(["active", "quarantined"])),
    ]
    return Changes(
        add=tuple(added),
        update=tuple(random.sample(patches, random.randint(0, 1))),
        supersede=tuple(
            Supersession(id=known(), by=None, at=NOW) for _ in range(random.randint(0, 1))
        ),
        remove=tuple(known() for _ in range(random.randint(0, 1))),
    )


async def intact(store: SQLiteStore) -> None:
    """Ask SQLite whether the index of words contradicts itself."""
    await store._file.run(
        lambda connection: connection.execute(
            "INSERT INTO item_text (item_text) VALUES ('integrity-check')"
        ).fetchall()
    )


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
async def test_any_text_is_kept_and_found(store: SQLiteStore, text: str) -> None:
    """Text is never read as a query language: it is found by its own words, or has none."""
    await store.apply(HERE, Changes(add=(an_item(text),)))
    found = await store.find(a_query(text))
    assert [each.content for each in found.text] == ([text] if tokens_of(text) else [])


@settings(
    max_examples=300,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(tokens=st.lists(st.text(st.characters(codec="utf-8"), min_size=1), max_size=5))
async def test_no_token_is_ever_a_command(tokens: list[str]) -> None:
    """Whatever a caller asks for as tokens, the answer is items or none, never an error."""
    store = await open_store("sqlite://:memory:")
    try:
        await store.apply(HERE, Changes(add=(an_item("Likes tea"),)))
        found = await store.find(replace(a_query(), tokens=tuple(tokens)))
        assert {each.content for each in found.text} <= {"Likes tea"}
    finally:
        await store.aclose()


async def test_an_index_that_cannot_be_read_is_an_error(store: SQLiteStore) -> None:
    """A search that fails says so; it never answers that there is nothing."""
    await store.apply(HERE, Changes(add=(an_item("Likes tea"),)))
    await store._file.run(lambda connection: connection.execute("DELETE FROM item_text_data"))
    with pytest.raises(StoreError) as caught:
        await store.find(a_query("tea"))
    assert isinstance(caught.value, StoreCorrupt)


async def test_rare_words_survive_the_cut(store: SQLiteStore) -> None:
    """When more match than are wanted, those with the rarest words stay."""
    rare = an_item("tea from Darjeeling")
    common = [an_item(f"tea number {number}") for number in range(50)]
    await store.apply(HERE, Changes(add=(rare, *common)))
    found = await store.find(a_query("darjeeling tea number", cap=10))
    assert found.truncated
    assert len(found.text) == 10
    assert rare.id in {each.id for each in found.text}


async def test_rewriting_the_file_changes_no_answer(store: SQLiteStore) -> None:
    """Numbers that the index points to survive VACUUM."""
    items = [an_item(f"tea {word}") for word in ("one", "two", "three", "four")]
    await store.apply(HERE, Changes(add=tuple(items)))
    await store.forget(Items(scope=HERE, ids=(items[0].id, items[2].id)), at=NOW)
    before = await store.find(a_query("tea", strongest=9))
    await store.erase()
    assert await store.find(a_query("tea", strongest=9)) == before
    await intact(store)


async def test_schema_of_the_index_keeps_no_text(store: SQLiteStore) -> None:
    """The index has postings alone: no copy of the words that would have to be deleted too."""
    await store.apply(HERE, Changes(add=(an_item("Likes tea"),)))

    async def tables(tx: Transaction) -> list[Row]:
        return await tx.fetch_all(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE 'item_text%'"
        )

    names = {name for (name,) in await store._driver.read(tables)}
    assert names == {"item_text", "item_text_data", "item_text_idx", "item_text_config"}
