"""Recording: what is kept, where, and how calls get along with each other."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import timedelta

import pytest

from memkit import (
    Appended,
    Episode,
    InvalidInput,
    Memory,
    Message,
    MessageConflict,
    Scope,
    ScopeError,
    StoreBusy,
    open_memory,
)
from memkit.inmemory import InMemoryStore
from memkit.testing.clock import ManualClock
from memkit.testing.values import NOW, a_message

pytestmark = pytest.mark.anyio

SCOPE = Scope("ann", "guide")


async def episodes(memory: Memory, scope: Scope = SCOPE) -> list[Episode]:
    """Everything recorded in a scope, oldest first."""
    return list((await memory.scan("episodes", scope=scope)).rows)


async def test_an_episode_holds_what_was_said(memory: Memory) -> None:
    """With its time, its place, its size, and the scope both as given and as projected."""
    recorded = await memory.record(
        SCOPE,
        [{"role": "user", "content": "I live in Oslo."}, a_message("Noted.", role="assistant")],
        session_id="s",
    )
    [episode] = await episodes(memory)
    assert recorded.episode_id == episode.id
    assert (recorded.new, recorded.skipped, recorded.head) == (2, 0, 2)
    assert [each.text for each in episode.messages] == ["I live in Oslo.", "Noted."]
    assert {each.time for each in episode.messages} == {NOW}
    assert (episode.scope, episode.home, episode.session_id) == (SCOPE, SCOPE, "s")
    assert episode.recorded_at == NOW
    assert 0 < episode.tokens < 50


async def test_evidence_has_a_home_and_an_end(store_url: str, clock: ManualClock) -> None:
    """The home is the projected scope, the end the configured time to live."""
    settings = {"scope": {"write": "user"}, "decay": {"episode_ttl": "90d"}}
    async with open_memory(store_url, clock=clock, **settings) as memory:
        await memory.record(SCOPE, [a_message("I live in Oslo.")], session_id="s")
        [episode] = await episodes(memory)
        assert episode.home == Scope("ann")
        assert episode.scope == SCOPE
        assert episode.expires_at == NOW + timedelta(days=90)


async def test_one_key_is_one_message(memory: Memory) -> None:
    """The same key with the same content is stored once, with other content refused."""
    first = await memory.record(SCOPE, [a_message("dog: Rex", key="k")], session_id="s")
    again = await memory.record(SCOPE, [a_message("dog: Rex", key="k")], session_id="s")
    assert (again.new, again.skipped, again.episode_id) == (0, 1, first.episode_id)
    for history in (False, True):
        with pytest.raises(MessageConflict):
            await memory.record(
                SCOPE, [a_message("dog: Max", key="k")], session_id="s", history=history
            )
    assert [each.messages[0].text for each in await episodes(memory)] == ["dog: Rex"]


@pytest.mark.parametrize("history", [False, True])
async def test_a_revision_is_counted_apart(memory: Memory, *, history: bool) -> None:
    """With `revise` the new content is added, and is no new message."""
    await memory.record(SCOPE, [a_message("dog: Rex", key="k")], session_id="s")
    revised = await memory.record(
        SCOPE,
        [a_message("dog: Max", key="k"), a_message("cat: Tom", key="l")],
        session_id="s",
        history=history,
        revise=True,
    )
    assert (revised.new, revised.revised, revised.skipped, revised.head) == (1, 1, 0, 3)
    again = await memory.record(
        SCOPE, [a_message("dog: Max", key="k")], session_id="s", history=history, revise=True
    )
    assert (again.new, again.revised, again.skipped) == (0, 0, 1)


async def test_sessions_are_apart(memory: Memory) -> None:
    """The same messages in another session, or for somebody else, are other messages."""
    said = [a_message("I live in Oslo.", key="k")]
    for scope, session in ((SCOPE, "s"), (SCOPE, "t"), (Scope("bob", "guide"), "s")):
        recorded = await memory.record(scope, said, session_id=session, history=True)
        assert recorded.new == 1


async def test_a_session_belongs_to_the_scope_as_given(store_url: str, clock: ManualClock) -> None:
    """Agents that share a user's memory do not share their sessions."""
    async with open_memory(store_url, clock=clock, scope={"write": "user"}) as memory:
        said = [a_message("I live in Oslo.")]
        for agent in ("guide", "cook"):
            recorded = await memory.record(Scope("ann", agent), said, session_id="s", history=True)
            assert recorded.new == 1


async def test_what_was_redacted_aligns_when_it_comes_again(memory: Memory) -> None:
    """A history is compared as it was stored: cleaned, stripped, redacted and cut."""
    said = [
        a_message("my card is 4111 1111 1111 1111"),
        a_message("W\0s\0l"),
        a_message("x" * 150_000),
    ]
    first = await memory.record(SCOPE, said, session_id="s", history=True)
    assert first.flags == ("redacted", "sanitized", "truncated")
    again = await memory.record(SCOPE, [*said, a_message("next")], session_id="s", history=True)
    assert (again.new, again.skipped, again.flags) == (1, 3, ())
    stored = [message for each in await episodes(memory) for message in each.messages]
    assert "4111" not in stored[0].text
    assert stored[1].text == "W\ufffds\ufffdl"


async def test_what_memkit_said_is_not_recorded(memory: Memory) -> None:
    """The block that was injected does not come back as evidence."""
    await memory.remember(SCOPE, "likes tea")
    block = (await memory.inject(SCOPE)).render()
    said = [a_message(block, role="system"), a_message("Tea, please.")]
    recorded = await memory.record(SCOPE, said, session_id="s", history=True)
    assert (recorded.new, recorded.skipped) == (1, 0)


async def test_nothing_to_keep_changes_nothing(memory: Memory) -> None:
    """An empty call stores nothing, and still says how long the session is."""
    await memory.record(SCOPE, [a_message("one")], session_id="s")
    for history in (False, True):
        for nothing in ([], [a_message(" ")]):
            recorded = await memory.record(SCOPE, nothing, session_id="s", history=history)
            assert (recorded.new, recorded.head, recorded.episode_id) == (0, 1, None)


@pytest.mark.parametrize("history", [False, True])
@pytest.mark.parametrize("fresh", [False, True])
async def test_calls_at_once_store_a_history_once(
    memory: Memory, *, history: bool, fresh: bool
) -> None:
    """Eight callers with the same history: one stores it, the others find it there."""

    def said(caller: int) -> list[Message]:
        keys = [f"{caller}-{n}" if fresh and history else f"{n}" for n in range(5)]
        return [a_message(f"message {n}", key=key) for n, key in enumerate(keys)]

    recorded = await asyncio.gather(
        *(memory.record(SCOPE, said(n), session_id="s", history=history) for n in range(8))
    )
    assert sum(each.new for each in recorded) == 5
    assert {each.head for each in recorded} == {5}


async def test_overlapping_histories_meet(memory: Memory) -> None:
    """Callers that have seen more and less of a conversation together store it once."""
    texts = [f"message {number}" for number in range(12)]
    await asyncio.gather(
        *(
            memory.record(
                SCOPE, [a_message(each) for each in texts[:end]], session_id="s", history=True
            )
            for end in range(1, 13)
        )
    )
    stored = [message.text for each in await episodes(memory) for message in each.messages]
    assert sorted(stored) == sorted(texts)


async def test_another_process_is_noticed(clock: ManualClock) -> None:
    """What one memory knows of a session's end is checked by the store, not believed."""
    store = InMemoryStore()
    async with (
        open_memory(store=store, clock=clock) as one,
        open_memory(store=store, clock=clock) as other,
    ):
        said: list[Message] = []
        for number in range(10):
            said.append(a_message(f"message {number}"))
            speaker = (one, other)[number % 2]
            recorded = await speaker.record(SCOPE, said, session_id="s", history=True)
            assert (recorded.new, recorded.skipped) == (1, number)


class Restless(InMemoryStore):
    """A store in which every session grows before anybody can add to it."""

    async def append(
        self,
        episodes: Sequence[Episode],
        *,
        expected_head: int | None = None,
        revise: bool = False,
    ) -> list[Appended]:
        """Always somebody else was first."""
        del episodes, revise
        assert expected_head is not None
        return [Appended(episode_id=None, head=expected_head + 1, stale=True)]


async def test_a_session_that_never_rests_is_busy(clock: ManualClock) -> None:
    """Aligning is tried often, not for ever; the error says that nothing was stored."""
    async with open_memory(store=Restless(), clock=clock) as memory:
        with pytest.raises(StoreBusy) as caught:
            await memory.record(SCOPE, [a_message("one")], session_id="s", history=True)
        assert (caught.value.outcome, caught.value.retryable) == ("not_done", True)


@pytest.mark.parametrize(
    "wrong", ["one message", a_message("one"), {"role": "user", "content": "one"}, ["one"], [7]]
)
async def test_what_is_no_sequence_of_messages_is_refused(memory: Memory, wrong: object) -> None:
    """One message where a sequence is expected is a mistake that would lose others."""
    with pytest.raises(InvalidInput):
        await memory.record(SCOPE, wrong, session_id="s")  # type: ignore[arg-type]  # the mistake it is about


@pytest.mark.parametrize("wrong", ["", " ", "a\0", "\ud800", "x" * 513, None, 7])
async def test_a_session_needs_an_id(memory: Memory, wrong: object) -> None:
    """Ids are kept verbatim or refused."""
    with pytest.raises(ScopeError):
        await memory.record(SCOPE, [a_message("one")], session_id=wrong)  # type: ignore[arg-type]  # the mistake it is about


async def test_absurd_calls_are_refused(store_url: str, clock: ManualClock) -> None:
    """Too many messages, or too much text in one call, is an error and stores nothing."""
    rules = {"max_messages": 200, "max_message_characters": 10}
    async with open_memory(store_url, clock=clock, record=rules) as memory:
        many = [a_message("x") for _ in range(201)]
        long = [a_message("y" * 10) for _ in range(101)]
        for wrong in (many, long, [a_message("z" * 101)]):
            with pytest.raises(InvalidInput, match="record"):
                await memory.record(SCOPE, wrong, session_id="s")
        assert (await memory.stats()).messages == 0


async def test_messages_handed_in_are_left_alone(memory: Memory) -> None:
    """The caller's own messages are not changed by being recorded."""
    said = [Message.model_validate({"role": "user", "content": "I like tea."})]
    before = said[0].model_dump_json()
    await memory.record(SCOPE, said, session_id="s", history=True)
    assert said[0].model_dump_json() == before
    assert said[0].time is None
