"""The demo: eight steps, each with a result, none of them for show."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from memkit.cli.conversation import Conversation, Question, Said, Sitting, read_conversations
from memkit.cli.story import Recall, Setting, Step
from memkit.models import Scope
from memkit.sync import open_memory_sync
from memkit_adapters.langgraph.demo import tell

from .conftest import Call, document

TITLES = [
    *("Open the store", "Build the graph", "First turn", "Consolidate"),
    *("New session", "Verify the injected", "Decay", "Close and reopen"),
]


def test_eight_steps_on_sqlite(memkit: Call) -> None:
    """Without arguments: every step has a result, and so has every question."""
    result = memkit("demo")
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    for number, title in enumerate(TITLES, start=1):
        assert any(f"{number}  {title}" in line for line in lines)
    assert "8 of 8 steps" in lines[-1]
    assert list(Path().iterdir()) == []


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    """The facts of each step, by title, and of the recall."""
    setting = Setting(
        conversations=read_conversations(None), folder=tmp_path_factory.mktemp("demo")
    )
    facts: dict[str, object] = {}
    for event in tell(setting):
        if isinstance(event, Step):
            assert event.ok
            facts[event.title] = event.facts
        elif isinstance(event, Recall):
            facts["recall"] = event
    return facts


def test_the_first_turn_injects_nothing_and_the_second_something(told: dict[str, dict]) -> None:
    """What the first session said is in the reply of the next one."""
    assert told["First turn"]["injected"] == 0
    assert told["Consolidate"]["items"] > 0
    assert told["New session"]["injected"] > 0
    assert "FastAPI" in told["New session"]["reply"]
    assert told["Verify the injected"] == {"verified": 20, "leaked": 0}


def test_importance_follows_the_table(told: dict[str, dict]) -> None:
    """0.85 on day 0, 0.51, 0.18 and 0.065 later, forgotten on day 56."""
    days = {day["number"]: day["importance"] for day in told["Decay"]["days"]}
    assert [None if each is None else round(each, 3) for each in days.values()] == [
        *(0.85, 0.509, 0.182, 0.065, 0.051),
        None,
    ]
    assert list(days) == [0, 10, 30, 50, 55, 56]


def test_the_questions_find_their_evidence(told: dict[str, Recall]) -> None:
    """The example's questions are answered from memory alone."""
    recall = told["recall"]
    assert (recall.asked, recall.judged) == (12, 12)
    assert recall.answered >= 11
    assert all(1 in example.recalled for example in recall.examples)


def test_a_store_in_memory_says_that_it_cannot_be_reopened(memkit: Call) -> None:
    """Seven steps pass; the eighth is impossible by capability, and says so."""
    shown = document(memkit("demo", "--store", "memory://", "--json"))
    last = shown["steps"][-1]
    assert shown["ok"]
    assert last["facts"] == {"durable": False}
    assert "not durable" in last["result"]


def test_a_store_of_ones_own_can_be_used_again(memkit: Call, tmp_path: Path) -> None:
    """A second run clears away what the first one left."""
    store = f"sqlite:///{tmp_path}/demo.db"
    first = document(memkit("demo", "--store", store, "--json"))
    second = document(memkit("demo", "--store", store, "--json"))
    assert [step["facts"] for step in first["steps"]][7] == [
        step["facts"] for step in second["steps"]
    ][7]


def test_a_store_with_other_memories_is_left_alone(memkit: Call, tmp_path: Path) -> None:
    """The demo moves the clock and deletes what fades: never in anybody's real memory."""
    store = f"sqlite:///{tmp_path}/real.db"
    with open_memory_sync(store) as memory:
        memory.remember(Scope("alice"), "Likes tea", importance=0.1)
    result = memkit("demo", "--store", store)
    assert result.exit_code == 2
    assert "empty store" in result.stderr
    assert "FAILED 1" in result.stdout or "✗ 1" in result.stdout
    with open_memory_sync(store) as memory:
        assert memory.stats().items == 1


def test_a_step_that_fails_says_so(memkit: Call, tmp_path: Path) -> None:
    """A conversation of which nothing is remembered is no success: the demo exits with 1."""
    line = {
        "kind": "conversation",
        "conv_id": "mute",
        "sessions": [{"id": "S1", "turns": [{"id": "1", "role": "user", "text": "?"}]}],
    }
    file = tmp_path / "mute.jsonl"
    file.write_text(json.dumps(line))
    result = memkit("demo", "--conversation", str(file), "--json")
    shown = json.loads(result.stdout)
    assert result.exit_code == 1
    assert not shown["ok"]
    assert [step["ok"] for step in shown["steps"]] == [True, True, True, False]
    assert shown["steps"][-1]["title"] == "Consolidate"
    assert "StoryFailed" in shown["error"]


def talk(*sessions: tuple[str, ...]) -> Conversation:
    """A conversation of sessions in which only the user speaks, and a question before each."""
    return Conversation(
        conv_id="talk",
        sessions=tuple(
            Sitting(
                id=f"S{place}",
                turns=tuple(
                    Said(id=f"{place}:{turn}", role="user", text=text)
                    for turn, text in enumerate(texts)
                ),
            )
            for place, texts in enumerate(sessions)
        ),
        questions=tuple(
            Question(
                conv_id="talk",
                question=texts[0],
                before_session=place,
                evidence_turns=(f"{place}:0",),
            )
            for place, texts in enumerate(sessions)
        ),
    )


def test_a_question_is_asked_before_its_session(tmp_path: Path) -> None:
    """What a session says cannot answer a question that was asked before it."""
    conversation = talk(
        ("I keep bees in the garden.", "My hives are painted blue."),
        ("My sister plays the violin in an orchestra.",),
    )
    events = list(tell(Setting(conversations=(conversation,), folder=tmp_path)))
    (recall,) = [event for event in events if isinstance(event, Recall)]
    # The first session is played by the story itself, before any question.
    assert (recall.asked, recall.answered) == (2, 1)


def test_an_extractor_that_is_not_there_is_a_usage_error(memkit: Call) -> None:
    """The first step fails, and the error names what there is."""
    result = memkit("demo", "--extractor", "verbatin")
    assert result.exit_code == 2
    assert "did you mean 'verbatim'" in result.stderr


@pytest.mark.timeout(180)
def test_a_whole_public_conversation_file(shared_folder: Path, tmp_path: Path) -> None:
    """2,437 turns in four conversations: within a minute and 300 MB, without a warning."""
    file = shared_folder / "data" / "locomo.public.jsonl.gz"
    code = (
        "import re, sys, time; from pathlib import Path; from memkit.cli.app import build\n"
        "try:\n    build()(standalone_mode=False)\n"
        "finally:\n"
        # getrusage would count what the process that started this one held.
        "    status = Path('/proc/self/status').read_text()\n"
        "    peak = re.search(r'VmHWM:\\s+(\\d+) kB', status)[1]\n"
        # On a machine with nothing else to do, that is about how long it takes.
        "    print(peak, time.process_time(), file=sys.stderr)\n"
    )
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", code, "demo", "--conversation", file, "--json"],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env=os.environ | {"PYTHONHASHSEED": "0"},
        timeout=170,
    )
    peak, seconds = result.stderr.split()
    assert float(seconds) <= 60
    assert int(peak) <= 300 * 1024
    recall = json.loads(result.stdout)["recall"]
    assert (recall["sessions"], recall["turns"], recall["asked"]) == (108, 2437, 792)
    assert recall["evidence"] > 0.6
