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
        if sys.argv[1:2] == ["agentcore-emulator"]:
            sys.exit(_emulate(sys.argv[2:]))
        sys.stderr.write(
            f"memkit: the command line needs {needed}; "
            "install it with: pip install 'agent-memkit[cli]'\n"
        )
        sys.exit(USAGE)
    run()


def _emulate(arguments: list[str]) -> int:
    """Serve the emulator, which reads its few options itself: its own extra is all it needs."""
    try:
        from memkit.testing.agentcore.command import main as serve  # noqa: PLC0415  # an extra
    except ModuleNotFoundError as exc:
        if (exc.name or "").partition(".")[0] not in {"boto3", "botocore"}:
            raise
        sys.stderr.write(
            "memkit: the emulator needs the AWS SDK; "
            "install it with: pip install 'agent-memkit[agentcore]'\n"
        )
        return USAGE
    return serve(arguments)
