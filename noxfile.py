"""What the project can do: `nox -l` lists it, plain `nox` is what a change must pass."""

from __future__ import annotations

import nox

nox.options.sessions = ["lint", "tests"]
nox.options.reuse_existing_virtualenvs = True
# A machine with one Python still runs what it can; .ci/run says which it found.
nox.options.error_on_missing_interpreters = False

PROJECT = nox.project.load_toml("pyproject.toml")
# Measured beside memkit where they install, each with what it drags in: never in one resolution.
PEERS = (
    ("agent-memory-layer==0.1.1",),
    ("langgraph-checkpoint-postgres==3.2.0", "psycopg[binary]>=3.2"),
    ("langgraph-checkpoint-sqlite==3.1.2",),
)
PYTHONS = nox.project.python_versions(PROJECT)


def install(session: nox.Session, *groups: str) -> None:
    """The project with every extra, and the named dependency groups, in one resolution."""
    session.install("-e", ".[all]", *nox.project.dependency_groups(PROJECT, *groups))


@nox.session
def lint(session: nox.Session) -> None:
    """Format, lint, types, import contracts, declared dependencies."""
    install(session, "lint")
    session.run("ruff", "format", "--check", ".")
    session.run("ruff", "check", ".")
    session.run("mypy")
    session.run("lint-imports", "--no-cache")
    session.run("deptry", "src")


@nox.session
def tests(session: nox.Session) -> None:
    """Everything, on the Python that runs nox, against real stores."""
    install(session, "test")
    # By file: the blocks of a page of documentation stand on one another.
    session.run("pytest", "-n", "2", "--dist", "loadfile", *session.posargs)


@nox.session(python=PYTHONS)
def conformance(session: nox.Session) -> None:
    """Unit tests and the conformance kit on every supported Python that is installed."""
    session.install("-e", ".[postgres,testing]", *nox.project.dependency_groups(PROJECT, "kit"))
    folders = ["tests/unit", "tests/stores", "tests/extractors"]
    session.run("pytest", "-n", "2", *(session.posargs or folders))


@nox.session
def gates(session: nox.Session) -> None:
    """Promises under faults: `nox -s gates -- NAME --n N --seed S [--bug NAME]`; see --help."""
    install(session, "test")
    session.run("python", "-m", "tests.gates", *session.posargs)


@nox.session
def loops(session: nox.Session) -> None:
    """One memory from plain code, a loop per call, inside a running loop, and eight threads."""
    install(session, "test")
    session.run("python", "-m", "tests.gates", "loops", *session.posargs)


@nox.session
def plans(session: nox.Session) -> None:
    """How Postgres means to carry out every hot statement, beside a million items of others."""
    install(session, "test")
    million = {"MEMKIT_PLAN_ROWS": "1000000", "MEMKIT_REQUIRE_BACKENDS": "1"}
    tests = session.posargs or ["tests/postgres/test_plans.py"]
    session.run("pytest", "--timeout", "900", *tests, env=million)


@nox.session
def bench(session: nox.Session) -> None:
    """Whole public calls beside the raw driver: `nox -s bench -- --items 1000000`; see --help."""
    install(session, "test")
    for peer in PEERS if "--peers" in session.posargs else ():
        # What does not install is left out, and the table is made without it.
        session.install(*peer, success_codes=range(256))
    session.run("python", "-m", "tests.bench", *session.posargs)
