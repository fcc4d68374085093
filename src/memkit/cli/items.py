"""What is remembered: searched, and forgotten."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from memkit.cli import options
from memkit.cli.opening import opened
from memkit.cli.output import Output
from memkit.cli.words import counted, rounded, scope_words
from memkit.errors import InvalidInput
from memkit.models import Receipt, Scope


def search(  # noqa: PLR0913  # one parameter an option
    query: Annotated[str, typer.Argument(help="What to look for.")],
    *,
    limit: Annotated[int, typer.Option("--limit", min=1, help="At most so many.")] = 10,
    min_score: Annotated[
        float | None, typer.Option(min=0, max=1, help="Leave out what answers less.")
    ] = None,
    kind: options.Kinds = None,
    user: options.User = None,
    agent: options.Agent = None,
    workflow: options.Workflow = None,
    config: options.Config = None,
    store: options.Store = None,
    as_json: options.AsJson = False,
) -> None:
    """List the items that answer a query, best first.

    \b
    memkit search --user alice "python frameworks"
    memkit search --user alice --kind preference --limit 3 coffee --json
    """
    output = Output(as_json=as_json)
    scope = Scope(user, agent, workflow)
    with opened(config, store, whose=scope, reads=True) as memory:
        hits = memory.search(scope, query, limit=limit, min_score=min_score, kinds=kind)
    if as_json:
        output.json(rounded(hits))
    elif hits:
        heads = ("score", "importance", "kind", "id", "content")
        output.rows(
            heads,
            [(f"{h.score:.2f}", f"{h.importance:.2f}", h.kind, h.id, h.content) for h in hits],
        )
    else:
        output.note("nothing found")


def forget(  # noqa: PLR0913  # one parameter an option
    *,
    item: Annotated[
        list[str] | None, typer.Option("--item", help="This item; may be repeated.", metavar="ID")
    ] = None,
    session: Annotated[
        str | None,
        typer.Option("--session", help="This session, and what came of it.", metavar="ID"),
    ] = None,
    message: Annotated[
        list[str] | None,
        typer.Option(
            "--message", help="This message of --session, by key; may be repeated.", metavar="KEY"
        ),
    ] = None,
    episode: Annotated[
        list[str] | None,
        typer.Option("--episode", help="This episode; may be repeated.", metavar="ID"),
    ] = None,
    replacement: Annotated[
        str | None, typer.Option(help="Keep the messages, with this text instead of theirs.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    user: options.User = None,
    agent: options.Agent = None,
    workflow: options.Workflow = None,
    config: options.Config = None,
    store: options.Store = None,
    as_json: options.AsJson = False,
) -> None:
    """Forget for good: a whole scope, or items, a session, messages, episodes of it.

    What came from them alone goes too, and nothing in flight brings it back.

    \b
    memkit forget --user alice
    memkit forget --user alice --session monday --yes
    memkit forget --user alice --session monday --message m7 --replacement "[removed]"
    """
    output = Output(as_json=as_json)
    scope = Scope(user, agent, workflow)
    named = [each for each in (item, session, episode) if each]
    if len(named) > 1 or (message and not session):
        raise InvalidInput(
            "say one of --item, --session (with or without --message) and --episode; none of them "
            "is the whole scope"
        )
    with opened(config, store, whose=scope) as memory:
        if not yes:
            _confirm(scope, narrowed=bool(named), as_json=as_json)
        with output.busy("forgetting"):
            receipt = memory.forget(
                scope,
                items=item,
                session_id=session,
                message_keys=message,
                episodes=episode,
                replacement=replacement,
            )
    if as_json:
        output.json(receipt)
    else:
        output.say(_told(receipt))


def _confirm(scope: Scope, *, narrowed: bool, as_json: bool) -> None:
    """Ask on a terminal; where nobody can answer, require `--yes`."""
    if as_json or not sys.stdin.isatty():
        raise InvalidInput("forgetting is final; add --yes where nobody can be asked")
    what = "the named parts of" if narrowed else "everything of"
    typer.confirm(f"Forget {what} {scope_words(scope)} for good?", abort=True, err=True)


def _told(receipt: Receipt) -> str:
    redacted = f", {receipt.redacted} redacted" if receipt.redacted else ""
    return (
        f"forgotten: {counted(receipt.items, 'item')}, {counted(receipt.episodes, 'episode')}, "
        f"{counted(receipt.messages, 'message')}{redacted}"
    )
