"""What of a history is recorded already, as properties over any conversation."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memkit.memory.alignment import unrecorded
from memkit.models import Message, Tail, key_hash
from memkit.testing.values import a_message

# Few texts, so that repetitions abound; a text said twice is another message.
TEXTS = st.sampled_from(["ok", "yes", "Where is it?", "In the cellar.", "Thanks!"])
CONVERSATIONS = st.lists(TEXTS, max_size=12)
MANY = st.lists(TEXTS, min_size=1, max_size=6)


def said(texts: list[str], keys: list[str] | None = None) -> list[Message]:
    """Messages without keys, or with these."""
    return [a_message(text, key=keys[place] if keys else None) for place, text in enumerate(texts)]


def tail(messages: list[Message], *, head: int | None = None) -> Tail:
    """The end of a session that has these messages."""
    return Tail(
        head=len(messages) if head is None else head,
        digests=tuple(each.digest for each in messages),
        keys=tuple(each.key for each in messages),
    )


def new_texts(recorded: list[Message], history: list[Message]) -> list[str]:
    """The texts that would be stored."""
    return [history[place].text for place in unrecorded(tail(recorded), history)]


@given(past=CONVERSATIONS, added=CONVERSATIONS)
def test_a_whole_history_adds_exactly_its_end(past: list[str], added: list[str]) -> None:
    """Whatever was said again and again: of a whole conversation only the end is new."""
    assert new_texts(said(past), said(past + added)) == added


@given(past=CONVERSATIONS, added=CONVERSATIONS)
def test_keys_minted_anew_change_nothing(past: list[str], added: list[str]) -> None:
    """A whole conversation under keys that nobody knows is the same conversation."""
    first = [f"first-{place}" for place in range(len(past))]
    second = [f"second-{place}" for place in range(len(past + added))]
    assert new_texts(said(past, first), said(past + added, second)) == added


@given(past=CONVERSATIONS, added=CONVERSATIONS, data=st.data())
def test_stable_keys_decide(past: list[str], added: list[str], data: st.DataObject) -> None:
    """With stable keys any window, from any place, adds exactly what has another key."""
    keys = [str(place) for place in range(len(past + added))]
    start = data.draw(st.integers(0, len(past)))
    window = said(past + added, keys)[start:]
    if start == len(past) > 0:
        return  # a window of new messages alone says nothing of the session
    assert new_texts(said(past, keys), window) == added


@given(past=MANY, added=CONVERSATIONS, data=st.data())
def test_a_window_loses_nothing(past: list[str], added: list[str], data: st.DataObject) -> None:
    """A window of a session and what follows adds at most its own end, and all that is other.

    Which of several equal messages a window begins with cannot be known; that a text was said
    at all can.
    """
    start = data.draw(st.integers(0, len(past) - 1))
    stored = new_texts(said(past), said(past[start:] + added))
    assert set(added) <= set(past) | set(stored)
    assert len(stored) <= len(added)


@given(past=st.lists(TEXTS, unique=True), data=st.data())
def test_an_older_state_adds_nothing(past: list[str], data: st.DataObject) -> None:
    """A run that is resumed from where a session was before has nothing to add."""
    end = data.draw(st.integers(0, len(past)))
    assert new_texts(said(past), said(past[:end])) == []


# Four of them said over again would be taken for those that were recorded.
@given(
    past=st.lists(TEXTS, unique=True, min_size=3),
    added=st.lists(TEXTS, max_size=3),
    data=st.data(),
)
def test_an_edit_in_the_middle_adds_the_edit(
    past: list[str], added: list[str], data: st.DataObject
) -> None:
    """What was changed before the end is stored, its neighbors are not."""
    place = data.draw(st.integers(1, len(past) - 2))
    edited = [*past[:place], "Something else altogether.", *past[place + 1 :]]
    assert new_texts(said(past), said(edited + added)) == ["Something else altogether.", *added]


@pytest.mark.parametrize("kept", [2, 3])
def test_a_summary_is_new_once(kept: int) -> None:
    """What stands in place of the beginning is stored, what it left standing is not again."""
    past = ["one", "two", "three", "four"]
    history = ["A summary of it all.", *past[-kept:], "five"]
    assert new_texts(said(past), said(history)) == ["A summary of it all.", "five"]
    recorded = [*past, "A summary of it all.", "five"]
    assert new_texts(said(recorded), said([*history, "six"])) == ["six"]


def test_of_short_runs_the_first_is_taken() -> None:
    """Where it may be the one or the other, what follows is stored again rather than lost."""
    recorded = said(["ok", "yes", "Where is it?"])
    history = said(["ok", "Something else.", "Where is it?", "yes", "Where is it?"])
    assert new_texts(recorded, history) == ["Something else.", "yes", "Where is it?"]


def test_a_long_run_is_no_coincidence() -> None:
    """A whole stretch of the session counts more than one "ok" before it."""
    recorded = said(["one", "ok", "two", "three", "four", "ok"])
    history = said(["one", "ok", "A summary.", "two", "three", "four", "ok", "five"])
    assert new_texts(recorded, history) == ["A summary.", "five"]


def test_other_content_under_a_known_key_is_handed_on() -> None:
    """A revision, or a conflict: which of them is the store's to say."""
    recorded = said(["I live in Rome.", "Noted."], ["a", "b"])
    history = said(["I live in Oslo.", "Noted.", "Thanks!"], ["a", "b", "c"])
    assert new_texts(recorded, history) == ["I live in Oslo.", "Thanks!"]


def test_the_newest_content_of_a_key_counts() -> None:
    """A message that was revised and is handed in as revised is known."""
    recorded = said(["I live in Rome.", "I live in Oslo."], ["a", "a"])
    assert new_texts(recorded, said(["I live in Oslo."], ["a"])) == []


def test_a_key_whose_body_is_gone_is_known_by_its_hash() -> None:
    """What was purged or forgotten is not recorded again."""
    gone = said(["I live in Rome."], ["a"])
    left = Tail(head=1, digests=(gone[0].digest,), keys=(key_hash("a"),))
    assert unrecorded(left, gone) == []


def test_a_key_known_elsewhere_is_not_taken_for_its_twin() -> None:
    """Equal words under a known key and without one are two messages."""
    recorded = said(["ok"], ["a"])
    history = [a_message("ok"), a_message("ok", key="a")]
    assert unrecorded(tail(recorded), history) == [0]


def test_a_new_key_is_believed_over_one_equal_word() -> None:
    """One "ok" under a key of its own is no repetition of the "ok" before."""
    recorded = said(["Where is it?", "ok"], ["a", "b"])
    assert new_texts(recorded, said(["ok", "Thanks!"], ["c", "d"])) == ["ok", "Thanks!"]


def test_keys_and_no_keys_may_be_mixed() -> None:
    """A framework that keys what users say only: the answers are aligned by content."""
    recorded = [a_message("one", key="1"), a_message("two"), a_message("three", key="3")]
    history = [*recorded, a_message("four"), a_message("five", key="5")]
    assert unrecorded(tail(recorded), history) == [3, 4]


def test_the_end_of_a_long_session_is_enough() -> None:
    """Only the end of a session need be known to align a window with it."""
    recorded = said(["seven", "eight", "nine"])
    places = unrecorded(tail(recorded, head=300), said(["eight", "nine", "ten"]))
    assert places == [2]


def test_nothing_and_something() -> None:
    """An empty session knows nothing, an empty history adds nothing."""
    assert unrecorded(Tail(), said(["one", "two"])) == [0, 1]
    assert unrecorded(tail(said(["one"])), []) == []
