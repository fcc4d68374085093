"""Events: order, pages, branches, filters, expiry."""

from __future__ import annotations

import re
from typing import Any

import pytest

from memkit.testing.agentcore import Switches
from tests.agentcore.bench import BIRTH, Bench, Refused, condition, equals, said, texts


def shown(events: list[dict[str, Any]]) -> list[str]:
    """The first text of each event."""
    return [event["payload"][0]["conversational"]["content"]["text"] for event in events]


def test_events_come_newest_first(bench: Bench) -> None:
    """Lists are ordered by event time, newest first, whatever the order of arrival."""
    for at in (2, 1, 3):
        bench.event(str(at), at=at)
    assert shown(bench.events()) == ["3", "2", "1"]


def test_an_event_id_sorts_as_text(bench: Bench) -> None:
    """An id is the event time in 19 digits of milliseconds, a sign, and eight hex digits."""
    event = bench.event(at=0.0019)
    assert re.fullmatch(r"0000001760000000001#[0-9a-f]{8}", event["eventId"])
    assert event["eventTimestamp"].timestamp() == BIRTH + 0.001


def test_payload_order_is_kept(bench: Bench) -> None:
    """Inside an event the items stay as they were written, of every type."""
    payload = [said("one"), {"blob": {"any": [1, None, "x"]}}, {"json": {"content": [1]}}]
    bench.event(payload=payload)
    assert bench.events()[0]["payload"] == payload


def test_a_page_is_cut_before_the_filter(bench: Bench) -> None:
    """A page may be empty and still have a token; the paginator finds the event regardless."""
    bench.event("old", metadata=texts(kind="rare"))
    for at in range(1, 6):
        bench.event(at=at)
    asked = {"actorId": "ann", "sessionId": "s1", "maxResults": 2}
    wanted = {"filter": {"eventMetadata": [equals("kind", "rare")]}}
    first = bench.list_events(**asked, **wanted)
    assert first["events"] == []
    assert first["nextToken"]
    paginator = bench.clients.data.get_paginator("list_events")
    pages = list(paginator.paginate(memoryId=bench.memory_id, **asked, **wanted))
    assert [len(page["events"]) for page in pages] == [0, 0, 1]


def test_a_root_of_another_session_is_refused_on_any_branch(bench: Bench) -> None:
    """Also on the main branch, where nothing is forked."""
    root = bench.event(sessionId="s2")["eventId"]
    for name in ("main", "alt"):
        with Refused("ValidationException", "another actor or session"):
            bench.event(branch={"name": name, "rootEventId": root})


def test_a_memory_is_the_same_by_id_and_by_arn(bench: Bench) -> None:
    """A client token and a page token that were used with one fit the other."""
    bench.emulator.switches.update(token_mismatch="reject")  # noqa: S106  # a switch
    arn = bench.clients.control.get_memory(memoryId=bench.memory_id)["memory"]["arn"]
    made = {
        bench.event(at=0, clientToken="t" * 40, memoryId=named)["eventId"]
        for named in (bench.memory_id, arn)
    }
    assert len(made) == 1
    bench.event(at=1)
    asked = {"actorId": "ann", "sessionId": "s1", "maxResults": 1}
    token = bench.list_events(**asked)["nextToken"]
    (last,) = bench.list_events(**asked, memoryId=arn, nextToken=token)["events"]
    assert {last["eventId"]} == made


def test_the_default_page_has_twenty(bench: Bench) -> None:
    """Without maxResults a page has 20 events, and a token leads to the rest."""
    for at in range(21):
        bench.event(at=at)
    first = bench.list_events(actorId="ann", sessionId="s1")
    assert len(first["events"]) == 20
    token = first["nextToken"]
    rest = bench.list_events(actorId="ann", sessionId="s1", nextToken=token)
    assert len(rest["events"]) == 1
    assert "nextToken" not in rest


def test_a_token_survives_deletion(bench: Bench) -> None:
    """A token is a key and not an offset: deleting what was seen skips nothing."""
    for at in range(4):
        bench.event(str(at), at=at)
    asked = {"actorId": "ann", "sessionId": "s1", "maxResults": 2, "includePayloads": True}
    first = bench.list_events(**asked)
    for event in first["events"]:
        bench.delete_event(actorId="ann", sessionId="s1", eventId=event["eventId"])
    assert shown(bench.events(maxResults=2, nextToken=first["nextToken"])) == ["1", "0"]


@pytest.mark.parametrize("token", ["nonsense", "bm9wZQ==", "W10=", "WyJhIiwgWzFdXQ=="])
def test_a_foreign_token_is_refused(bench: Bench, token: str) -> None:
    """A token that was not made for this request is a ValidationException."""
    with Refused("ValidationException", "nextToken"):
        bench.events(nextToken=token)


def test_payloads_can_be_left_out(bench: Bench) -> None:
    """With includePayloads false the payload is absent, although the model requires it."""
    bench.event()
    assert "payload" not in bench.events(includePayloads=False)[0]


def test_a_deleted_event_is_gone(bench: Bench) -> None:
    """Getting or deleting an event a second time finds nothing."""
    found = {"actorId": "ann", "sessionId": "s1", "eventId": bench.event()["eventId"]}
    assert bench.get_event(**found)["event"]["eventId"] == found["eventId"]
    assert bench.delete_event(**found)["eventId"] == found["eventId"]
    for again in (bench.get_event, bench.delete_event):
        with Refused("ResourceNotFoundException"):
            again(**found)


def test_ids_with_slashes_stay_whole(bench: Bench) -> None:
    """The raw path is split before it is decoded: actor a/b:c is one actor."""
    event = bench.event(actorId="a/b:c")
    found = bench.get_event(actorId="a/b:c", sessionId="s1", eventId=event["eventId"])
    assert found["event"]["actorId"] == "a/b:c"
    assert bench.list_actors()["actorSummaries"] == [{"actorId": "a/b:c"}]


def test_a_session_id_is_made_when_none_is_given(bench: Bench) -> None:
    """Without sessionId the server makes one, and the event is found under it."""
    event = bench.create_event(actorId="ann", eventTimestamp=BIRTH, payload=[])["event"]
    assert bench.events(sessionId=event["sessionId"])[0]["payload"] == []


def test_sessions_and_actors_are_listed(bench: Bench) -> None:
    """Sessions come newest first and per actor; actors come by name."""
    for actor, session in (("bob", "b"), ("ann", "a1"), ("ann", "a2")):
        bench.event(actorId=actor, sessionId=session)
        bench.emulator.clock.advance(1)
    sessions = bench.list_sessions(actorId="ann")["sessionSummaries"]
    assert [one["sessionId"] for one in sessions] == ["a2", "a1"]
    assert [one["actorId"] for one in bench.list_actors()["actorSummaries"]] == ["ann", "bob"]


def test_an_empty_session_lives_one_day(bench: Bench) -> None:
    """A session without events is listed for a day, and never among those with events."""
    event = bench.event()
    bench.delete_event(actorId="ann", sessionId="s1", eventId=event["eventId"])
    only_filled = {"eventFilter": "HAS_EVENTS"}
    assert bench.list_sessions(actorId="ann", filter=only_filled)["sessionSummaries"] == []
    assert len(bench.list_sessions(actorId="ann")["sessionSummaries"]) == 1
    bench.emulator.clock.advance(86_400)
    assert bench.list_sessions(actorId="ann")["sessionSummaries"] == []


def test_an_event_expires_as_its_memory_said_when_it_was_written(bench: Bench) -> None:
    """The life of an event is fixed at its write; a later change does not touch it."""
    event = bench.event("old")
    control = bench.clients.control
    control.update_memory(memoryId=bench.memory_id, eventExpiryDuration=365)
    bench.event("new", at=1)
    bench.emulator.clock.advance(30 * 86_400)
    assert shown(bench.events()) == ["new"]
    with Refused("ResourceNotFoundException"):
        bench.get_event(actorId="ann", sessionId="s1", eventId=event["eventId"])


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ([equals("lang", "en")], ["both", "lang"]),
        ([equals("lang", "en"), equals("tier", "gold")], ["both"]),
        ([condition("tier", "EXISTS")], ["both", "tier"]),
        ([condition("tier", "NOT_EXISTS")], ["lang"]),
        ([equals("lang", "de")], []),
    ],
)
def test_event_metadata_is_filtered(
    bench: Bench, wanted: list[dict[str, Any]], found: list[str]
) -> None:
    """Conditions are joined by AND, and any key may be asked for."""
    bench.event("tier", at=0, metadata=texts(tier="free"))
    bench.event("lang", at=1, metadata=texts(lang="en"))
    bench.event("both", at=2, metadata=texts(lang="en", tier="gold"))
    assert shown(bench.events(filter={"eventMetadata": wanted})) == found


@pytest.mark.parametrize(
    "wanted", [condition("a", "EQUALS_TO"), condition("a", "EXISTS", stringValue="x")]
)
def test_an_operand_must_fit_its_operator(bench: Bench, wanted: dict[str, Any]) -> None:
    """EQUALS_TO needs an operand and EXISTS has none."""
    with Refused("ValidationException"):
        bench.events(filter={"eventMetadata": [wanted]})


def grow_branches(bench: Bench) -> None:
    """main: a b c; alt forks at b: d; deep forks at d: e."""
    bench.event("a", at=0)
    fork = bench.event("b", at=1)["eventId"]
    bench.event("c", at=2)
    deep = bench.event("d", at=3, branch={"name": "alt", "rootEventId": fork})["eventId"]
    bench.event("e", at=4, branch={"name": "deep", "rootEventId": deep})
    bench.event("f", at=5, branch={"name": "alt"})


@pytest.mark.parametrize(
    ("branch", "found"),
    [
        (None, "fedcba"),
        ({"name": "main"}, "cba"),
        ({"name": "alt"}, "fd"),
        ({"name": "alt", "includeParentBranches": True}, "fdba"),
        ({"name": "deep", "includeParentBranches": True}, "edba"),
        ({"name": "nowhere"}, ""),
    ],
)
def test_a_branch_shows_its_line(bench: Bench, branch: dict[str, Any] | None, found: str) -> None:
    """A branch shows its own events, and its ancestors' up to each fork if they are asked for."""
    grow_branches(bench)
    asked = {"filter": {"branch": branch}} if branch else {}
    assert "".join(shown(bench.events(**asked))) == found


def test_an_event_without_branch_is_on_main(bench: Bench) -> None:
    """The answer names the branch even when the request did not."""
    assert bench.event()["branch"] == {"name": "main"}


def test_a_new_branch_needs_a_root(bench: Bench) -> None:
    """A branch nobody forked is refused, as is a second root for the same branch."""
    first, second = bench.event(at=0)["eventId"], bench.event(at=1)["eventId"]
    with Refused("ValidationException", "rootEventId"):
        bench.event(branch={"name": "alt"})
    bench.event(branch={"name": "alt", "rootEventId": first})
    with Refused("ValidationException", "another root"):
        bench.event(branch={"name": "alt", "rootEventId": second})


def test_a_root_stands_in_the_same_session(bench: Bench) -> None:
    """A root of another session or actor has a reason of its own; one that is nowhere, too."""
    root = bench.event(sessionId="other")["eventId"]
    with Refused("ValidationException") as error:
        bench.event(branch={"name": "alt", "rootEventId": root})
    assert error.response["reason"] == "EventInOtherSession"
    with Refused("ValidationException", "there is no event"):
        bench.event(branch={"name": "alt", "rootEventId": "12#ab"})
    assert bench.events() == []


def test_ingested_data_is_extracted_but_no_event(bench: Bench) -> None:
    """IngestData goes straight to extraction and names the session."""
    answer = bench.ingest_data(
        actorId="ann", contentTimestamp=BIRTH, source={"inline": {"payload": [said("hi")]}}
    )
    assert bench.events(sessionId=answer["sessionId"]) == []


def test_json_payloads_have_a_limit(bench: Bench) -> None:
    """A json item above 100 KB is refused, in an event and in an ingestion."""
    large = [{"json": {"content": "x" * 100_000}}]
    with Refused("ValidationException", "100000"):
        bench.event(payload=large)
    with Refused("ValidationException", "100000"):
        bench.ingest_data(
            actorId="ann", contentTimestamp=BIRTH, source={"inline": {"payload": large}}
        )


@pytest.mark.parametrize("order", ["arrival", "reversed", "random"])
def test_events_of_one_millisecond(bench: Bench, order: str) -> None:
    """Ties are broken by arrival, against it, or at random but the same for the same seed."""
    bench.emulator.switches.update(same_ms_order=order)
    for name in "abcdef":
        bench.event(name)
    found = "".join(shown(bench.events()))
    expected = {"arrival": "fedcba", "reversed": "abcdef"}.get(order)
    assert found == expected or (expected is None and sorted(found) == list("abcdef"))


def test_randomness_repeats(bench: Bench) -> None:
    """Two emulators of one seed make the same ids."""
    from memkit.testing.agentcore import Emulator

    first = bench.event()["eventId"]
    with Emulator(switches=Switches()) as other:
        clients = other.boto_clients()
        memory = clients.control.create_memory(name="demo", eventExpiryDuration=30)["memory"]
        twin = Bench(other, clients, memory["id"])
        assert memory["id"] == bench.memory_id
        assert twin.event()["eventId"] == first
