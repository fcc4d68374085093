"""Run gates: `python -m tests.gates NAME --n N --seed S [--bug NAME]`, or `all --share 0.1`."""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import random
import re
import sys
import time

import tests.gates
from tests.gates.verdict import Gate

TRIES = 5
"""So many seeds a bug may hide from before it counts as unnoticed."""


def discover() -> dict[str, Gate]:
    """Every gate by name: each module `loops` or `tNN_words` holds a list GATES."""
    modules = (
        importlib.import_module(f"tests.gates.{found.name}")
        for found in pkgutil.iter_modules(tests.gates.__path__)
        if re.fullmatch(r"loops|t\d\d_\w+", found.name)
    )
    return {gate.name: gate for module in modules for gate in module.GATES}


def run(gate: Gate, *, n: int, seed: int, bug: str | None) -> bool:
    """Run one gate, print its JSON line, and say whether it passed."""
    begun = time.monotonic()
    verdict = gate.run(n, seed, bug)
    seconds = time.monotonic() - begun
    print(verdict.line(gate.name, n=n, seed=seed, bug=bug, seconds=seconds), flush=True)  # noqa: T201  # the report
    return verdict.passed


def run_all(gates: dict[str, Gate], *, share: float, seed: int) -> bool:
    """Every gate at a share of its release figure, and every seeded bug; True if all is well."""
    fine = True
    for gate in gates.values():
        n = gate.part(share)
        fine &= run(gate, n=n, seed=seed, bug=None)
        for bug in gate.bugs:
            # At a small n a bug that needs a certain moment may be missed: other seeds look again.
            if all(run(gate, n=n, seed=seed + again, bug=bug) for again in range(TRIES)):
                print(f"{gate.name}: the bug {bug} went unnoticed", file=sys.stderr)  # noqa: T201  # the report
                fine = False
    return fine


def parser(gates: dict[str, Gate]) -> argparse.ArgumentParser:
    """The command line, which lists what there is."""
    listing = "\n".join(
        f"  {gate.name:8} {gate.promise} (n = {gate.full:,}"
        + (f"; bugs: {', '.join(gate.bugs)})" if gate.bugs else ")")
        for gate in gates.values()
    )
    made = argparse.ArgumentParser(
        prog="nox -s gates --",
        description="Try a promise under faults. Exits 1 on a miss.",
        epilog=f"gates:\n{listing}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("name", choices=[*gates, "all"], metavar="NAME")
    made.add_argument("--n", type=int, help="how often; the release figure by default")
    made.add_argument("--seed", type=int, default=random.randrange(2**31), help="to repeat a run")
    made.add_argument("--bug", help="put this bug in: the gate must then exit 1")
    made.add_argument("--share", type=float, default=1.0, help="with `all`: this part of each n")
    return made


def main() -> int:
    """Parse, run, and answer with the exit code."""
    gates = discover()
    arguments = parser(gates)
    chosen = arguments.parse_args()
    if chosen.name == "all":
        return 0 if run_all(gates, share=chosen.share, seed=chosen.seed) else 1
    gate = gates[chosen.name]
    if chosen.bug and chosen.bug not in gate.bugs:
        arguments.error(f"{gate.name} knows the bugs {', '.join(gate.bugs) or '(none)'}")
    n = chosen.n or gate.full
    return 0 if run(gate, n=n, seed=chosen.seed, bug=chosen.bug) else 1


if __name__ == "__main__":
    sys.exit(main())
