"""The checker of histories: what may be left after faults, and what may not."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memkit.testing.history import HistoryEvent, Kind, Stage, check

ADD, FORGET = ("add", "forget")


def history(*lines: str) -> list[HistoryEvent]:
    """`"1 add invoke"`: operation, kind and stage, each of the key "a" unless a fourth names it."""
    return [_event(*line.split()) for line in lines]


def _event(operation: str, kind: Kind, stage: Stage, key: str = "a") -> HistoryEvent:
    return HistoryEvent(operation=int(operation), kind=kind, stage=stage, key=key)


def added(outcome: str) -> list[HistoryEvent]:
    """One add and what became of it."""
    return history("1 add invoke", f"1 add {outcome}")


@pytest.mark.parametrize(
    ("events", "final", "expected"),
    [
        (added("ok"), "a", []),
        (added("ok"), "", ["lost"]),
        (added("ok"), "aa", ["doubled"]),
        (added("unknown"), "a", []),
        (added("unknown"), "", []),
        (added("unknown"), "aa", ["doubled"]),
        (added("fail"), "", []),
        (added("fail"), "a", ["unasked"]),
        (history("1 add invoke"), "a", []),
        (history("1 add invoke"), "", []),
        ([], "a", ["unasked"]),
    ],
    ids=str,
)
def test_an_add_stands_as_it_was_answered(
    events: list[HistoryEvent], final: Sequence[str], expected: list[str]
) -> None:
    """Acknowledged is there once, failed is not there, unknown may be either, once."""
    assert [each.what for each in check(events, final)] == expected


@pytest.mark.parametrize(
    ("forget", "final", "expected"),
    [
        (["2 forget invoke", "2 forget ok"], "", []),
        (["2 forget invoke", "2 forget ok"], "a", ["forgotten"]),
        (["2 forget invoke", "2 forget unknown"], "", []),
        (["2 forget invoke", "2 forget unknown"], "a", []),
        (["2 forget invoke", "2 forget fail"], "", ["lost"]),
        (["2 forget invoke", "2 forget fail"], "a", []),
        (["2 forget invoke"], "", []),
    ],
)
def test_a_later_forget_takes_away(forget: list[str], final: str, expected: list[str]) -> None:
    """A forget that was acknowledged wins over every add before it; one that failed does not."""
    events = [*added("ok"), *history(*forget)]
    assert [each.what for each in check(events, final)] == expected


def test_what_overlaps_may_end_either_way() -> None:
    """A forget and an add that ran at the same time have no order."""
    events = history("1 add invoke", "2 forget invoke", "2 forget ok", "1 add ok")
    assert check(events, "") == check(events, "a") == []


def test_an_add_after_the_forget_stands() -> None:
    """What is said again is there again."""
    events = history("1 forget invoke", "1 forget ok", "2 add invoke", "2 add ok")
    assert check(events, "a") == []
    assert [each.what for each in check(events, "")] == ["lost"]


def test_keys_are_judged_one_by_one() -> None:
    """Each violation names its key."""
    events = history("1 add invoke a", "1 add ok a", "2 add invoke b", "2 add ok b")
    assert [(each.key, each.what) for each in check(events, ["b", "b", "c"])] == [
        ("a", "lost"),
        ("b", "doubled"),
        ("c", "unasked"),
    ]


OPERATIONS = st.lists(
    st.tuples(
        st.sampled_from([ADD, FORGET]),
        st.sampled_from(["ok", "fail", "unknown"]),
        st.sampled_from("ab"),
        st.booleans(),
    ),
    max_size=12,
)


@given(OPERATIONS)
def test_what_one_caller_did_in_order_is_never_blamed(
    operations: list[tuple[Kind, Stage, str, bool]],
) -> None:
    """A memory that does what it answers, one call after the other, has no violation."""
    events: list[HistoryEvent] = []
    held: set[str] = set()
    for number, (kind, outcome, key, took_effect) in enumerate(operations):
        events.append(HistoryEvent(operation=number, kind=kind, stage="invoke", key=key))
        events.append(HistoryEvent(operation=number, kind=kind, stage=outcome, key=key))
        if outcome == "ok" or (outcome == "unknown" and took_effect):
            held = held | {key} if kind == "add" else held - {key}
    assert check(events, held) == []
