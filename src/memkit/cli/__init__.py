"""The command line: `memkit --help`."""

from __future__ import annotations

import sys

USAGE = 2


def main() -> None:
    """Run the command line, or say which extra brings it."""
    try:
        from memkit.cli.app import run  # noqa: PLC0415  # the base install has no typer
    except ModuleNotFoundError as exc:
        needed = (exc.name or "").partition(".")[0]
        if needed not in {"typer", "rich"}:
            raise
        sys.stderr.write(
            f"memkit: the command line needs {needed}; "
            "install it with: pip install 'agent-memkit[cli]'\n"
        )
        sys.exit(USAGE)
    run()
