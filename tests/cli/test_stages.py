"""The four stages from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memkit.cli.stages import verdict
from memkit.models import ConsolidationJob, JobStatus, Scope, utcnow

from .conftest import Call, document

ALICE = ("--user", "alice")


def test_the_story_in_four_commands(known: Call) -> None:
    """What was recorded and consolidated is injected as one block."""
    result = known("inject", *ALICE, "which framework?")
    assert result.exit_code == 0
    assert result.stdout.startswith("<memkit_memory>")
    assert "FastAPI" in result.stdout


def test_inject_as_json(known: Call) -> None:
    """Programs get the items, the block and whether something may be missing."""
    found = document(known("inject", *ALICE, "framework", "--limit", "1", "--json"))
    assert next(item["content"] for item in found["items"]).endswith(
        "I work with FastAPI every day."
    )
    assert found["degraded"] is False
    assert "FastAPI" in found["rendered"]


def test_nothing_to_inject_is_no_error(known: Call) -> None:
    """An empty answer is said on stderr; stdout stays what a prompt can take."""
    result = known("inject", "--user", "bob")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "nothing" in result.stderr


@pytest.mark.parametrize("array", [True, False], ids=["array", "lines"])
def test_record_a_file_once(memkit: Call, tmp_path: Path, array: bool) -> None:
    """A JSON array or JSON lines; what has a key is stored once."""
    messages = [
        {"role": "user", "content": f"message {number}", "key": f"m{number}"} for number in range(3)
    ]
    file = tmp_path / "chat.json"
    lines = "\n".join(json.dumps(each) for each in messages)
    file.write_text(json.dumps(messages) if array else f"{lines}\n\n")
    command = ("record", *ALICE, "--session", "s1", str(file), "--json")
    first, second = document(memkit(*command)), document(memkit(*command))
    assert (first["new"], first["skipped"], first["head"]) == (3, 0, 3)
    assert (second["new"], second["skipped"], second["head"]) == (0, 3, 3)


def test_record_a_history_from_standard_input(memkit: Call) -> None:
    """With `--history` a session may be handed in whole: only what is new is stored."""
    said = '{"role": "user", "content": "one"}\n'
    command = ("record", *ALICE, "--session", "s1", "--history", "-")
    assert "1 new message, 0 skipped" in memkit(*command, input=said).stdout
    assert "1 new message, 1 skipped" in memkit(*command, input=said * 2).stdout


def test_a_long_file_is_recorded_in_parts(memkit: Call, tmp_path: Path) -> None:
    """No file is too long: it becomes several episodes, in order."""
    file = tmp_path / "long.jsonl"
    file.write_text("".join(f'{{"role": "user", "content": "m {n}"}}\n' for n in range(1200)))
    done = document(memkit("record", *ALICE, "--session", "s1", str(file), "--json"))
    assert (done["new"], done["head"], len(done["episodes"])) == (1200, 1200, 3)


def test_another_content_of_a_key_is_a_conflict_or_a_revision(memkit: Call) -> None:
    """The conflict is a failure that says what to do; `--revise` does it."""
    command = ("record", *ALICE, "--session", "s1", "-")
    memkit(*command, input='{"role": "user", "content": "one", "key": "m1"}')
    other = '{"role": "user", "content": "two", "key": "m1"}'
    result = memkit(*command, input=other)
    assert result.exit_code == 1
    assert "revise" in result.stderr
    assert "1 revised" in memkit(*command, "--revise", input=other).stdout


@pytest.mark.parametrize(
    ("arguments", "given", "said"),
    [
        ((), None, "what is to be recorded"),
        (("-", "--text", "x"), "", "what is to be recorded"),
        (("-",), "not json", "line 1 is not JSON"),
        (("-",), "[" * 100_000, "is not JSON"),
        (("-",), "[1]", "entry 1 is not a message"),
        (("-",), '{"role": "king", "content": "x"}', "entry 1"),
        (("missing.jsonl",), None, "missing.jsonl"),
    ],
)
def test_what_cannot_be_recorded_is_a_usage_error(
    memkit: Call, arguments: tuple[str, ...], given: str | None, said: str
) -> None:
    """Exit code 2, and a line that names the entry."""
    result = memkit("record", *ALICE, "--session", "s1", *arguments, input=given)
    assert result.exit_code == 2
    assert said in result.stderr
    assert "Traceback" not in result.output


def test_consolidate_says_what_it_did(memkit: Call) -> None:
    """Jobs and items are counted, and a second run finds nothing pending."""
    memkit("record", *ALICE, "--session", "s1", "--text", "I moved to Oslo in May.")
    (job,) = document(memkit("consolidate", *ALICE, "--json"))
    assert (job["status"], job["added"]) == ("completed", 1)
    assert "nothing is pending" in memkit("consolidate").stdout


def test_decay_shows_before_it_deletes(known: Call) -> None:
    """Fresh items stay; a dry run deletes nothing."""
    assert document(known("decay", "--dry-run", "--json"))["item_ids"] == []
    assert "0 items and 0 episodes deleted" in known("decay").stdout
    assert document(known("stats", "--json"))["items"] == 2


def test_a_changed_policy_is_worked_in(known: Call, tmp_path: Path) -> None:
    """`--rebuild` computes every date anew; what has faded by the new policy goes."""
    (tmp_path / "memkit.toml").write_text("[decay]\nthreshold = 0.99\n")
    gone = document(known("decay", "--rebuild", "--json"))
    assert (gone["rebuilt"], len(gone["item_ids"])) == (2, 2)
    assert document(known("stats", "--json"))["items"] == 0


def test_rebuild_and_dry_run_exclude_each_other(memkit: Call) -> None:
    """One writes, the other must not."""
    assert memkit("decay", "--rebuild", "--dry-run").exit_code == 2


def job(status: JobStatus) -> ConsolidationJob:
    """A job that ended so."""
    return ConsolidationJob(id=status, scope=Scope("u"), status=status, started_at=utcnow())


@pytest.mark.parametrize(
    ("ends", "code"),
    [
        ((), 0),
        (("completed", "skipped"), 0),
        (("completed", "failed"), 3),
        (("failed", "dead"), 1),
    ],
)
def test_consolidation_in_part_has_its_own_exit_code(
    ends: tuple[JobStatus, ...], code: int
) -> None:
    """A script can tell work that was done in part from work that was not done."""
    assert verdict([job(each) for each in ends]) == code
