"""The four stages: inject, record, consolidate, decay."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated

import typer

from memkit.cli import options
from memkit.cli.failure import ExitCode
from memkit.cli.opening import opened, stated
from memkit.cli.output import Output
from memkit.cli.transcript import read_transcript
from memkit.cli.words import counted, rounded
from memkit.errors import InvalidInput
from memkit.memory import Recorded
from memkit.models import ConsolidationJob, Message, Purged, Scope

BATCH = 500
"""Messages per episode where a long file is recorded."""

Share = Annotated[float | None, typer.Option(min=0, max=1, help="Leave out what has less.")]


def inject(  # noqa: PLR0913  # one parameter an option
    query: Annotated[
        str | None, typer.Argument(help="What to recall. Without it: what matters most.")
    ] = None,
    *,
    limit: options.Limit = None,
    min_importance: Share = None,
    min_score: Share = None,
    token_budget: Annotated[
        int | None, typer.Option(min=1, help="At most so many tokens in all.")
    ] = None,
    kind: options.Kinds = None,
    user: options.User = None,
    agent: options.Agent = None,
    workflow: options.Workflow = None,
    config: options.Config = None,
    store: options.Store = None,
    as_json: options.AsJson = False,
) -> None:
    """Print the block that an agent would be given before it speaks.

    \b
    memkit inject --user alice "which framework does she use?"
    memkit inject --user alice --limit 5 --json
    """
    output = Output(as_json=as_json)
    scope = Scope(user, agent, workflow)
    with opened(config, store, whose=scope, reads=True) as memory:
        found = memory.inject(
            scope,
            query=query,
            limit=limit,
            min_importance=min_importance,
            min_score=min_score,
            token_budget=token_budget,
            kinds=kind,
        )
    if as_json:
        items = rounded(found.items)
        output.json({"items": items, "degraded": found.degraded, "rendered": found.render()})
    elif found.items:
        output.say(found.render())
    else:
        output.note("nothing is remembered that would help here")


def record(  # noqa: PLR0913  # one parameter an option
    file: Annotated[
        typer.FileText | None,
        typer.Argument(help="Messages: a JSON array or JSON lines. A dash is standard input."),
    ] = None,
    *,
    session: Annotated[str, typer.Option("--session", help="The session.", metavar="ID")],
    text: Annotated[
        str | None, typer.Option(help="One message of the user, instead of a file.")
    ] = None,
    history: Annotated[
        bool, typer.Option("--history", help="It is the whole session: store what is new.")
    ] = False,
    revise: Annotated[
        bool, typer.Option("--revise", help="A known key with other content is a revision.")
    ] = False,
    user: options.User = None,
    agent: options.Agent = None,
    workflow: options.Workflow = None,
    config: options.Config = None,
    store: options.Store = None,
    as_json: options.AsJson = False,
) -> None:
    """Store messages of a session. Those with a key are stored once, however often they come.

    \b
    memkit record --user alice --session monday --text "I moved to Oslo in May."
    memkit record --user alice --session monday chat.jsonl --history
    echo '{"role": "user", "content": "hi"}' | memkit record --user alice --session s1 -
    """
    output = Output(as_json=as_json)
    messages = _given(file, text)
    done: list[Recorded] = []
    scope = Scope(user, agent, workflow)
    with (
        opened(config, store, whose=scope, makes=True) as memory,
        output.progress("recording", len(messages)) as advance,
    ):
        for batch in [messages] if history else _batches(messages):
            done.append(
                memory.record(scope, batch, session_id=session, history=history, revise=revise)
            )
            advance(len(batch))
    new = sum(each.new for each in done)
    skipped = sum(each.skipped for each in done)
    revised = sum(each.revised for each in done)
    if as_json:
        episodes = [each.episode_id for each in done if each.episode_id is not None]
        flags = sorted({flag for each in done for flag in each.flags})
        output.json(
            {
                "new": new,
                "skipped": skipped,
                "revised": revised,
                "head": done[-1].head if done else 0,
                "episodes": episodes,
                "flags": flags,
            }
        )
    else:
        output.say(f"{counted(new, 'new message')}, {skipped} skipped, {revised} revised")


def _given(file: typer.FileText | None, text: str | None) -> list[Message]:
    if (file is None) == (text is None):
        raise InvalidInput(
            "what is to be recorded? give a file, or - for standard input, or --text"
        )
    if file is None:
        return [Message.model_validate({"role": "user", "content": text})]
    return read_transcript(file, file.name)


def _batches(messages: Sequence[Message]) -> Iterator[Sequence[Message]]:
    for start in range(0, len(messages), BATCH):
        yield messages[start : start + BATCH]


def consolidate(  # noqa: PLR0913  # one parameter an option
    *,
    user: options.User = None,
    agent: options.Agent = None,
    workflow: options.Workflow = None,
    config: options.Config = None,
    store: options.Store = None,
    as_json: options.AsJson = False,
) -> None:
    """Turn what was recorded into memory items, for one scope or for all that have some.

    Exits with 3 if some of the work failed; what failed stays pending and is tried again.

    \b
    memkit consolidate
    memkit consolidate --user alice --json
    """
    output = Output(as_json=as_json)
    scope = stated(user, agent, workflow)
    with opened(config, store, whose=scope) as memory, output.busy("consolidating"):
        jobs = memory.consolidate(scope)
    if as_json:
        output.json(jobs)
    else:
        output.say(_told(jobs))
    for each in _failed(jobs):
        output.note(f"job {each.id} {each.status}: {each.error}")
    raise typer.Exit(verdict(jobs))


def verdict(jobs: Sequence[ConsolidationJob]) -> ExitCode:
    """How a consolidation ended: well, in part, or not at all."""
    failed = len(_failed(jobs))
    if not failed:
        return ExitCode.OK
    return ExitCode.FAILED if failed == len(jobs) else ExitCode.PARTIAL


def _failed(jobs: Sequence[ConsolidationJob]) -> list[ConsolidationJob]:
    return [each for each in jobs if each.status in {"failed", "dead"}]


def _told(jobs: Sequence[ConsolidationJob]) -> str:
    if not jobs:
        return "nothing is pending"
    return (
        f"{counted(len(jobs), 'job')}, {len(_failed(jobs))} failed; "
        f"{counted(sum(each.added for each in jobs), 'item')} added, "
        f"{sum(each.updated for each in jobs)} updated, "
        f"{sum(each.removed for each in jobs)} removed, "
        f"{sum(each.reinforced for each in jobs)} reinforced"
    )


def decay(
    *,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would go; delete nothing.")
    ] = False,
    rebuild: Annotated[
        bool,
        typer.Option("--rebuild", help="First work out every date anew, after a changed policy."),
    ] = False,
    config: options.Config = None,
    store: options.Store = None,
    as_json: options.AsJson = False,
) -> None:
    """Delete what is past its date. Running it twice, or never, changes no answer.

    \b
    memkit decay --dry-run
    memkit decay --rebuild
    """
    output = Output(as_json=as_json)
    if dry_run and rebuild:
        raise InvalidInput("--rebuild writes dates, --dry-run writes nothing: give one of them")
    with opened(config, store) as memory, output.busy("looking for what has faded"):
        rebuilt = memory.rebuild() if rebuild else None
        purged = memory.decay(dry_run=dry_run)
    if as_json:
        output.json({**purged.model_dump(), "dry_run": dry_run, "rebuilt": rebuilt})
    else:
        _tell_decay(output, purged, dry_run=dry_run, rebuilt=rebuilt)


def _tell_decay(output: Output, purged: Purged, *, dry_run: bool, rebuilt: int | None) -> None:
    if rebuilt is not None:
        output.say(f"{counted(rebuilt, 'item')} got new dates")
    verb = "would be deleted" if dry_run else "deleted"
    items, episodes = len(purged.item_ids), len(purged.episode_ids)
    output.say(f"{counted(items, 'item')} and {counted(episodes, 'episode')} {verb}")
    if purged.unread:
        output.note(
            f"{counted(purged.unread, 'episode')} expired before they were consolidated; "
            "consolidate more often, or raise decay.episode_ttl"
        )
    for item_id in purged.item_ids if dry_run else ():
        output.say(item_id, "dim")
