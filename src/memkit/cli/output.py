"""What the commands print: plain words on a terminal, JSON for programs, progress on stderr."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from pydantic_core import to_jsonable_python
from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from rich.text import Text

from memkit.cli.words import safe

WIDE = 160
"""Columns where no terminal says how wide it is: rows stay on one line for grep."""


class Output:
    """Where a command's result goes. `as_json` prints one JSON document and nothing else."""

    def __init__(self, *, as_json: bool) -> None:
        self.as_json = as_json
        self.out = _console(stderr=False)
        self.err = _console(stderr=True)

    def json(self, value: object) -> None:
        """Print `value` as one JSON document. ASCII, so that no terminal can choke on it."""
        self.out.file.write(json.dumps(to_jsonable_python(value), indent=2) + "\n")

    def say(self, text: str, style: str = "") -> None:
        """Print a sentence, taken literally."""
        self.out.print(Text(text, style), soft_wrap=True)

    def note(self, text: str) -> None:
        """Print a sentence beside the result, on stderr."""
        self.err.print(Text(text, "dim"), soft_wrap=True)

    def rows(self, heads: tuple[str, ...], rows: Sequence[Sequence[object]]) -> None:
        """Print a table; the last column takes what room is left."""
        table = Table(box=None, pad_edge=False, header_style="dim")
        for head in heads[:-1]:
            table.add_column(head, no_wrap=True)
        table.add_column(heads[-1], overflow="fold")
        for row in rows:
            table.add_row(*(cell if isinstance(cell, Text) else safe(str(cell)) for cell in row))
        self.out.print(table)

    @contextmanager
    def progress(self, what: str, total: int) -> Iterator[Callable[[int], None]]:
        """A bar on a terminal's stderr, moved on by what is yielded; elsewhere nothing."""
        hidden = self.as_json or not self.err.is_terminal
        with Progress(console=self.err, transient=True, disable=hidden) as bar:
            task = bar.add_task(what, total=total)
            yield lambda step: bar.advance(task, step)

    @contextmanager
    def busy(self, what: str) -> Iterator[None]:
        """Show on a terminal that something takes its time."""
        if self.as_json or not self.err.is_terminal:
            yield
            return
        with self.err.status(Text(what)):
            yield


def _console(*, stderr: bool) -> Console:
    """A console that breaks rows only on a terminal."""
    console = Console(stderr=stderr, highlight=False, emoji=False, markup=False)
    return (
        console
        if console.is_terminal
        else Console(stderr=stderr, highlight=False, emoji=False, markup=False, width=WIDE)
    )
