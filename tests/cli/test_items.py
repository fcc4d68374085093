"""Searching and forgetting from the command line."""

from __future__ import annotations

from pathlib import Path

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


@pytest.mark.parametrize(
    "which",
    [("--message", "m1"), ("--item", "i", "--session", "s"), ("--item", "i", "--episode", "e")],
)
def test_what_is_to_be_forgotten_is_said_by_options(known: Call, which: tuple[str, ...]) -> None:
    """What does not go together is refused in the words of the command line."""
    result = known("forget", *ALICE, *which, "--yes")
    assert result.exit_code == 2
    assert "say one of --item, --session (with or without --message)" in result.stderr
    assert document(known("stats", "--json"))["items"] == 2


def test_a_message_can_be_redacted(memkit: Call) -> None:
    """The message stays, its text and what came of it do not."""
    command = ("record", *ALICE, "--session", "s1", "-")
    memkit(*command, input='{"role": "user", "content": "My PIN is 4711", "key": "m1"}')
    memkit("consolidate")
    which = ("--session", "s1", "--message", "m1", "--replacement", "[removed]")
    assert "1 redacted" in memkit("forget", *ALICE, *which, "--yes").stdout
    assert document(memkit("search", *ALICE, "PIN", "--json")) == []


@pytest.mark.parametrize("command", [("search", "x"), ("inject",), ("forget", "--yes")])
def test_whose_memory_must_be_said(memkit: Call, tmp_path: Path, command: tuple[str, ...]) -> None:
    """Without a scope nothing is shown and nothing is forgotten."""
    result = memkit(*command)
    assert result.exit_code == 2
    assert "whose memory? say so with --user or --agent or --workflow" in result.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("rules", "arguments", "options"),
    [
        ('write = "user"', ("stats", "--agent", "a"), "--user"),
        ('write = "user+agent"', ("forget", "--workflow", "w", "--yes"), "--user or --agent"),
        ('write = "user"\nread = ["agent"]', ("search", "--user", "u", "x"), "--agent"),
    ],
)
def test_the_options_that_say_whose_memory_are_named(
    known: Call, tmp_path: Path, rules: str, arguments: tuple[str, ...], options: str
) -> None:
    """Those that the configured sharing goes by, and no others."""
    (tmp_path / "memkit.toml").write_text(f"[scope]\n{rules}\n")
    result = known(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == f"memkit: whose memory? say so with {options}\n"


def test_numbers_are_rounded_for_programs_too(known: Call) -> None:
    """What is left of 0.8 after a second is 0.8."""
    found = document(known("inject", *ALICE, "--json"))["items"]
    found += document(known("search", *ALICE, "FastAPI", "--json"))
    assert found
    for each in found:
        for name in ("importance", "score"):
            assert len(str(each[name])) <= len("0.1234"), each


@pytest.mark.parametrize(
    "command",
    [
        *(("search", *ALICE, "x"), ("inject", *ALICE), ("forget", *ALICE, "--yes"), ("stats",)),
        *(("jobs",), ("retry", "--dead"), ("decay", "--dry-run"), ("consolidate",)),
    ],
)
def test_a_store_that_is_not_there_is_no_empty_memory(
    memkit: Call, tmp_path: Path, command: tuple[str, ...]
) -> None:
    """A misspelt name is said to be none, and no file appears under it."""
    result = memkit(*command, "--store", "sqlite:///memroy.db")
    assert (result.exit_code, result.stdout) == (4, "")
    assert "there is no store at sqlite:///memroy.db yet" in result.stderr
    assert list(tmp_path.iterdir()) == []
