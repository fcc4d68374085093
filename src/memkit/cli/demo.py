"""The demo: memory's whole life in eight steps, with a result for each."""

from __future__ import annotations

import tempfile
from importlib.metadata import entry_points
from pathlib import Path
from typing import Annotated

import typer

from memkit.cli import options
from memkit.cli.conversation import read_conversations
from memkit.cli.output import Output
from memkit.cli.screen import Screen
from memkit.cli.story import Setting, Story
from memkit.errors import PluginError

GROUP = "memkit.commands"
"""Entry points of commands that stand on an adapter, which core may not import."""


def demo(
    *,
    conversation: Annotated[
        str | None,
        typer.Option(
            help="Play this conversation: JSON lines, plain or gzipped. Default: an example.",
            metavar="FILE[#ID]",
        ),
    ] = None,
    store: Annotated[
        str | None,
        typer.Option(
            help="The store; it must be empty. Default: SQLite in a temporary folder.",
            metavar="URL",
        ),
    ] = None,
    extractor: Annotated[
        str | None, typer.Option(help="The extractor. Default: verbatim.", metavar="NAME")
    ] = None,
    as_json: options.AsJson = False,
) -> None:
    """Tell the story of a memory in eight steps. Needs no key, no server, no account.

    A LangGraph agent talks, its memory is consolidated, recalled, verified, aged and opened
    again. Exits with 1 at the first step that does not come out as it must.

    \b
    memkit demo
    memkit demo --conversation chats.jsonl.gz#chat-7
    memkit demo --store postgresql://localhost/demo --json
    """
    output = Output(as_json=as_json)
    conversations = read_conversations(conversation)
    story = told_by()
    with (
        tempfile.TemporaryDirectory(prefix="memkit-demo-", ignore_cleanup_errors=True) as folder,
        Screen(output) as screen,
    ):
        setting = Setting(
            conversations=conversations, folder=Path(folder), store=store, extractor=extractor
        )
        screen.open(setting)
        for event in story(setting):
            screen.show(event)
        screen.close()


def told_by() -> Story:
    """The story, from the adapter that tells it; `PluginError` says which extra brings that."""
    found = entry_points(group=GROUP, name="demo")
    try:
        entry = next(iter(found))
        story: Story = entry.load()
    except StopIteration:
        raise PluginError("the demo is missing from this installation; install it anew") from None
    except ImportError as exc:
        raise PluginError(
            "the demo plays in LangGraph; install it with: pip install 'agent-memkit[demo]'"
        ) from exc
    return story
