"""Who shares memory with whom: the four rows, with a canary in each scope."""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import pytest

from memkit import Memory, Scope, ScopeError, open_memory
from memkit.testing.clock import ManualClock

pytestmark = pytest.mark.anyio

SCOPES = [
    Scope(user, agent, workflow)
    for user, agent, workflow in product(["ann", "bob"], ["guide", "cook"], ["x", "y"])
]


class Row(NamedTuple):
    """What is configured, and which scopes share their memory."""

    write: str
    same: tuple[str, ...]


ROWS = {
    "per user": Row("user", ("user_id",)),
    "per agent": Row("agent", ("agent_id",)),
    "per pair": Row("user+agent", ("user_id", "agent_id")),
    "fully isolated": Row("full", ("user_id", "agent_id", "workflow_id")),
}


def canary(scope: Scope) -> str:
    """A text that gives away whose it is."""
    return f"canary {scope.user_id} {scope.agent_id} {scope.workflow_id}"


def shares(row: Row, one: Scope, other: Scope) -> bool:
    """Whether both are one memory."""
    return all(getattr(one, name) == getattr(other, name) for name in row.same)


async def tell_all(memory: Memory) -> None:
    """Put a canary into each scope, told and recorded."""
    for scope in SCOPES:
        await memory.remember(scope, f"{canary(scope)} told")
        said = [{"role": "user", "content": f"{canary(scope)} said"}]
        await memory.record(scope, said, session_id="s")
    await memory.consolidate()


def seen(texts: list[str]) -> set[str]:
    """The canaries in `texts`."""
    return {canary(scope) for scope in SCOPES for text in texts if f"{canary(scope)} " in text}


@pytest.mark.parametrize("name", ROWS)
async def test_scopes_share_what_is_configured(
    store_url: str, clock: ManualClock, name: str
) -> None:
    """Recall, search, reading and counting see the shared scopes, all of them, and no other."""
    row = ROWS[name]
    async with open_memory(store_url, clock=clock, scope={"write": row.write}) as memory:
        await tell_all(memory)
        for scope in SCOPES:
            expected = {canary(other) for other in SCOPES if shares(row, scope, other)}
            strongest = await memory.inject(scope, limit=100, token_budget=100_000)
            answers = await memory.inject(scope, query="canary", limit=100, token_budget=100_000)
            assert seen([each.content for each in strongest.items]) == expected
            assert seen([each.content for each in answers.items]) == expected
            hits = await memory.search(scope, "canary told", limit=100)
            assert seen([each.content for each in hits]) == expected
            page = await memory.scan("items", scope=scope, limit=1000)
            assert seen([each.content for each in page.rows]) == expected
            assert (await memory.stats(scope)).items == 2 * len(expected)


@pytest.mark.parametrize("name", ROWS)
async def test_what_is_forgotten_is_what_is_shared(
    store_url: str, clock: ManualClock, name: str
) -> None:
    """Forgetting a scope takes what it shares, and nothing else."""
    row = ROWS[name]
    async with open_memory(store_url, clock=clock, scope={"write": row.write}) as memory:
        await tell_all(memory)
        await memory.forget(SCOPES[0])
        page = await memory.scan("items", limit=1000)
        left = {canary(other) for other in SCOPES if not shares(row, SCOPES[0], other)}
        assert seen([each.content for each in page.rows]) == left


async def test_an_agent_reads_its_users_memory_beside_its_own(
    store_url: str, clock: ManualClock
) -> None:
    """`read` lists every projection that is looked at; what is written stays with the pair."""
    guide, cook = Scope("ann", "guide"), Scope("ann", "cook")
    async with open_memory(store_url, clock=clock, scope={"write": "user"}) as memory:
        await memory.remember(guide, "speaks French")
        store = memory.store
        settings = {"write": "user+agent", "read": ["user", "user+agent"]}
        async with open_memory(store=store, clock=clock, scope=settings) as agents:
            await agents.remember(guide, "likes museums")
            await agents.remember(cook, "likes noodles")
            for scope, own in ((guide, "likes museums"), (cook, "likes noodles")):
                found = await agents.inject(scope)
                assert {each.content for each in found.items} == {"speaks French", own}
            other = await agents.inject(Scope("bob", "guide"))
            assert other.items == ()


async def test_ids_are_compared_exactly(memory: Memory) -> None:
    """No id is a pattern, a prefix, or another one in disguise."""
    ids = ["a_b", "axb", "A_B", "a%", "a", "a:b", "é", "e\u0301", "1", "01"]
    for user in ids:
        await memory.remember(Scope(user), f"the secret of {user!a}")
    for user in [*ids, "%", "_", "a*"]:
        found = await memory.inject(Scope(user))
        expected = (f"the secret of {user!a}",) if user in ids else ()
        assert tuple(each.content for each in found.items) == expected


async def test_fields_do_not_run_into_each_other(memory: Memory) -> None:
    """`a` with agent `b:c` is not `a:b` with agent `c`, and unset is not empty."""
    await memory.remember(Scope("a", "b:c"), "one")
    await memory.remember(Scope("a:b", "c"), "two")
    await memory.remember(Scope("a"), "three")
    found = {
        scope: [each.content for each in (await memory.inject(scope)).items]
        for scope in (Scope("a", "b:c"), Scope("a:b", "c"), Scope("a"), Scope(None, "a"))
    }
    assert list(found.values()) == [["one"], ["two"], ["three"], []]


async def test_nobodys_memory_is_refused_everywhere(memory: Memory) -> None:
    """A scope that names nobody reads and writes nothing, by whatever verb."""
    nobody = Scope()
    calls = [
        memory.inject(nobody),
        memory.record(nobody, [], session_id="s"),
        memory.consolidate(nobody),
        memory.remember(nobody, "x"),
        memory.search(nobody, "x"),
        memory.get(nobody, []),
        memory.update(nobody, "x"),
        memory.pin(nobody, "x"),
        memory.reinforce(nobody, "x"),
        memory.forget(nobody),
        memory.scan("items", scope=nobody),
        memory.stats(nobody),
    ]
    for call in calls:
        with pytest.raises(ScopeError):
            await call


@pytest.mark.parametrize("wrong", [None, "", "ann", ("ann",)])
async def test_a_scope_is_a_scope(memory: Memory, wrong: object) -> None:
    """What is no scope is refused, and never taken for everybody."""
    with pytest.raises(ScopeError):
        await memory.inject(wrong)  # type: ignore[arg-type]  # the mistake it is about
    with pytest.raises(ScopeError):
        await memory.forget(wrong)  # type: ignore[arg-type]  # likewise
    with pytest.raises(ScopeError):
        await memory.record(wrong, [], session_id="s")  # type: ignore[arg-type]  # likewise
