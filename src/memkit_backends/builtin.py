"""What memkit comes with, offered the way every plugin offers its parts.

One module behind several entry points: it is light, for each factory imports what it opens
when it is called.
"""

from __future__ import annotations

from memkit.contracts import Store
from memkit.errors import ConfigError
from memkit.hookspecs import hookimpl
from memkit.redact import PatternRedactor, Redactor
from memkit.registry import Options, Registry
from memkit_backends.extractors import open_llm, open_verbatim
from memkit_backends.schedulers import open_background, open_manual


@hookimpl
def memkit_register(registry: Registry) -> None:
    """Offer them all."""
    registry.stores.add("memory", open_in_memory)
    registry.stores.add("sqlite", open_sqlite)
    registry.stores.add("postgresql", open_postgres)
    registry.stores.add("postgres", open_postgres)
    registry.extractors.add("verbatim", open_verbatim)
    registry.extractors.add("llm", open_llm)
    registry.schedulers.add("manual", open_manual)
    registry.schedulers.add("background", open_background)
    registry.redactors.add("patterns", open_patterns)


async def open_in_memory(options: Options) -> Store:
    """The in-memory store: `memory://`. Takes no settings."""
    from memkit.inmemory import InMemoryStore  # noqa: PLC0415  # only where it is asked for

    options.with_query().expect()
    return InMemoryStore()


async def open_sqlite(options: Options) -> Store:
    """One file: `sqlite:///memory.db`, or `path` with the other settings of `open_store`.

    Settings may stand in the URL's query too; those beside it win.
    """
    from memkit_backends.sqlite import open_store  # noqa: PLC0415  # only where it is asked for
    from memkit_backends.sqlite.options import SETTINGS  # noqa: PLC0415  # likewise

    options.expect("path", *SETTINGS)
    options = options.with_query(*SETTINGS)
    synchronous = options.get("synchronous", str, "full")
    if synchronous not in {"full", "normal"}:
        raise ConfigError(f"sqlite: synchronous is full or normal, not {synchronous!r}")
    # Not on opening: `open_memory` does so then, unless it was told not to.
    store = await open_store(
        options.url or options.get("path", str, ""),
        synchronous="normal" if synchronous == "normal" else "full",
        busy_timeout=options.get("busy_timeout", float, 30.0),
        read_only=options.get("read_only", bool, False),
        readers=options.get("readers", int, 2),
        auto_migrate=False,
    )
    store.auto_migrate = options.get("auto_migrate", bool, True)
    return store


async def open_postgres(options: Options) -> Store:
    """A database: `postgresql://user@host/database`, with the settings of `open_store`.

    Settings may stand in the URL's query too; those beside it win.
    """
    from memkit_backends.postgres import open_store  # noqa: PLC0415  # only where it is asked for
    from memkit_backends.postgres.location import LIBPQ, SETTINGS  # noqa: PLC0415  # likewise

    options.expect("pool", *SETTINGS)
    options = options.with_query(*SETTINGS, driver=LIBPQ)
    pooler = options.get("pooler", str, "")
    if pooler not in {"", "transaction"}:
        raise ConfigError(f"postgres: pooler is transaction or left out, not {pooler!r}")
    # Not on opening: `open_memory` does so then, unless it was told not to.
    store = await open_store(
        options.url,
        pool=options.get("pool", object, None),  # type: ignore[arg-type]  # asyncpg ships no types
        schema=options.get("schema", str, "memkit"),
        min_size=options.get("min_size", int, 0),
        max_size=options.get("max_size", int, 10),
        deadline=options.get("deadline", float, 30.0),
        acquire_timeout=options.get("acquire_timeout", float, 10.0),
        pooler="transaction" if pooler else None,
        auto_migrate=False,
        application_name=options.get("application_name", str, "memkit"),
    )
    store.auto_migrate = options.get("auto_migrate", bool, True)
    return store


async def open_patterns(options: Options) -> Redactor:
    """The redactor that knows secrets, card numbers, e-mail addresses and telephone numbers."""
    options.expect()
    return PatternRedactor()
