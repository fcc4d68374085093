"""The store's schema, brought up to date by hand where `migrate = false` is configured."""

from __future__ import annotations

from typing import Annotated, Protocol, runtime_checkable

import typer

from memkit.cli import options
from memkit.cli.opening import configured, place, unmade
from memkit.cli.output import Output
from memkit.contracts import Maintains, Store
from memkit.errors import CapabilityError
from memkit.memory import Memory
from memkit.models import Migrated


@runtime_checkable
class Scripted(Protocol):
    """A store whose schema others may make: a database with roles and people in charge."""

    def ddl(self) -> str:
        """All statements for a new schema."""
        ...


def migrate(  # one for each option
    *,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be done; change nothing.")
    ] = False,
    sql: Annotated[
        bool, typer.Option("--sql", help="Print the statements for a new schema; run none.")
    ] = False,
    config: options.Config = None,
    store: options.Store = None,
    as_json: options.AsJson = False,
) -> None:
    """Bring the store's schema up to date, under a lock, all of it or nothing.

    Where `migrate` is true, as it is unless configured, an application does so when it opens.

    \b
    memkit migrate --dry-run
    memkit migrate --store postgresql://db/agents --sql > schema.sql
    memkit migrate --store sqlite:///memory.db
    """
    output = Output(as_json=as_json)
    settings = configured(config, store)
    if sql:
        with unmade(settings) as memory:
            script = _script(memory.store)
        output.json({"sql": script}) if as_json else output.say(script)
        return
    with unmade(settings) as memory, output.busy("migrating"):
        migrated = memory.within(None).call(_migrated, dry_run=dry_run)
    if as_json:
        output.json({**migrated.model_dump(), "dry_run": dry_run})
    elif not migrated.applied:
        output.say(f"{place(settings)}: the schema is up to date ({migrated.now})")
    else:
        verb = "would be applied" if dry_run else "applied"
        names = ", ".join(migrated.applied)
        steps = f"schema {migrated.found} to {migrated.now}"
        output.say(f"{place(settings)}: {steps}: {names} {verb}")


def _script(store: Store) -> str:
    if not isinstance(store, Scripted):
        raise CapabilityError("its schema as SQL", store=store.capabilities.name)
    return store.ddl()


async def _migrated(memory: Memory, *, dry_run: bool) -> Migrated:
    if not isinstance(memory.store, Maintains):
        raise CapabilityError("a schema to migrate", store=memory.store.capabilities.name)
    return await memory.store.migrate(dry_run=dry_run)
