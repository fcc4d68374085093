"""What an operator looks at and sets right: checks, plugins, counts, jobs, schema."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Annotated

import typer

from memkit.cli import options
from memkit.cli.failure import ExitCode
from memkit.cli.opening import configured, opened, stated, unmade
from memkit.cli.output import Output
from memkit.cli.words import counted, date, scope_words
from memkit.errors import InvalidInput
from memkit.models import ConsolidationJob, Stats
from memkit.plugins import list_plugins
from memkit.sync import SyncMemory

_LEVELS = {"info": "dim", "warning": "yellow", "error": "bold red"}


def check(
    *,
    config: options.Config = None,
    store: options.Store = None,
    as_json: options.AsJson = False,
) -> None:
    """Show the configuration in effect, secrets masked, and what deserves attention.

    Exits with 1 if anything is an error.

    \b
    memkit check
    memkit check --config memkit.toml --json
    """
    output = Output(as_json=as_json)
    in_effect = configured(config, store)
    settings = in_effect.masked()
    if not as_json:
        for line in as_toml(settings):
            output.say(line, "dim")
    with unmade(in_effect) as memory, output.busy("checking"):
        findings = memory.check()
    if as_json:
        output.json({"config": settings, "findings": findings})
    else:
        for each in findings:
            output.say(f"{each.level}: {each.message} [{each.code}]", _LEVELS[each.level])
        output.note(f"{counted(len(findings), 'finding')}")
    if any(each.level == "error" for each in findings):
        raise typer.Exit(ExitCode.FAILED)


def as_toml(settings: Mapping[str, object]) -> Iterator[str]:
    """The settings as a file would have them; what is not set is left out."""
    tables = {name: value for name, value in settings.items() if isinstance(value, Mapping)}
    yield from (f"{name} = {_toml(settings[name])}" for name in settings if name not in tables)
    for name, table in tables.items():
        yield f"[{name}]"
        yield from (
            f"{_toml_key(key)} = {_toml(value)}"
            for key, value in table.items()
            if value not in (None, {})
        )


def _toml(value: object) -> str:
    match value:
        case Mapping():
            pairs = (f"{_toml_key(k)} = {_toml(v)}" for k, v in value.items() if v is not None)
            return f"{{ {', '.join(pairs)} }}"
        case list():
            return f"[{', '.join(map(_toml, value))}]"
        case _:
            return json.dumps(value)


def _toml_key(name: str) -> str:
    plain = name.isascii() and name.replace("-", "_").isidentifier()
    return name if plain else json.dumps(name)


def plugins(
    *,
    config: options.Config = None,
    as_json: options.AsJson = False,
) -> None:
    """List what is installed: stores, extractors, schedulers. Nothing that is not used is loaded.

    \b
    memkit plugins
    """
    output = Output(as_json=as_json)
    settings = configured(config, None)
    used = (settings.store, settings.extractor, settings.scheduler, settings.redactor)
    listed = list_plugins(named=[each.use for each in used], distributions=settings.plugins)
    if as_json:
        output.json(listed)
        return
    heads = ("name", "state", "distribution", "offers")
    output.rows(
        heads,
        [
            (
                each.name,
                each.state,
                f"{each.distribution} {each.version}",
                each.problem or ", ".join(each.offers),
            )
            for each in listed
        ],
    )


def stats(  # noqa: PLR0913  # one parameter an option
    *,
    user: options.User = None,
    agent: options.Agent = None,
    workflow: options.Workflow = None,
    config: options.Config = None,
    store: options.Store = None,
    as_json: options.AsJson = False,
) -> None:
    """Count what is kept, for one scope or for the whole store.

    \b
    memkit stats
    memkit stats --user alice --json
    """
    output = Output(as_json=as_json)
    scope = stated(user, agent, workflow)
    with opened(config, store, whose=scope) as memory:
        counts = memory.stats(scope)
    if as_json:
        output.json(counts)
    else:
        output.rows(("what", "how many"), _stats_rows(counts))


def _stats_rows(counts: Stats) -> list[tuple[str, str]]:
    oldest = date(counts.oldest_pending_at)
    return [
        ("items", f"{counts.items:,}"),
        *((f"- {kind}", f"{number:,}") for kind, number in sorted(counts.kinds.items())),
        ("- pinned", f"{counts.pinned:,}"),
        ("- superseded", f"{counts.superseded:,}"),
        ("- quarantined", f"{counts.quarantined:,}"),
        ("episodes", f"{counts.episodes:,}"),
        ("- pending", f"{counts.pending:,}" + (f" (oldest {oldest})" if oldest else "")),
        ("- dead", f"{counts.dead:,}"),
        ("messages", f"{counts.messages:,}"),
        ("scopes", f"{counts.scopes:,}"),
    ]


def jobs(  # noqa: PLR0913  # one parameter an option
    *,
    limit: Annotated[int, typer.Option("--limit", min=1, help="At most so many.")] = 100,
    after: Annotated[
        str | None, typer.Option(help="Go on behind this page.", metavar="MARK")
    ] = None,
    user: options.User = None,
    agent: options.Agent = None,
    workflow: options.Workflow = None,
    config: options.Config = None,
    store: options.Store = None,
    as_json: options.AsJson = False,
) -> None:
    """List consolidation jobs, oldest first.

    \b
    memkit jobs
    memkit jobs --user alice --limit 10 --json
    """
    output = Output(as_json=as_json)
    scope = stated(user, agent, workflow)
    with opened(config, store, whose=scope) as memory:
        page = memory.jobs(scope, after=after, limit=limit)
    if as_json:
        output.json({"jobs": page.rows, "after": page.after})
        return
    if not page.rows:
        output.note("no job yet" if after is None else "no job behind that mark")
        return
    output.rows(
        ("id", "status", "started", "items", "scope", "error"),
        [_job_row(each) for each in page.rows],
    )
    if page.after:
        output.note(f"there are more: --after {page.after}")


def _job_row(job: ConsolidationJob) -> tuple[str, ...]:
    changed = f"+{job.added} ~{job.updated} -{job.removed}"
    error = job.error or ""
    return job.id, job.status, date(job.started_at), changed, scope_words(job.scope), error


def retry(
    job: Annotated[
        list[str] | None, typer.Argument(help="The failed or dead jobs.", metavar="JOB...")
    ] = None,
    *,
    dead: Annotated[bool, typer.Option("--dead", help="Every job that has given up.")] = False,
    config: options.Config = None,
    store: options.Store = None,
    as_json: options.AsJson = False,
) -> None:
    """Make the episodes of failed jobs pending anew, with all attempts before them.

    \b
    memkit retry --dead
    memkit retry 01997f1c-6a5e-7c3e-9a57-1d2f3b4c5d6e
    """
    output = Output(as_json=as_json)
    if bool(job) == dead:
        raise InvalidInput("which jobs? name them (memkit jobs lists them), or say --dead")
    with opened(config, store) as memory:
        wanted = _dead_jobs(memory) if dead else list(job or ())
        episodes = memory.retry(wanted) if wanted else 0
    if as_json:
        output.json({"jobs": wanted, "episodes": episodes})
    else:
        output.say(f"{counted(episodes, 'episode')} pending anew")
    if job and not episodes:
        output.note("none of these jobs has failed episodes left")
        raise typer.Exit(ExitCode.FAILED)


def _dead_jobs(memory: SyncMemory) -> list[str]:
    found: list[str] = []
    page = memory.jobs()
    while True:
        found += [each.id for each in page.rows if each.status == "dead"]
        if page.after is None:
            return found
        page = memory.jobs(after=page.after)
