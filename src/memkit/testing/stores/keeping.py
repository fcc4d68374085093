"""What every method of a store promises: scopes, texts, capabilities, and an end."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from memkit.contracts import Ledger, Store
from memkit.errors import CapabilityError, Closed, InvalidInput
from memkit.models import Changes, WholeScope
from memkit.testing.clock import ManualClock
from memkit.testing.hostile import LOOKALIKES, TEXTS
from memkit.testing.patience import eventually
from memkit.testing.reading import (
    EVERY_CHANNEL,
    NO_CHANNEL,
    all_episodes,
    all_items,
    channels,
    contents,
    texts,
)
from memkit.testing.suite import StoreSuite
from memkit.testing.values import (
    HERE,
    MINUTE,
    NOW,
    THERE,
    a_message,
    a_query,
    an_episode,
    an_item,
)


class KeepingRules(StoreSuite):
    """One's own, verbatim, for as long as the store is open."""

    async def test_scopes_are_equal_or_different(self, store: Store) -> None:
        """However alike two scopes look, nothing of one is seen from the other."""
        for scope in LOOKALIKES:
            item = an_item("Canary", scope=scope, key="bird")
            await store.apply(scope, Changes(add=(item,)))
            await store.append([an_episode(f"canary of {scope.key}", scope=scope)])
        for scope in LOOKALIKES:
            [mine] = await all_items(store, scope)
            assert mine.scope == scope
            assert await store.by_key(scope, "bird") == mine
            found = await store.find(
                a_query("canary", scope, strongest=99, exact=[mine.content_hash])
            )
            for rows in (found.strongest, found.text, found.exact):
                assert [row.id for row in rows] == [mine.id]
            assert await texts(store, scope) == [f"canary of {scope.key}"]
            assert (await store.tail(scope, "s-1", limit=5)).head == 1
            assert (await store.stats(scope)).messages == 1

    async def test_a_lookalike_forgets_nothing(self, store: Store) -> None:
        """Forgetting one scope leaves all that look like it."""
        for scope in LOOKALIKES:
            await store.apply(scope, Changes(add=(an_item("Canary", scope=scope),)))
        for gone, scope in enumerate(LOOKALIKES, start=1):
            await store.forget(WholeScope(scope=scope), at=NOW)
            assert await all_items(store, scope) == []
            assert len(await all_items(store)) == len(LOOKALIKES) - gone

    async def test_an_item_is_kept_in_the_scope_of_its_changes(self, store: Store) -> None:
        """Changes of one scope that add an item of another are refused, whole."""
        astray = an_item("Astray", scope=THERE)
        with pytest.raises(InvalidInput):
            await store.apply(HERE, Changes(add=(an_item("Mine"), astray)))
        assert await all_items(store) == []

    async def test_any_text_is_kept_verbatim(self, store: Store) -> None:
        """Every clean text comes back code point for code point, as content, value and message."""
        taken = _taken_by(store)
        for text in taken:
            item = an_item(text, key=f"k-{taken.index(text)}", value={text[:99]: [text]})
            item = item.model_copy(update={"metadata": {text[:99]: text}})
            await store.apply(HERE, Changes(add=(item,)))
            assert await store.get(HERE, [item.id]) == [item]
        said = [a_message(text, key=text[:99].strip() or "blank") for text in taken]
        await store.append([an_episode(*said)])
        [kept] = await all_episodes(store)
        assert kept.messages == tuple(said)

    async def test_any_text_may_be_searched(self, store: Store) -> None:
        """What people write is never query syntax: each text finds its own item, and no error."""
        for text in _taken_by(store):
            item = an_item(text)
            await store.apply(HERE, Changes(add=(item,)))
            expected = EVERY_CHANNEL if item.tokens else EVERY_CHANNEL - {"text"}
            assert await channels(store, item) == expected
            assert await channels(store, item, scope=THERE) == NO_CHANNEL

    async def test_any_token_may_be_searched(self, store: Store) -> None:
        """A token is a word, never an operator: quotes, stars and colons match no other word."""
        await store.apply(HERE, Changes(add=(an_item("Likes tea"),)))
        for token in ('"', "*", "tea*", "-tea", "a:b", "(", "NEAR", "AND", "%", "_", "'", "\\"):
            found = await store.find(replace(a_query(), tokens=(token,)))
            assert found.text == ()
        assert len((await store.find(a_query("tea"))).text) == 1

    async def test_keys_and_sessions_are_verbatim(self, store: Store) -> None:
        """Ids that look alike name different sessions, messages and items."""
        names = ("a_b", "axb", "A_B", "a%", "a", "a ", "caf\u00e9", "cafe\u0301", "' OR 1=1 --")
        for name in names:
            await store.append([an_episode(name, keys=[f"{name}!"], session_id=name)])
            await store.append([an_episode(name, keys=[name], session_id="shared")])
            item = an_item(f"Item {names.index(name)}", key=name)
            await store.apply(HERE, Changes(add=(item,)))
        for name in names:
            assert (await store.tail(HERE, name, limit=5)).keys == (f"{name}!",)
            assert len(await all_episodes(store, HERE, session_id=name)) == 1
            kept = await store.by_key(HERE, name)
            assert kept is not None
            assert kept.content == f"Item {names.index(name)}"
        assert (await store.tail(HERE, "shared", limit=99)).keys == names

    async def test_a_caller_cannot_change_what_is_kept(self, store: Store) -> None:
        """Values in, values out: editing one's own dict, or one that was read, edits no memory."""
        metadata: dict[str, object] = {"tags": ["a"]}
        item = an_item("Tea", key="drink").model_copy(update={"metadata": metadata})
        await store.apply(HERE, Changes(add=(item,)))
        metadata["tags"] = ["b"]
        [read] = await store.get(HERE, [item.id])
        read.metadata["tags"] = ["c"]
        assert (await store.get(HERE, [item.id]))[0].metadata == {"tags": ["a"]}

    async def test_capabilities_are_constant(self, store: Store) -> None:
        """What a store offers does not change while it is open, and it has a name."""
        before = store.capabilities
        await store.append([an_episode("hi")])
        assert store.capabilities == before
        assert before.name

    async def test_leases_and_the_ledger_go_together(self, store: Store) -> None:
        """A store that declares leases is a `Ledger`; one that does not refuses to claim."""
        if store.capabilities.leases != "none":
            assert isinstance(store, Ledger)
        elif isinstance(store, Ledger):
            with pytest.raises(CapabilityError):
                await store.claim(HERE, now=NOW, budget=100, lease=MINUTE)

    async def test_a_write_is_seen_within_the_declared_time(
        self, store: Store, clock: ManualClock
    ) -> None:
        """At once where consistency is immediate; where it is eventual, before the deadline."""
        bare = getattr(store, "inner", store)
        tea = an_item("Likes tea")
        await bare.apply(HERE, Changes(add=(tea,)))
        await bare.append([an_episode("hi")])
        if store.capabilities.consistency == "immediate":
            assert (await contents(bare), await texts(bare)) == (["Likes tea"], ["hi"])
            assert await channels(bare, tea) == EVERY_CHANNEL
        else:
            await self._eventually(lambda: channels(bare, tea), EVERY_CHANNEL, clock)
            await self._eventually(lambda: texts(bare), ["hi"], clock)

    async def _eventually(
        self, ask: Callable[[], Awaitable[object]], wanted: object, clock: ManualClock
    ) -> None:
        await eventually(
            ask,
            lambda answer: answer == wanted,
            pass_time=lambda by: self.pass_time(clock, by),
            deadline=self.lag,
        )

    async def test_closing_twice_is_fine(self, store: Store) -> None:
        """`aclose` may be called again."""
        await store.aclose()
        await store.aclose()

    async def test_a_closed_store_says_so(self, store: Store) -> None:
        """After `aclose` every other call raises `Closed`."""
        await store.apply(HERE, Changes(add=(an_item("Tea"),)))
        await store.aclose()
        calls: tuple[Callable[[], Awaitable[object]], ...] = (
            lambda: store.tail(HERE, "s-1", limit=1),
            lambda: store.append([an_episode("hi")]),
            lambda: store.find(a_query("tea")),
            lambda: store.get(HERE, ["x"]),
            lambda: store.by_key(HERE, "x"),
            lambda: store.scan("items"),
            lambda: store.apply(HERE, Changes()),
            lambda: store.forget(WholeScope(scope=HERE), at=NOW),
            lambda: store.purge(now=NOW),
            store.stats,
        )
        for call in calls:
            with pytest.raises(Closed):
                await call()


def _taken_by(store: Store) -> list[str]:
    """The texts that are not longer than the store declares that it takes."""
    longest = store.capabilities.limits.content_characters
    return [text for text in TEXTS if longest is None or len(text) <= longest]
