"""T25: neither what is remembered nor a password is in any log, error, repr or other output."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
from functools import partial

from tests.gates.backends import SQLITE, Backend
from tests.gates.postgres import POSTGRES
from tests.gates.progress import watched
from tests.gates.verdict import Gate, Verdict

LETTERS = "bcdfghjkmnpqrtvwxz"
DRESSES = (
    ":/?{}",
    "{}",
    "{}@host",
    "a#{}",
    "p%40{}",
    "{} with blanks",
    "'{}\"",
    "\\{}\\",
    "ü{}",
    "{}&x=1",
)
"""A password in these has led parsers and masks astray; a short run tries the first."""

MUST_FAIL = {
    "a conflict: MessageConflict",
    "a bad message: InvalidInput",
    "an unset scope: ScopeError",
    "after closing: Closed",
    "another loop: WrongLoop",
    "no such store: PluginError",
    "a secret in a file: ConfigError",
    "nobody listens: StoreUnavailable",
}
"""Ways to fail that every run must have come by."""

BUGS = ("log-content", "log-dsn")


def a_word(chance: random.Random) -> str:
    """A word that nothing else contains, and that no quoting changes."""
    return "".join(chance.choices(LETTERS, k=16))


def one_run(backend: Backend, chance: random.Random, number: int, bug: str | None) -> list[str]:
    """What is wrong with what one process lets be heard."""
    word, password = a_word(chance), a_word(chance)
    with backend.fresh() as location, tempfile.TemporaryDirectory() as folder:
        given = {
            "word": word,
            "password": DRESSES[number % len(DRESSES)].format(password),
            "location": with_password(location, password),
            "backend": backend.name,
            "folder": folder,
            "bug": bug,
        }
        done = subprocess.run(
            [sys.executable, "-X", "dev", "-m", "tests.gates.quiet"],
            input=json.dumps(given),
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
    return [*heard(done, word, password), *([] if bug else untried(done))]


def with_password(location: str, password: str) -> str:
    """A location with a password, where it has a login without one: nobody asks for it."""
    return location.replace("://postgres@", f"://postgres:{password}@")


def heard(done: subprocess.CompletedProcess[str], word: str, password: str) -> list[str]:
    """The lines that say too much."""
    whole = f"{done.stdout}\n{done.stderr}"
    secret = {word: "content", password: "password"}
    return [
        f"{what}: {line.lower().replace(each, '***')[:160]}"
        for each, what in secret.items()
        for line in whole.splitlines()
        if each in line.lower()
    ]


def untried(done: subprocess.CompletedProcess[str]) -> list[str]:
    """What was not tried at all: silence about that proves nothing."""
    if done.returncode:
        return [f"ended with {done.returncode}: {done.stderr[-600:]}"]
    tried = set(json.loads(done.stdout.splitlines()[-1]))
    return [f"never came by {each}" for each in sorted(MUST_FAIL - tried)]


def run(backend: Backend, n: int, seed: int, bug: str | None) -> Verdict:
    """`n` processes that go every way, each with words of its own."""
    chance = random.Random(seed)
    found: list[str] = []
    for number in watched(range(n)):
        found += one_run(backend, chance, number, bug)
        if bug and found:
            break
    return Verdict(failed=len(found), facts={"first": next(iter(found), "")[:300]})


def gate(backend: Backend) -> Gate:
    """The gate on one database."""
    return Gate(
        name=f"T25{backend.suffix}",
        promise=f"no content and no password is heard at DEBUG, on {backend.name}",
        full=len(DRESSES),
        least=1,
        run=partial(run, backend),
        bugs=BUGS,
    )


GATES = [gate(SQLITE), gate(POSTGRES)]
