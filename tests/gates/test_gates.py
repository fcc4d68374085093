"""The frame of the gates: they are found, tell the truth, and answer with the exit code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.gates.__main__ import TRIES, discover, run, run_all
from tests.gates.accounts import Account, Holdings
from tests.gates.children import Child, ChildError, Report, together
from tests.gates.progress import Progress, watched
from tests.gates.telling import FACTS
from tests.gates.verdict import Gate, Verdict

ROOT = Path(__file__).parents[2]

# Where tests run side by side their workers have threads, of which Python warns.
forks = pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")


def a_gate(*, passes: bool = True, notices: bool = True) -> Gate:
    """A gate with one bug, which it notices or not."""

    def tried(n: int, seed: int, bug: str | None) -> Verdict:
        is_red = notices if bug else not passes
        return Verdict(lost=int(is_red), facts={"tried": n + seed})

    return Gate(name="T99", promise="nothing", full=100, run=tried, bugs=("a-bug",), least=7)


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    """`python -m tests.gates`, as the nox session runs it."""
    return subprocess.run(
        [sys.executable, "-m", "tests.gates", *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )


def test_every_gate_is_found_under_a_name_of_its_own() -> None:
    """A module's name begins with its gate's number, and no gate hides another."""
    gates = discover()
    files = {path.name.partition("_")[0].upper() for path in Path(__file__).parent.glob("t??_*.py")}
    assert files <= {name.partition("-")[0] for name in gates}
    assert "loops" in gates
    assert all(
        gate.name == name and gate.full >= 1 and gate.promise for name, gate in gates.items()
    )


def test_the_verdict_is_one_line_of_json(capsys: pytest.CaptureFixture[str]) -> None:
    """A run prints one object that says what was tried, with what outcome, and how long it took."""
    assert run(a_gate(), n=3, seed=4, bug=None)
    printed = json.loads(capsys.readouterr().out)
    assert printed.pop("seconds") >= 0
    assert printed == {
        "gate": "T99",
        "n": 3,
        "seed": 4,
        "bug": None,
        "passed": True,
        "lost": 0,
        "doubled": 0,
        "failed": 0,
        "tried": 7,
    }


@pytest.mark.parametrize("miss", [{"lost": 1}, {"doubled": 1}, {"failed": 1}])
def test_any_miss_is_red(miss: dict[str, int]) -> None:
    """Whatever is missed, the verdict is not passed."""
    assert Verdict().passed
    assert not Verdict(**miss).passed


@pytest.mark.parametrize(
    ("passes", "notices", "fine"),
    [(True, True, True), (False, True, False), (True, False, False)],
    ids=["all is well", "a gate is red", "a bug goes unnoticed"],
)
def test_all_is_well_when_gates_pass_and_bugs_do_not(
    capsys: pytest.CaptureFixture[str], *, passes: bool, notices: bool, fine: bool
) -> None:
    """`all` fails for a gate that is red, and for a bug that leaves it green whatever the seed."""
    gates = {"T99": a_gate(passes=passes, notices=notices)}
    assert run_all(gates, share=0.1, seed=0) is fine
    runs = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    tries = 1 if notices else TRIES
    assert [(each["n"], each["bug"]) for each in runs] == [(10, None), *[(10, "a-bug")] * tries]
    assert len({each["seed"] for each in runs[1:]}) == tries


def test_a_share_is_never_less_than_means_something(capsys: pytest.CaptureFixture[str]) -> None:
    """A gate says how little is too little."""
    assert run_all({"T99": a_gate()}, share=0.01, seed=0)
    assert json.loads(capsys.readouterr().out.splitlines()[0])["n"] == 7


def test_the_exit_code_says_whether_a_gate_passed() -> None:
    """0 for green, 1 for red, 2 for a bug that there is not."""
    assert command("T27").returncode == 0
    assert command("T27", "--bug", "pickle").returncode == 1
    assert command("T27", "--bug", "no-such-bug").returncode == 2


def test_an_account_sees_what_is_lost_doubled_or_back() -> None:
    """The judge of histories counts each sort of miss, facts of messages included."""
    account = Account()
    account.read(["open", "invoke add a", "ok add a", "invoke add b", "ok add b", "invoke add c"])
    account.read(["invoke forget b", "ok forget b"])
    fine = Holdings(messages=Counter(a=1), items=Counter(a=FACTS))
    assert account.verdict(fine).passed
    assert account.acknowledged == 3
    unknown = Holdings(messages=Counter(a=1, c=1), items=Counter(a=FACTS, c=FACTS))
    assert account.verdict(unknown).passed, "what was not acknowledged may be there"
    wrong = {
        "lost": Holdings(messages=Counter(), items=Counter()),
        "doubled": Holdings(messages=Counter(a=2), items=Counter(a=FACTS)),
        "failed": Holdings(messages=Counter(a=1, b=1), items=Counter(a=FACTS, b=FACTS)),
    }
    for sort, holdings in wrong.items():
        assert getattr(account.verdict(holdings), sort) == 1, sort
    facts = {"lost": FACTS - 1, "doubled": FACTS + 1}
    for sort, count in facts.items():
        holdings = Holdings(messages=Counter(a=1), items=Counter(a=count))
        assert getattr(account.verdict(holdings), sort) == 1, sort
    assert not Account().verdict(Holdings(messages=Counter(), items=Counter())).passed


@forks
def test_what_a_child_said_is_known_however_it_ended() -> None:
    """A killed child's words arrive, its exit code does, and a broken child is an error."""

    def say_and_wait(report: Report) -> None:
        report("one")
        report("two")
        os.read(os.pipe()[0], 1)

    child = Child.fork(say_and_wait)
    child.wait_for_lines(2)
    assert child.kill() == ["one", "two"]
    assert Child.fork(lambda _: os._exit(9)).ended(seconds=20) == 9
    with pytest.raises(ChildError, match="ZeroDivisionError"):
        Child.fork(lambda report: report(str(1 / 0))).ended(seconds=20)
    with pytest.raises(ChildError, match="had not ended"):
        Child.fork(say_and_wait).ended(seconds=0.1)


@forks
def test_children_begin_at_one_moment() -> None:
    """None of them begins before the last has been forked."""
    works = [lambda report: report(str(os.getpid())) for _ in range(3)]
    children = together(works, seconds=20)
    assert [child.said for child in children] == [[str(child.pid)] for child in children]


def test_long_runs_say_how_far_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    """A line every few seconds on stderr; what is over sooner says nothing."""
    assert list(watched(range(3))) == [0, 1, 2]
    assert capsys.readouterr().err == ""
    Progress(1200, pause=0).at(1000)
    assert capsys.readouterr().err == "1,000 of 1,200 after 0 s\n"
