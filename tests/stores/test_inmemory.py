"""The in-memory store: the whole kit, and what it promises beyond it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memkit.contracts import Ledger
from memkit.errors import Closed, InvalidInput, LeaseLost, MessageConflict
from memkit.inmemory import InMemoryStore
from memkit.models import (
    Changes,
    Claim,
    Completed,
    Dead,
    Episodes,
    Failed,
    Items,
    Message,
    Messages,
    Patch,
    Released,
    Scope,
    Session,
    Skipped,
    Supersession,
    Target,
    WholeScope,
    key_hash,
)
from memkit.testing.clock import ManualClock
from memkit.testing.reading import all_episodes, all_items, all_jobs, contents, texts
from memkit.testing.values import (
    DAY,
    HERE,
    MINUTE,
    NOW,
    a_message,
    a_query,
    a_reinforcement,
    a_source,
    an_episode,
    an_item,
    numbered,
)

pytestmark = pytest.mark.anyio

HOUR = timedelta(hours=1)
PLENTY = 10_000
quick = settings(max_examples=60, deadline=None)


@pytest.fixture
def clock() -> ManualClock:
    """The store's own clock."""
    return ManualClock(NOW)


@pytest.fixture
def store(clock: ManualClock) -> InMemoryStore:
    """A fresh store."""
    return InMemoryStore(lease_clock=clock)


async def claimed(store: InMemoryStore, scope: Scope = HERE) -> Claim:
    """A claim that must be there to have."""
    claim = await store.claim(scope, now=NOW, budget=PLENTY, lease=HOUR)
    assert claim is not None
    return claim


async def test_the_store_keeps_both_contracts(store: InMemoryStore) -> None:
    """It is a ledger, atomic, immediate, and its leases exclude."""
    assert isinstance(store, Ledger)
    offered = store.capabilities
    assert (offered.name, offered.transactions) == ("memory", True)
    assert (offered.consistency, offered.leases) == ("immediate", "exclusive")


async def test_a_closed_store_claims_nothing(store: InMemoryStore) -> None:
    """The ledger's calls raise `Closed` after `aclose`, as the store's do."""
    await store.append([an_episode("hi")])
    claim = await claimed(store)
    await store.aclose()
    for call in (
        lambda: store.claim(now=NOW, budget=1, lease=HOUR),
        lambda: store.renew(claim, lease=HOUR),
        lambda: store.settle(claim, Released(), now=NOW),
        lambda: store.settled(HERE, "c"),
        lambda: store.requeue(["x"]),
    ):
        with pytest.raises(Closed):
            await call()


# What was said


words = st.sampled_from(["a", "b"])
keys = st.sampled_from([None, "k1", "k2", "k3"])
said = st.lists(st.builds(lambda text, key: a_message(text, key=key), words, keys), max_size=5)


def naive_append(log: list[Message], messages: Sequence[Message], *, revise: bool) -> list[Message]:
    """What of `messages` is new to `log`, by walking through all of it for each."""
    new: list[Message] = []
    for message in messages:
        same = [each for each in log + new if message.key and each.key == message.key]
        if same and same[-1].digest == message.digest:
            continue
        if same and not revise:
            raise MessageConflict(same[-1].key or "", session_id="s-1")
        new.append(message)
    return new


@quick
@given(st.lists(st.tuples(said, st.booleans()), max_size=6), st.integers(0, 12))
async def test_appending_is_what_a_naive_log_does(
    calls: list[tuple[list[Message], bool]], limit: int
) -> None:
    """Keys, revisions, conflicts and heads are those of a list that is searched from its start."""
    store, log = InMemoryStore(), list[Message]()
    for messages, revise in calls:
        try:
            new = naive_append(log, messages, revise=revise)
        except MessageConflict:
            with pytest.raises(MessageConflict):
                await store.append([an_episode(*messages)], revise=revise)
            continue
        [answer] = await store.append([an_episode(*messages)], revise=revise)
        log += new
        assert (answer.stored, answer.skipped) == (len(new), len(messages) - len(new))
        assert answer.head == len(log)
    tail = await store.tail(HERE, "s-1", limit=limit)
    newest = log[len(log) - min(limit, len(log)) :]
    assert tail.head == len(log)
    assert tail.digests == tuple(each.digest for each in newest)
    assert tail.keys == tuple(each.key for each in newest)


@quick
@given(st.lists(said, min_size=1, max_size=4))
async def test_one_call_does_what_several_do(parts: list[list[Message]]) -> None:
    """Episodes of one `append` meet each other as those of earlier calls."""
    together, apart = InMemoryStore(), InMemoryStore()
    episodes = [an_episode(*part, episode_id=numbered(n)) for n, part in enumerate(parts)]
    answers = [(await apart.append([each], revise=True))[0] for each in episodes]
    assert await together.append(episodes, revise=True) == answers
    assert await all_episodes(together) == await all_episodes(apart)


async def test_an_episode_id_of_another_session_is_refused(store: InMemoryStore) -> None:
    """Taking it for a repetition would lose what is said; nothing of the call is stored."""
    first = an_episode("one")
    await store.append([first])
    stolen = an_episode("two", episode_id=first.id, session_id="s-2")
    with pytest.raises(InvalidInput):
        await store.append([an_episode("innocent", session_id="s-3"), stolen])
    assert await texts(store) == ["one"]


async def test_an_expected_head_goes_with_one_episode(store: InMemoryStore) -> None:
    """With several episodes, or none, it means nothing and is refused."""
    for episodes in ([], [an_episode("a"), an_episode("b")]):
        with pytest.raises(InvalidInput):
            await store.append(episodes, expected_head=0)
    assert await texts(store) == []


async def test_a_repeated_episode_answers_exactly_as_before(store: InMemoryStore) -> None:
    """What was skipped and revised the first time is said again, whatever came since."""
    await store.append([an_episode("one", "two", keys=["m-1", "m-2"])])
    episode = an_episode("one", "2", "three", keys=["m-1", "m-2", "m-3"])
    [first] = await store.append([episode], revise=True)
    await store.append([an_episode("later")])
    assert await store.append([episode]) == [first]
    assert (first.stored, first.skipped, first.revised, first.head) == (2, 1, 1, 4)


async def test_what_was_forgotten_is_skipped_when_its_episode_is_repeated(
    store: InMemoryStore,
) -> None:
    """The answer says that nothing was stored, and under which id it had been."""
    episode = an_episode("secret", "too")
    await store.append([episode])
    await store.forget(Episodes(scope=HERE, ids=(episode.id,)), at=NOW)
    [answer] = await store.append([episode])
    assert (answer.episode_id, answer.stored, answer.skipped) == (episode.id, 0, 2)
    assert (answer.head, await texts(store)) == (2, [])


async def test_keys_without_a_body_are_listed_as_hashes(store: InMemoryStore) -> None:
    """Of purged and forgotten messages the tail shows `key_hash`, of redacted ones the key."""
    sessions = ("purged", "forgotten", "redacted")
    for name in sessions:
        expires_at = NOW if name == "purged" else None
        await store.append([an_episode("x", keys=["k"], session_id=name, expires_at=expires_at)])
    await store.purge(now=NOW)
    await store.forget(Session(scope=HERE, session_id="forgotten"), at=NOW)
    await store.forget(Session(scope=HERE, session_id="redacted"), at=NOW, replacement="-")
    shown = [(await store.tail(HERE, name, limit=1)).keys for name in sessions]
    assert shown == [(key_hash("k"),), (key_hash("k"),), ("k",)]


async def test_a_message_forgotten_after_its_body_was_purged_stays_out(
    store: InMemoryStore,
) -> None:
    """A purged key still meets its content; a forgotten one meets nothing ever again."""
    await store.append([an_episode("one", keys=["k"], expires_at=NOW)])
    await store.purge(now=NOW)
    with pytest.raises(MessageConflict):
        await store.append([an_episode("other", keys=["k"])])
    await store.forget(Messages(scope=HERE, session_id="s-1", keys=("k",)), at=NOW)
    [answer] = await store.append([an_episode("other", keys=["k"])], revise=True)
    assert (answer.stored, answer.skipped) == (0, 1)


# What is remembered


def pooled_item(number: int, content: str, key: str | None, strength: float) -> Changes:
    """An addition out of few ids, contents and keys, so that they meet."""
    item = an_item(content, item_id=numbered(number), key=key, importance=strength)
    return Changes(add=(item,))


numbers = st.integers(1, 4)
strengths = st.sampled_from([0.2, 0.5, 0.9])
items = st.sampled_from([an_item("any", item_id=numbered(n)) for n in range(1, 5)])
single = st.one_of(
    st.builds(
        pooled_item,
        numbers,
        st.sampled_from(["tea", "coffee"]),
        st.sampled_from([None, None, "drink"]),
        strengths,
    ),
    st.builds(lambda n: Changes(remove=(numbered(n),)), numbers),
    st.builds(
        lambda n, by: Changes(supersede=(Supersession(id=numbered(n), by=numbered(by), at=NOW),)),
        numbers,
        numbers,
    ),
    st.builds(
        lambda n, s: Changes(update=(Patch(id=numbered(n), importance=s),)), numbers, strengths
    ),
    st.builds(lambda n: Changes(update=(Patch(id=numbered(n), status="active"),)), numbers),
    st.builds(lambda n: Changes(update=(Patch(id=numbered(n), content="tea"),)), numbers),
    st.builds(
        lambda item, s: Changes(reinforce=(a_reinforcement(item, importance=s, at=NOW + DAY),)),
        items,
        strengths,
    ),
)


def together(parts: Sequence[Changes]) -> Changes:
    """All of `parts` as one."""
    return Changes(
        add=tuple(each for part in parts for each in part.add),
        update=tuple(each for part in parts for each in part.update),
        supersede=tuple(each for part in parts for each in part.supersede),
        remove=tuple(each for part in parts for each in part.remove),
        reinforce=tuple(each for part in parts for each in part.reinforce),
    )


changes = st.lists(single, max_size=5).map(together)


@quick
@given(st.lists(changes, max_size=4), changes)
async def test_applying_twice_leaves_what_applying_once_does(
    before: list[Changes], repeated: Changes
) -> None:
    """Any `Changes`, on whatever is there, may be repeated after an unknown outcome."""
    store = InMemoryStore()
    for each in before:
        await store.apply(HERE, each)
    await store.apply(HERE, repeated)
    once = await all_items(store)
    await store.apply(HERE, repeated)
    assert await all_items(store) == once


@quick
@given(st.lists(changes, max_size=6))
async def test_the_indexes_agree_with_the_items(applied: list[Changes]) -> None:
    """Whatever was applied, every channel finds exactly the active items that say so."""
    store = InMemoryStore()
    for each in applied:
        await store.apply(HERE, each)
    kept = await all_items(store)
    for word in ("tea", "coffee"):
        told = an_item(word)
        query = a_query(word, strongest=9, exact=[told.content_hash])
        found = await store.find(query)
        live = {each.id for each in kept if each.status == "active"}
        same = {each.id for each in kept if each.id in live and each.content == word}
        indexed = {each.id for each in kept if each.id in live and each.tokens == told.tokens}
        assert {each.id for each in found.exact} == same
        assert {each.id for each in found.text} == indexed
        assert {each.id for each in found.strongest} == live
    by_key = await store.by_key(HERE, "drink")
    assert [each for each in kept if each.key == "drink"] == ([by_key] if by_key else [])


async def test_an_item_is_not_merged_into_what_gives_way_to_it(store: InMemoryStore) -> None:
    """A successor that reads the same is kept, since what it would reinforce ends."""
    old, new = an_item("Lives in Oslo"), an_item("lives in oslo")
    await store.apply(HERE, Changes(add=(old,)))
    end = Supersession(id=old.id, by=new.id, at=NOW)
    applied = await store.apply(HERE, Changes(add=(new,), supersede=(end,)))
    assert (applied.added, applied.superseded) == ((new.id,), (old.id,))


async def test_what_has_expired_absorbs_nothing(store: InMemoryStore) -> None:
    """An expired row that waits for its purge counts as absent for what is said now."""
    old = an_item("Likes tea", ttl=MINUTE, pinned=True)
    new = an_item("Likes tea", at=NOW + DAY)
    await store.apply(HERE, Changes(add=(old,)))
    assert (await store.apply(HERE, Changes(add=(new,)))).added == (new.id,)


async def test_only_what_is_active_is_absorbed(store: InMemoryStore) -> None:
    """Imported history and quarantined items are kept beside the item that says the same."""
    tea = an_item("Likes tea")
    odd = an_item("Likes tea", status="quarantined", importance=1.0)
    await store.apply(HERE, Changes(add=(tea,)))
    assert (await store.apply(HERE, Changes(add=(odd,)))).added == (odd.id,)
    assert await store.get(HERE, [tea.id]) == [tea]


async def test_an_id_of_another_scope_is_missing(store: InMemoryStore) -> None:
    """Adding it is answered so, rather than passed over in silence or taken from its owner."""
    mine = an_item("Mine")
    await store.apply(HERE, Changes(add=(mine,)))
    there = HERE.project("user")
    yours = an_item("Yours", item_id=mine.id, scope=there)
    applied = await store.apply(there, Changes(add=(yours,)))
    assert (applied.missing, applied.added) == ((mine.id,), ())
    assert await all_items(store) == [mine]


async def test_a_patch_cannot_unset_what_an_item_must_have(store: InMemoryStore) -> None:
    """It is refused before anything of its changes is written."""
    tea, dog = an_item("Likes tea"), an_item("Owns a dog")
    await store.apply(HERE, Changes(add=(tea,)))
    bad = Patch(id=tea.id, content=None)
    with pytest.raises(InvalidInput):
        await store.apply(HERE, Changes(add=(dog,), remove=(tea.id,), update=(bad,)))
    assert await all_items(store) == [tea]


async def test_the_rarest_words_survive_the_cut(store: InMemoryStore) -> None:
    """When more match than may be returned, those with the rarer words are."""
    common = [an_item(f"tea number {n}", item_id=numbered(n)) for n in range(5)]
    rare = an_item("a samovar", item_id=numbered(9))
    await store.apply(HERE, Changes(add=(*common, rare)))
    found = await store.find(a_query("tea samovar", cap=2))
    assert [each.id for each in found.text] == [rare.id, common[0].id]
    assert found.truncated


async def test_the_strongest_are_counted_for_each_scope(store: InMemoryStore) -> None:
    """The limit holds per scope and policy, so that no scope drowns another."""
    there = HERE.project("user")
    for scope, importance in ((HERE, 0.9), (there, 0.2)):
        added = [an_item(f"Item {n}", scope=scope, importance=importance) for n in range(3)]
        await store.apply(scope, Changes(add=tuple(added)))
    found = (await store.find(a_query("", HERE, there, strongest=2))).strongest
    assert [each.scope for each in found] == [HERE, HERE, there, there]
    assert [each.fades_at for each in found] == sorted(
        (each.fades_at for each in found), reverse=True
    )


async def test_nothing_that_was_read_can_change_the_store(store: InMemoryStore) -> None:
    """Metadata, values and message arguments are copied out as they were copied in."""
    tea = an_item("Tea", value=["a"])
    message = a_message("hi").model_copy(update={"metadata": {"a": [1]}})
    await store.apply(HERE, Changes(add=(tea,)))
    await store.append([an_episode(message)])
    for _ in range(2):
        [item] = await store.get(HERE, [tea.id])
        [episode] = await all_episodes(store)
        assert (item.value, item.metadata) == (["a"], {})
        assert episode.messages[0].metadata == {"a": [1]}
        assert isinstance(item.value, list)
        item.value.append("b")
        item.metadata["b"] = "b"
        episode.messages[0].metadata["a"] = 2
        message.metadata["a"] = 3


async def test_a_page_has_rows(store: InMemoryStore) -> None:
    """A limit below one is refused, for scans and for purges."""
    with pytest.raises(InvalidInput):
        await store.scan("items", limit=0)
    with pytest.raises(InvalidInput):
        await store.purge(now=NOW, limit=0)


# What is forgotten

targets = st.sampled_from(
    [
        WholeScope(scope=HERE),
        Session(scope=HERE, session_id="s-1"),
        Messages(scope=HERE, session_id="s-1", keys=("k1",)),
        Messages(scope=HERE, session_id="s-1", keys=("k1", "k2", "k3")),
        Episodes(scope=HERE, ids=(numbered(0), numbered(1))),
        Items(scope=HERE, ids=(numbered(100), numbered(101))),
    ]
)
keyed = st.lists(
    st.builds(
        lambda text, key: a_message(text, key=key), words, st.sampled_from(["k1", "k2", "k3"])
    ),
    min_size=1,
    max_size=4,
)


@quick
@given(st.lists(keyed, min_size=1, max_size=4), st.lists(targets, min_size=1, max_size=3))
async def test_what_was_forgotten_never_comes_back(
    parts: list[list[Message]], forgotten: list[Target]
) -> None:
    """Whatever was recorded and learnt before, handed in again, adds nothing after a forget."""
    store = InMemoryStore()
    episodes = [an_episode(*part, episode_id=numbered(n)) for n, part in enumerate(parts)]
    await store.append(episodes, revise=True)
    kept = [await store.scan("episodes", scope=HERE, limit=99)][0].rows
    learnt = [
        an_item(f"From {episode.id} {place}", item_id=numbered(100 + n * 10 + place)).model_copy(
            update={"sources": (a_source(episode, place),), "origin": "user"}
        )
        for n, episode in enumerate(kept)
        for place in range(len(episode.messages))
    ]
    await store.apply(HERE, Changes(add=tuple(learnt)))
    for target in forgotten:
        await store.forget(target, at=NOW)
    left = (await texts(store), await contents(store))
    tail = await store.tail(HERE, "s-1", limit=99)
    for again in (episodes, kept):
        await store.append(again, revise=True)
    await store.apply(HERE, Changes(add=tuple(learnt)))
    assert (await texts(store), await contents(store)) == left
    fresh = [each.model_copy(update={"id": numbered(50 + n)}) for n, each in enumerate(episodes)]
    await store.append(fresh, revise=True)
    gone = set(zip(tail.keys, tail.digests, strict=True))
    new = [each for each in await all_episodes(store) if each.id >= numbered(50)]
    back = {(key_hash(each.key or ""), each.digest) for episode in new for each in episode.messages}
    assert back.isdisjoint(gone)


async def test_a_whole_scope_is_forgotten_by_home(store: InMemoryStore) -> None:
    """Its items are counted once, also those that would have gone with their sources."""
    said = an_episode("I like tea")
    await store.append([said])
    tea = an_item("Likes tea", sources=[a_source(said)])
    await store.apply(HERE, Changes(add=(tea, an_item("Told"))))
    assert (await store.forget(WholeScope(scope=HERE), at=NOW)).items == 2


async def test_a_session_of_two_homes_is_forgotten_in_both(store: InMemoryStore) -> None:
    """After the projection was changed a session has two homes; what it taught leaves each."""
    shared = HERE.project("user")
    old, new = an_episode("one"), an_episode("two", home=shared)
    await store.append([old, new])
    for scope, episode in ((HERE, old), (shared, new)):
        item = an_item("Learnt", scope=scope, sources=[a_source(episode)])
        await store.apply(scope, Changes(add=(item,)))
    receipt = await store.forget(Session(scope=HERE, session_id="s-1"), at=NOW)
    assert (receipt.items, receipt.episodes, receipt.epoch) == (2, 2, 1)
    assert await all_items(store) == []


async def test_forgetting_what_was_purged_takes_what_it_taught(store: InMemoryStore) -> None:
    """The cascade goes by ids and places, which outlive the bodies."""
    said = an_episode("I like tea", keys=["k"], expires_at=NOW)
    await store.append([said])
    await store.apply(HERE, Changes(add=(an_item("Likes tea", sources=[a_source(said)]),)))
    await store.purge(now=NOW)
    target = Messages(scope=HERE, session_id="s-1", keys=("k",))
    receipt = await store.forget(target, at=NOW)
    assert (receipt.items, receipt.messages, receipt.episodes) == (1, 0, 0)


async def test_a_replacement_needs_messages(store: InMemoryStore) -> None:
    """Items and whole scopes have no text to put it in; nothing is forgotten then."""
    await store.append([an_episode("stays")])
    for target in (WholeScope(scope=HERE), Items(scope=HERE, ids=("x",))):
        with pytest.raises(InvalidInput):
            await store.forget(target, at=NOW, replacement="-")
    assert (await store.forget(WholeScope(scope=HERE), at=NOW)).epoch == 1


async def test_a_redacted_episode_says_so_and_is_still_read(store: InMemoryStore) -> None:
    """It keeps its place among the pending, flagged, with the replacement for its text."""
    await store.append([an_episode("card 4111", "noted", keys=["k1", "k2"])])
    target = Messages(scope=HERE, session_id="s-1", keys=("k1",))
    await store.forget(target, at=NOW, replacement="[card]")
    [episode] = (await claimed(store)).episodes
    assert episode.flags == ("redacted",)
    assert [each.text for each in episode.messages] == ["[card]", "noted"]


async def test_a_tombstone_is_one_and_keeps_its_latest_date(store: InMemoryStore) -> None:
    """Forgetting the same content again, even with an earlier date, leaves the later one."""
    for at in (NOW + DAY, NOW):
        tea = an_item("Likes tea")
        await store.apply(HERE, Changes(add=(tea,)))
        await store.forget(Items(scope=HERE, ids=(tea.id,)), at=at)
    [stone] = (await store.scan("tombstones")).rows
    assert stone.at == NOW + DAY


# The ledger


async def test_a_forget_frees_the_scope_at_once(store: InMemoryStore) -> None:
    """The live claim ends with its job, so that what is said next need not wait for a lease."""
    await store.append([an_episode("a"), an_episode("b", session_id="s-2")])
    await claimed(store)
    await store.forget(Session(scope=HERE, session_id="s-2"), at=NOW)
    [job] = await all_jobs(store)
    assert (job.status, job.error, len(job.episode_ids)) == ("failed", "forgotten", 1)
    assert [each.messages[0].text for each in (await claimed(store)).episodes] == ["a"]


async def test_a_job_of_forgotten_words_forgets_its_checksum(store: InMemoryStore) -> None:
    """The same words, said again on purpose, are read again rather than skipped."""
    await store.append([an_episode("a"), an_episode("b", session_id="s-2")])
    outcome = Completed(changes=Changes(), checksum="c")
    job = await store.settle(await claimed(store), outcome, now=NOW)
    receipt = await store.forget(Session(scope=HERE, session_id="s-2"), at=NOW)
    [kept] = await all_jobs(store)
    assert (receipt.jobs, kept.id, kept.checksum) == (0, job.id, None)
    assert not await store.settled(HERE, "c")
    assert (await store.forget(Session(scope=HERE, session_id="s-1"), at=NOW)).jobs == 1


async def test_refused_changes_leave_the_claim_as_it_is(store: InMemoryStore) -> None:
    """A settlement whose changes cannot be kept writes nothing; another may follow."""
    await store.append([an_episode("a")])
    claim = await claimed(store)
    astray = an_item("Astray", scope=HERE.project("user"))
    outcome = Completed(changes=Changes(add=(an_item("Mine"), astray)), checksum="c")
    with pytest.raises(InvalidInput):
        await store.settle(claim, outcome, now=NOW)
    assert (await all_items(store), (await all_jobs(store))[0].status) == ([], "running")
    dead = Dead(error="invalid")
    assert (await store.settle(claim, dead, now=NOW)).status == "dead"


async def test_handing_back_twice_is_fine(store: InMemoryStore) -> None:
    """The second `Released` gives back no second attempt."""
    await store.append([an_episode("a")])
    claim = await claimed(store)
    first = await store.settle(claim, Released(), now=NOW)
    assert await store.settle(claim, Released(), now=NOW) == first
    assert (await claimed(store)).attempts == 1


async def test_another_end_after_the_end_is_refused(store: InMemoryStore) -> None:
    """What was completed cannot be declared dead by the same claim."""
    await store.append([an_episode("a")])
    claim = await claimed(store)
    await store.settle(claim, Completed(changes=Changes(), checksum="c"), now=NOW)
    with pytest.raises(LeaseLost):
        await store.settle(claim, Dead(error="refused"), now=NOW)


async def test_the_context_ends_where_the_work_begins(store: InMemoryStore) -> None:
    """A late retry is shown what was said before it, not what came after; and its own home's."""
    shared = HERE.project("user")
    await store.append([an_episode("elsewhere", home=shared)])
    await store.settle(await claimed(store, shared), Skipped(checksum="c"), now=NOW)
    await store.append([an_episode("first")])
    await store.settle(await claimed(store), Skipped(checksum="c"), now=NOW)
    await store.append([an_episode("poison")])
    failed = Failed(error="timeout", retry_at=NOW + DAY)
    await store.settle(await claimed(store), failed, now=NOW)
    await store.append([an_episode("last")])
    await store.settle(await claimed(store), Skipped(checksum="c"), now=NOW)
    claim = await store.claim(HERE, now=NOW + DAY, budget=PLENTY, lease=HOUR)
    assert claim is not None
    assert [[m.text for m in each.messages] for each in claim.context] == [["first"]]


async def test_an_episode_all_of_which_was_revised_is_settled_with_the_rest(
    store: InMemoryStore,
) -> None:
    """It is claimed without messages, so that it does not stay pending for ever."""
    await store.append([an_episode("Rex", keys=["k"])])
    await store.append([an_episode("Max", keys=["k"])], revise=True)
    claim = await claimed(store)
    assert [len(each.messages) for each in claim.episodes] == [0, 1]
    await store.settle(claim, Skipped(checksum="c"), now=NOW)
    assert (await store.stats()).pending == 0


async def test_requeue_counts_what_is_left(store: InMemoryStore) -> None:
    """Episodes forgotten, purged or settled since stay as they are, and count for nothing."""
    await store.append(
        [
            an_episode(str(n), session_id=f"s-{n}", expires_at=NOW if n == 1 else None)
            for n in range(3)
        ]
    )
    job = await store.settle(await claimed(store), Dead(error="refused"), now=NOW)
    await store.forget(Session(scope=HERE, session_id="s-0"), at=NOW)
    await store.purge(now=NOW)
    assert await store.requeue([job.id, job.id]) == 1
    await store.settle(await claimed(store), Skipped(checksum="c"), now=NOW)
    assert await store.requeue([job.id]) == 0


async def test_a_large_scope_is_searched_at_a_bearable_speed(store: InMemoryStore) -> None:
    """Ten thousand items are a scope like any other: ten questions take seconds, not minutes."""
    many = [an_item(f"Fact {n} about tea", item_id=numbered(n)) for n in range(10_000)]
    await store.apply(HERE, Changes(add=tuple(many)))
    for n in range(10):
        found = await store.find(a_query(f"fact {n}", strongest=20))
        assert (len(found.strongest), len(found.text), found.population) == (20, 2000, 10_000)
