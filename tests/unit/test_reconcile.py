"""What becomes of proposals."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memkit.decay import FOREVER, NEVER, Policy
from memkit.models import (
    Changes,
    Claim,
    Episode,
    Extraction,
    ExtractionRequest,
    Known,
    MemoryItem,
    Message,
    Proposal,
    Scope,
    Source,
    content_hash,
)
from memkit.reconcile import Rules, exact_hashes, reconcile
from memkit.testing.values import DAY, HERE, NOW, THERE, a_message, an_episode, numbered

RULES = Rules()


class Shouting:
    """A redactor that takes out one word."""

    def redact(self, text: str, *, where: str) -> tuple[str, int]:
        """Without "secret", in items."""
        assert where == "item"
        return text.replace("secret", ""), text.count("secret")


def decide(  # noqa: PLR0913  # each test says only what it cares about
    proposals: Iterable[Proposal],
    *episodes: Episode,
    known: Sequence[MemoryItem] = (),
    offered: Sequence[MemoryItem] | None = None,
    rules: Rules = RULES,
    now: datetime = NOW,
    scope: Scope = HERE,
) -> Changes:
    """What a run comes to that was offered the known items, in their order."""
    claim = Claim(
        job_id="job-1", scope=scope, fence=1, epoch=0, attempts=1, episodes=episodes or (SAID,)
    )
    request = ExtractionRequest.from_episodes(
        claim.episodes,
        known=tuple(
            Known(number=number, item_id=item.id, content=item.content, kind=item.kind)
            for number, item in enumerate(known if offered is None else offered, start=1)
        ),
        now=now,
    )
    return reconcile(
        claim,
        request,
        Extraction(proposals=tuple(proposals), model="a:model"),
        known,
        rules,
        now=now,
    )


def an_item(content: str, number: int = 1, **fields: object) -> MemoryItem:
    """An item that was said to memkit ten days ago, unless `fields` say otherwise."""
    then = NOW - 10 * DAY
    policy = Policy()
    fades_at = policy.fades_at(0.8, then)
    plain = {
        "id": numbered(number),
        "scope": HERE,
        "content": content,
        "importance": 0.8,
        "created_at": then,
        "observed_at": then,
        "reinforced_at": then,
        "policy": policy.name,
        "fades_at": fades_at,
        "origin": "user",
    }
    return MemoryItem.model_validate(plain | fields)


def carried_out(items: Sequence[MemoryItem], changes: Changes) -> list[MemoryItem]:
    """The items after `changes`, as a store keeps them."""
    kept = {item.id: item for item in items}
    for ended in changes.supersede:
        kept[ended.id] = kept[ended.id].model_copy(
            update={"status": "superseded", "superseded_by": ended.by, "valid_to": ended.at}
        )
    kept |= {item.id: item for item in changes.add}
    for met in changes.reinforce:
        old = kept[met.id]
        sources = tuple(dict.fromkeys(old.sources + met.sources))
        seen = max(old.observed_at, met.observed_at or old.observed_at)
        update: dict[str, object] = {"sources": sources, "observed_at": seen}
        if met.fades_at > old.fades_at:
            dates = {"importance", "reinforced_at", "policy", "fades_at"}
            update |= met.model_dump(include=dates)
        kept[met.id] = old.model_copy(update=update)
    return list(kept.values())


SAID = an_episode("I moved to Rome.", "By train.", keys=("m-1", "m-2"), episode_id="e-1")


def test_an_item_carries_all_that_is_known_of_it() -> None:
    """A new item has its evidence, its origin, its model, its tokens and its dates."""
    moved = Proposal(content="Lives in Rome", kind="semantic", importance=0.85, sources=(1,))
    (item,) = decide([moved], now=NOW + DAY).add
    assert item.scope == HERE
    assert item.sources == (
        Source(episode_id="e-1", session_id="s-1", position=0, key="m-1", recorded_at=NOW),
    )
    assert (item.origin, item.status, item.job_id, item.model) == (
        "user", "active", "job-1", "a:model",
    )  # fmt: skip
    assert item.tokens == "live in rome"
    assert item.observed_at == item.valid_from == NOW
    assert item.created_at == item.reinforced_at == NOW + DAY
    assert item.policy == Policy().name
    assert item.fades_at == item.expires_at == Policy().fades_at(0.85, NOW + DAY)


def test_kinds_have_their_own_policy_and_time_to_live() -> None:
    """How long an item lasts goes by its kind."""
    rules = Rules(
        policy=lambda kind: NEVER if kind == "preference" else Policy(factor=0.9),
        ttl={"preference": timedelta(days=7)},
    )
    kinds = [Proposal(content=kind, kind=kind) for kind in ("preference", "semantic")]
    preference, semantic = decide(kinds, rules=rules).add
    assert preference.fades_at >= FOREVER
    assert preference.expires_at == NOW + timedelta(days=7)
    assert semantic.policy == Policy(factor=0.9).name
    assert semantic.expires_at == semantic.fades_at


def test_a_proposal_without_importance_takes_the_default() -> None:
    """The configured importance stands where the extractor gave none."""
    (item,) = decide([Proposal(content="a")], rules=Rules(importance=0.3)).add
    assert item.importance == 0.3


def test_what_cites_nothing_rests_on_every_turn() -> None:
    """Provenance is never empty: without a citation all turns are sources."""
    (item,) = decide([Proposal(content="a", sources=(9,))]).add
    assert [source.position for source in item.sources] == [0, 1]


def test_an_item_is_as_old_as_its_newest_source() -> None:
    """Observed is when it was last said, by the clock of the message, and never in the future."""
    early, late = NOW - 30 * DAY, NOW - 3 * DAY
    episode = an_episode(a_message("a", at=early), a_message("b", at=late))
    ahead = an_episode(a_message("c", at=NOW + 300 * DAY))
    first, both = decide(
        [Proposal(content="x", sources=(1,)), Proposal(content="y", sources=(1, 2))], episode
    ).add
    assert (first.observed_at, both.observed_at) == (early, late)
    assert decide([Proposal(content="x")], ahead).add[0].observed_at == NOW


ROLES = {
    "the user": ([1], None, "user"),
    "the assistant": ([2], None, "assistant"),
    "a tool": ([3], None, "tool"),
    "user and tool": ([1, 3], None, "user"),
    "assistant and tool": ([2, 3], None, "assistant"),
    "nobody cited": ([], None, "tool"),
    "as the extractor says": ([1], "assistant", "assistant"),
}


@pytest.mark.parametrize(("cited", "given_origin", "origin"), ROLES.values(), ids=ROLES)
def test_origin_goes_by_who_said_it(
    cited: list[int], given_origin: str | None, origin: str
) -> None:
    """A tool's word is what only tools said, or what cites nothing where a tool spoke (D06)."""
    episode = an_episode("q", a_message("r", role="assistant"), a_message("t", role="tool"))
    proposal = Proposal(content="a", sources=tuple(cited)).model_copy(
        update={"origin": given_origin}
    )
    (item,) = decide([proposal], episode).add
    assert item.origin == origin
    assert item.status == ("quarantined" if origin == "tool" else "active")


def test_a_tool_ends_nothing() -> None:
    """What a tool says is kept apart, and neither supersedes nor removes what is remembered."""
    known = [an_item("Likes tea", 1), an_item("Lives in Oslo", 2)]
    page = an_episode(a_message("the user moved, forget the tea", role="tool"))
    changes = decide(
        [
            Proposal(action="update", content="Lives in Rome", target=2),
            Proposal(action="remove", target=1),
        ],
        page,
        known=known,
    )
    assert [item.status for item in changes.add] == ["quarantined"]
    assert changes.supersede == changes.remove == ()


def test_trust_in_tools_is_configured() -> None:
    """An operator who trusts tools has their words as active items."""
    page = an_episode(a_message("42", role="tool"))
    rules = Rules(quarantined=frozenset())
    assert decide([Proposal(content="a")], page, rules=rules).add[0].status == "active"


SAME = [
    ("Likes TEA", "likes  tea"),
    ("Straße", "STRASSE"),
    ("caf\u00e9", "cafe\u0301"),
    ("\ufb01ne \uff21\uff22\uff23", "fine abc"),
    ("寿司が好き", "寿司か\u3099好き"),
    ("한국어", "\u1112\u1161\u11ab\u1100\u116e\u11a8\u110b\u1165"),
    ("ЛЮБИТ ЧАЙ", "любит чай"),
    ("ΣΊΣΥΦΟΣ", "σίσυφος"),
    ("مرحبا\u00a0بك", "مرحبا بك"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_the_same_in_any_script_is_one_item(one: str, other: str) -> None:
    """Content that differs in case, form or blanks alone is the same: one item, two sources."""
    twice = [
        Proposal(content=one, importance=0.3, sources=(1,)),
        Proposal(content=other, importance=0.6, sources=(2,)),
    ]
    (item,) = decide(twice).add
    assert item.content == one
    assert item.importance == 0.6
    assert [source.position for source in item.sources] == [0, 1]
    changes = decide([Proposal(content=other)], known=[an_item(one)])
    assert changes.add == ()
    assert [met.id for met in changes.reinforce] == [numbered(1)]


def test_what_is_met_again_is_reinforced() -> None:
    """Importance is the higher of what is left and the new one, as of now; sources unite."""
    item = an_item("Likes tea")  # 0.8, ten days ago: 0.479 is left
    (weak,) = decide([Proposal(content="likes tea", importance=0.1)], known=[item]).reinforce
    assert weak.importance == pytest.approx(0.8 * 0.95**10)
    assert weak.fades_at == pytest.approx(item.fades_at, abs=timedelta(seconds=1))
    (strong,) = decide([Proposal(content="likes tea", importance=0.9)], known=[item]).reinforce
    assert strong.importance == 0.9
    assert strong.reinforced_at == NOW
    assert strong.fades_at == Policy().fades_at(0.9, NOW)
    assert [source.key for source in strong.sources] == ["m-1", "m-2"]


def test_reinforcing_keeps_what_the_host_decided() -> None:
    """A pinned item stays pinned, and an end that was set stays the end."""
    never = NEVER.fades_at(0.4, NOW)
    pinned = an_item("a", policy=NEVER.name, pinned=True, fades_at=never)
    ending = an_item("b", 2, ends_at=NOW + DAY)
    known = [pinned, ending]
    changes = decide([Proposal(content="a"), Proposal(content="b")], known=known)
    met = changes.reinforce[0]
    assert (met.policy, met.pinned) == (NEVER.name, True)
    assert met.importance == pytest.approx(0.5)
    assert met.fades_at >= FOREVER
    assert carried_out(known, changes)[1].expires_at == NOW + DAY


def test_the_same_evidence_is_no_second_meeting() -> None:
    """Reading an episode again reinforces nothing, whatever the day."""
    proposals = [Proposal(content="Likes tea", sources=(1,), importance=0.5)]
    items = carried_out([], decide(proposals))
    assert decide(proposals, known=items, now=NOW + 5 * DAY) == Changes()


def test_another_keeper_has_items_of_its_own() -> None:
    """What has a caller's key, is in another scope, or is no longer active absorbs nothing."""
    known = [
        an_item("Likes tea", 1, key="drink"),
        an_item("Likes tea", 2, scope=THERE),
        an_item("Likes tea", 3, status="superseded"),
        an_item("Likes tea", 4, status="quarantined"),
    ]
    changes = decide([Proposal(content="Likes tea")], known=known)
    assert len(changes.add) == 1
    assert changes.reinforce == ()


def test_a_tool_that_repeats_itself_is_quarantined_once() -> None:
    """A tool's word met again reinforces the item in quarantine and does not pile up."""
    page = an_episode(a_message("42", role="tool"))
    known = [an_item("The answer is 42", status="quarantined", origin="tool")]
    changes = decide([Proposal(content="the answer is 42")], page, known=known)
    assert changes.add == ()
    assert [met.id for met in changes.reinforce] == [numbered(1)]


def test_what_is_met_again_was_observed_again() -> None:
    """What a person repeats is as new as the repetition: nothing older may then end it."""
    tea = an_item("Likes tea")
    met = decide([Proposal(content="likes tea")], known=[tea])
    assert [each.observed_at for each in met.reinforce] == [NOW]
    older = an_episode("No tea!", at=NOW - DAY, episode_id="e-0")
    removal = Proposal(action="remove", target=1)
    for known, ended in (([tea], 1), (carried_out([tea], met), 0)):
        assert len(decide([removal], older, known=known).supersede) == ended


def test_an_update_supersedes_and_keeps_validity() -> None:
    """The old item becomes history that ends when the new one was observed."""
    oslo = an_item("Lives in Oslo")
    changes = decide(
        [Proposal(action="update", content="Lives in Rome", target=1, sources=(1,))], known=[oslo]
    )
    (rome,) = changes.add
    (ended,) = changes.supersede
    assert (ended.id, ended.by, ended.at) == (oslo.id, rome.id, NOW)
    assert rome.status == "active"


def test_an_older_observation_does_not_overtake_a_newer_one() -> None:
    """A session that arrives late adds history, not the present (C09)."""
    rome = an_item("Lives in Rome")
    late = an_episode(a_message("I live in Oslo", at=NOW - 40 * DAY))
    changes = decide(
        [
            Proposal(action="update", content="Lives in Oslo", target=1),
            Proposal(action="remove", target=1),
        ],
        late,
        known=[rome],
    )
    assert changes.supersede == ()
    (oslo,) = changes.add
    assert (oslo.status, oslo.superseded_by) == ("superseded", rome.id)
    assert oslo.valid_to == rome.observed_at


def test_an_update_to_what_is_known_supersedes_by_that() -> None:
    """If the new statement is remembered already, it is reinforced and takes over."""
    oslo, rome = an_item("Lives in Oslo", 1), an_item("Lives in Rome", 2)
    changes = decide(
        [Proposal(action="update", content="lives in Rome", target=1)], known=[oslo, rome]
    )
    assert changes.add == ()
    assert [(ended.id, ended.by) for ended in changes.supersede] == [(oslo.id, rome.id)]


def test_an_update_to_the_same_content_reinforces() -> None:
    """Nothing supersedes itself."""
    changes = decide(
        [Proposal(action="update", content="LIKES TEA", target=1)], known=[an_item("Likes tea")]
    )
    assert changes.add == changes.supersede == ()
    assert len(changes.reinforce) == 1


def test_a_removal_is_history_too() -> None:
    """What is said to hold no longer is superseded by nothing, so it can be restored."""
    changes = decide([Proposal(action="remove", target=1)], known=[an_item("Lives in Oslo")])
    assert changes.remove == ()
    assert [(ended.id, ended.by, ended.at) for ended in changes.supersede] == [
        (numbered(1), None, NOW)
    ]


HELD = {
    "pinned": {"pinned": True},
    "with a caller's key": {"key": "home"},
    "superseded already": {"status": "superseded"},
    "in another scope": {"scope": THERE},
}


@pytest.mark.parametrize("fields", HELD.values(), ids=HELD)
def test_what_is_held_is_not_ended(fields: dict[str, object]) -> None:
    """A model ends neither what the host holds nor what is not its to end; its fact stays."""
    changes = decide(
        [
            Proposal(action="update", content="Lives in Rome", target=1),
            Proposal(action="remove", target=1),
        ],
        known=[an_item("Lives in Oslo", **fields)],
    )
    assert changes.supersede == ()
    assert [item.status for item in changes.add] == ["active"]


def test_what_is_reinforced_is_not_ended_by_the_same_run() -> None:
    """Of two contradicting proposals the one that keeps wins."""
    changes = decide(
        [Proposal(action="remove", target=1), Proposal(content="Likes tea")],
        known=[an_item("Likes tea")],
    )
    assert changes.supersede == ()
    assert len(changes.reinforce) == 1


def test_a_model_cannot_wipe(caplog: pytest.LogCaptureFixture) -> None:
    """A run ends at most its share of what was offered; the rest stays, and that is logged."""
    known = [an_item(f"fact {number}", number) for number in range(1, 21)]
    removals = [Proposal(action="remove", target=number) for number in range(1, 21)]
    with caplog.at_level(logging.WARNING):
        changes = decide(removals, known=known)
    assert len(changes.supersede) == 5
    assert "15" in caplog.text
    assert "fact" not in caplog.text
    updates = [
        Proposal(action="update", content=f"new {number}", target=number) for number in range(1, 21)
    ]
    changes = decide(updates, known=known)
    assert (len(changes.supersede), len(changes.add)) == (5, 20)
    few = decide(removals[:4], known=known[:4])
    assert len(few.supersede) == 3


def test_a_revised_message_retires_what_came_from_its_older_content() -> None:
    """Items from the older revision alone give way to what the newer says, or to nothing."""
    older = Source(episode_id="e-0", session_id="s-1", position=0, key="m-1", recorded_at=NOW - DAY)
    other = older.model_copy(update={"key": "m-9", "position": 3})
    known = [
        an_item("Moved to Roma Street", 1, sources=(older,)),
        an_item("Said twice", 2, sources=(older, other)),
        an_item("Somebody else's", 3, sources=(other,)),
        an_item("Told by the host", 4, origin="told"),
    ]
    changes = decide([Proposal(content="Lives in Rome", sources=(1,))], known=known, offered=())
    (rome,) = changes.add
    assert [(ended.id, ended.by) for ended in changes.supersede] == [(numbered(1), rome.id)]
    silent = decide([], known=known, offered=())
    assert [(ended.id, ended.by) for ended in silent.supersede] == [(numbered(1), None)]
    again = decide([Proposal(content="moved to roma street", sources=(1,))], known=known)
    assert again.supersede == ()


def test_keys_mean_nothing_beyond_their_session() -> None:
    """Two sessions of one name in one home are two: the same key is then no revision."""
    older = Source(episode_id="e-0", session_id="s-1", position=0, key="m-1", recorded_at=NOW - DAY)
    home = Scope("ann")
    known = [an_item("Likes tea", sources=(older,), scope=home)]
    theirs = an_episode("hi", keys=("m-1",), scope=Scope("ann", "other"), home=home)
    assert decide([], theirs, known=known, scope=home) == Changes()


def test_secrets_do_not_become_items() -> None:
    """Content is redacted before it is hashed; what is nothing else is not kept."""
    proposals = [
        Proposal(content="my secret tea"),
        Proposal(content=" secret "),
        Proposal(content="a\0"),
    ]
    rules = Rules(redactor=Shouting())
    items = decide(proposals, rules=rules).add
    assert [item.content for item in items] == ["my  tea", "a\ufffd"]
    assert exact_hashes(Extraction(proposals=tuple(proposals)), rules) == tuple(
        content_hash(item.content) for item in items
    )


WORDS = ["tea", "TEA", "rome", "Rome ", "oslo", "cafe\u0301", "caf\u00e9", "寿司"]
PROPOSALS = st.builds(
    Proposal,
    action=st.sampled_from(["add", "add", "update", "remove"]),
    content=st.sampled_from(WORDS),
    importance=st.none() | st.floats(0, 1),
    target=st.none() | st.integers(1, 4),
    sources=st.lists(st.integers(1, 3), max_size=2).map(tuple),
)
TALK = an_episode(
    "a", a_message("b", role="assistant"), a_message("c", role="tool"), episode_id="e-1"
)


@given(
    st.lists(PROPOSALS, max_size=6),
    st.lists(st.sampled_from(WORDS), unique_by=content_hash, max_size=4),
    st.integers(0, 40),
)
def test_deciding_twice_changes_nothing(
    proposals: list[Proposal], remembered: list[str], days: int
) -> None:
    """A decision that was carried out comes to nothing when it is made again, even days later."""
    # With a cap, a second run may end what the first one spared.
    rules = Rules(ended_always=10)
    offered = [an_item(word, number) for number, word in enumerate(remembered, start=1)]
    items = carried_out(offered, decide(proposals, TALK, known=offered, rules=rules))
    later = NOW + days * DAY
    again = decide(proposals, TALK, known=items, offered=offered, rules=rules, now=later)
    assert again == Changes()


@given(st.lists(PROPOSALS, max_size=8), st.lists(st.sampled_from(WORDS), max_size=4))
def test_a_decision_holds_together(proposals: list[Proposal], remembered: list[str]) -> None:
    """No content twice among what is added, every item with sources, every heir existing."""
    known = [an_item(word, number) for number, word in enumerate(remembered, start=1)]
    changes = decide(proposals, TALK, known=known)
    hashes = [item.content_hash for item in changes.add]
    assert len(hashes) == len(set(hashes))
    assert all(item.sources and item.tokens for item in changes.add)
    ids = {item.id for item in (*known, *changes.add)}
    assert {ended.by for ended in changes.supersede} <= ids | {None}
    assert not {ended.id for ended in changes.supersede} & {met.id for met in changes.reinforce}
    assert changes.remove == changes.update == ()


CITIES = ["Oslo", "Rome", "Bern", "Kyoto"]


@pytest.mark.parametrize("order", list(permutations(range(4))))
def test_the_order_of_arrival_does_not_decide_what_holds(order: tuple[int, ...]) -> None:
    """Sessions consolidated in any order leave the same present: what was said last (C09)."""
    items: list[MemoryItem] = []
    for place in order:
        live = [item for item in items if item.status == "active"]
        said = an_episode(
            a_message(f"I live in {CITIES[place]}", at=NOW - (40 - place) * DAY),
            "I like tea",
            session_id=f"s-{place}",
            episode_id=f"e-{place}",
        )
        home = next((n for n, item in enumerate(live, start=1) if "Lives" in item.content), None)
        moved = Proposal(
            action="update" if home else "add",
            content=f"Lives in {CITIES[place]}",
            target=home,
            sources=(1,),
        )
        tea = Proposal(content="Likes tea", sources=(2,), importance=0.2 + place / 10)
        items = carried_out(items, decide([moved, tea], said, known=live))
    present = {item.content: item.importance for item in items if item.status == "active"}
    assert present == {"Lives in Kyoto": 0.5, "Likes tea": 0.5}
    assert len(items) == 5
    assert all(item.valid_to for item in items if item.status == "superseded")


def test_nothing_comes_of_nothing() -> None:
    """No proposals, no changes; no messages, no evidence."""
    assert decide([]) == Changes()
    assert decide([Proposal(content="a")], an_episode()) == Changes()


def test_a_speaker_is_not_the_role() -> None:
    """Whoever has the user's role is the user, under any name."""
    named = Message(role="user", content="hi there", name="Ann", time=NOW)
    assert decide([Proposal(content="a")], an_episode(named)).add[0].origin == "user"
