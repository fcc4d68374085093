"""The commands put together, and how they fail."""

from __future__ import annotations

import sys
from importlib.metadata import version
from typing import Annotated

import typer

from memkit.cli import demo, emulator, items, operate, schema, stages
from memkit.cli.failure import reported

_TRY = "Try it"
_STAGES = "The four stages"
_KEPT = "What is kept"
_OPERATE = "Operate"


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"agent-memkit {version('agent-memkit')}")
        raise typer.Exit


def memkit(
    *,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Long-term memory for AI agents: inject, record, consolidate, decay.

    The store is the one in memkit.toml, in MEMKIT_STORE, or given with --store; without any,
    it is memory.db in this folder.

    \b
    memkit demo
    memkit record --user alice --session monday --text "I moved to Oslo in May."
    memkit consolidate
    memkit search --user alice "where does she live?"

    Exit codes: 0 done, 1 failed, 2 misused, 3 done in part, 4 the store is unavailable.
    """


def build() -> typer.Typer:
    """The whole command line."""
    app = typer.Typer(
        no_args_is_help=True,
        rich_markup_mode="rich",
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(memkit)
    panels = {
        _TRY: (demo.demo,),
        _STAGES: (stages.inject, stages.record, stages.consolidate, stages.decay),
        _KEPT: (items.search, items.forget, operate.stats),
        _OPERATE: (
            *(operate.check, operate.plugins, operate.jobs, operate.retry, schema.migrate),
            emulator.agentcore_emulator,
        ),
    }
    for panel, commands in panels.items():
        for command in commands:
            app.command(rich_help_panel=panel)(reported(command))
    return app


def run() -> None:
    """Run the command line of this process."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a letter must not stop a command.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    build()(prog_name="memkit")
