"""Searching and forgetting from the command line."""

from __future__ import annotations

import pytest

from .conftest import Call, document

ALICE = ("--user", "alice")


def test_search_lists_the_best_first(known: Call) -> None:
    """A row per item, on one line; as JSON the whole item."""
    result = known("search", *ALICE, "framework FastAPI")
    heads, row, *rest = result.stdout.splitlines()
    assert heads.split() == ["score", "importance", "kind", "id", "content"]
    assert row.endswith("I work with FastAPI every day.")
    assert rest == []
    (hit,) = document(known("search", *ALICE, "FastAPI", "--limit", "1", "--json"))
    assert (hit["origin"], hit["source"]) == ("user", "s1#1")


def test_searching_another_user_finds_nothing(known: Call) -> None:
    """Nothing found is no failure, and nobody's memory is anybody else's."""
    result = known("search", "--user", "bob", "FastAPI")
    assert (result.exit_code, result.stdout) == (0, "")
    assert document(known("search", "--user", "bob", "FastAPI", "--json")) == []


def test_what_is_remembered_cannot_steer_the_terminal(memkit: Call) -> None:
    """Control characters and line breaks in a content are shown, not obeyed."""
    text = "red \x1b[31m alert\x07\n\u202egnal"
    memkit("record", *ALICE, "--session", "s1", "--text", text)
    memkit("consolidate")
    shown = memkit("search", *ALICE, "alert").stdout
    assert "alert" in shown
    assert not {"\x1b", "\x07", "\u202e"} & set(shown)
    assert len(shown.splitlines()) == 2


def test_forget_asks_first(known: Call) -> None:
    """Where nobody can be asked, nothing is forgotten without `--yes`."""
    for extra in ((), ("--json",)):
        result = known("forget", *ALICE, *extra)
        assert result.exit_code == 2
        assert "--yes" in result.stderr
    assert document(known("stats", "--json"))["items"] == 2


def test_forget_a_scope(known: Call) -> None:
    """Everything of the scope goes, and the receipt says how much."""
    receipt = document(known("forget", *ALICE, "--yes", "--json"))
    assert (receipt["items"], receipt["messages"]) == (2, 2)
    assert document(known("stats", "--json"))["items"] == 0


def test_forget_parts_of_a_scope(known: Call) -> None:
    """An item, a message, an episode or a session may go alone."""
    (hit,) = document(known("search", *ALICE, "FastAPI", "--json"))
    assert "forgotten: 1 item" in known("forget", *ALICE, "--item", hit["id"], "--yes").stdout
    session = known("forget", *ALICE, "--session", "s1", "--yes")
    assert "1 item, 2 episodes, 2 messages" in session.stdout


def test_a_message_can_be_redacted(memkit: Call) -> None:
    """The message stays, its text and what came of it do not."""
    command = ("record", *ALICE, "--session", "s1", "-")
    memkit(*command, input='{"role": "user", "content": "My PIN is 4711", "key": "m1"}')
    memkit("consolidate")
    which = ("--session", "s1", "--message", "m1", "--replacement", "[removed]")
    assert "1 redacted" in memkit("forget", *ALICE, *which, "--yes").stdout
    assert document(memkit("search", *ALICE, "PIN", "--json")) == []


@pytest.mark.parametrize("command", [("search", "x"), ("inject",), ("forget", "--yes")])
def test_whose_memory_must_be_said(memkit: Call, command: tuple[str, ...]) -> None:
    """Without a scope nothing is shown and nothing is forgotten."""
    result = memkit(*command)
    assert result.exit_code == 2
    assert "state whose memory it is" in result.stderr
