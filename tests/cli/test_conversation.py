"""Conversations from files."""

from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memkit.cli.conversation import read_conversations
from memkit.errors import InvalidInput


def conversation(conv_id: str = "c1") -> dict[str, object]:
    """A conversation of one turn, as a line has it."""
    turn = {
        "id": "D1",
        "role": "user",
        "speaker": "Maya",
        "time": "2026-03-02T08:30:00",
        "text": "Look!",
        "caption": "a glacier",
    }
    return {
        "kind": "conversation",
        "conv_id": conv_id,
        "license": "passed over",
        "sessions": [{"id": "S1", "time": "2026-03-02", "turns": [turn]}],
    }


def question(conv_id: str = "c1", before: int | None = None) -> dict[str, object]:
    """A question about it."""
    return {
        "kind": "question",
        "conv_id": conv_id,
        "question": "What did she show?",
        "answer": "a glacier",
        "before_session": before,
        "evidence_turns": ["D1"],
    }


def written(path: Path, *lines: object) -> str:
    """A file of JSON lines."""
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), "utf-8")
    return str(path)


def test_the_example_is_complete() -> None:
    """It has several sessions, and every question's evidence is a turn of it."""
    (example,) = read_conversations(None)
    turns = {turn.id for session in example.sessions for turn in session.turns}
    assert len(example.sessions) > 3
    assert example.questions
    assert all(turns.issuperset(each.evidence_turns) for each in example.questions)


@pytest.mark.parametrize("packed", [False, True])
def test_plain_and_gzipped_files_are_read(tmp_path: Path, packed: bool) -> None:
    """Whatever the name: the content says whether it is packed. Naive times are UTC."""
    name = written(tmp_path / "chats.jsonl", conversation(), {"kind": "fact"}, question(), {})
    if packed:
        Path(name).write_bytes(gzip.compress(Path(name).read_bytes()))
    (found,) = read_conversations(name)
    (turn,) = found.sessions[0].turns
    assert turn.time == datetime(2026, 3, 2, 8, 30, tzinfo=UTC)
    assert turn.shown == "Look! [shares image: a glacier]"
    assert [each.answer for each in found.due(None)] == ["a glacier"]


def test_one_conversation_can_be_chosen(tmp_path: Path) -> None:
    """`FILE#CONV_ID` is that one alone, with its own questions."""
    name = written(
        tmp_path / "chats.jsonl", conversation("a"), conversation("b"), question("b", before=0)
    )
    assert [each.conv_id for each in read_conversations(name)] == ["a", "b"]
    (chosen,) = read_conversations(f"{name}#b")
    assert chosen.conv_id == "b"
    assert len(chosen.due(0)) == 1
    assert chosen.due(None) == ()


def test_a_file_may_have_a_hash_in_its_name(tmp_path: Path) -> None:
    """A file that is there is that file."""
    assert read_conversations(written(tmp_path / "chat#1.jsonl", conversation("a")))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "holds no conversation"),
        (b"{}\n[]\n3\n", "holds no conversation"),
        (b"{}\nnot json\n", "line 2 is not JSON"),
        (b"[" * 100_000, "line 1 is not JSON"),
        (b'{"kind": "conversation", "conv_id": "c"}\n', "line 1: sessions"),
        (b"\xff\xfe{}", "not UTF-8"),
        (b"\x1f\x8b\x08 broken", "cannot read"),
        (gzip.compress(b"{}\n" * 1000, mtime=0)[:40], "cannot read"),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path: Path, content: bytes, said: str) -> None:
    """The error names file, line and field, and quotes nothing."""
    file = tmp_path / "chats.jsonl"
    file.write_bytes(content)
    with pytest.raises(InvalidInput, match=said):
        read_conversations(str(file))


def test_what_is_not_there_is_named(tmp_path: Path) -> None:
    """A missing file, a folder, a conversation that the file has not."""
    for name in (tmp_path / "none", tmp_path):
        with pytest.raises(InvalidInput, match="cannot read"):
            read_conversations(str(name))
    name = written(tmp_path / "chats.jsonl", conversation("a"))
    with pytest.raises(InvalidInput, match="it has a"):
        read_conversations(f"{name}#b")
