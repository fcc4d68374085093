"""Options that several commands share, spelled once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Config = Annotated[
    Path | None,
    typer.Option(
        "--config", help="The configuration, memkit.toml or pyproject.toml.", metavar="FILE"
    ),
]
Store = Annotated[
    str | None,
    typer.Option("--store", help="The store, instead of the configured one.", metavar="URL"),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]

WHOSE = "Whose memory"
User = Annotated[
    str | None, typer.Option("--user", help="The user.", metavar="ID", rich_help_panel=WHOSE)
]
Agent = Annotated[
    str | None, typer.Option("--agent", help="The agent.", metavar="ID", rich_help_panel=WHOSE)
]
Workflow = Annotated[
    str | None,
    typer.Option("--workflow", help="The workflow.", metavar="ID", rich_help_panel=WHOSE),
]
Kinds = Annotated[
    list[str] | None,
    typer.Option("--kind", help="Only items of this kind; may be repeated.", metavar="KIND"),
]
Limit = Annotated[int | None, typer.Option("--limit", min=1, help="At most so many.")]
