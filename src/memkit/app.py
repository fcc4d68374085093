"""The composition root: the one place where parts are chosen, opened and joined."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Literal, Protocol, TypeVar, runtime_checkable

from memkit.config import Config, Part, Source, load
from memkit.contracts import Clock, Every, Extractor, Job, Ledger, Maintains, Scheduler, Store
from memkit.errors import ConfigError, StoreReadOnly
from memkit.hookspecs import Event
from memkit.memory import Memory
from memkit.models import utcnow
from memkit.plugins import Plugins
from memkit.redact import Redactor
from memkit.registry import Named
from memkit.text import tokenize

logger = logging.getLogger(__name__)

Sort = TypeVar("Sort")
Written = str | Mapping[str, object] | Part
"""A part as a configuration has it: by name or URL, or as a table."""

_WRITTEN = (str, Mapping, Part)

NO_REDACTION = "none"
"""The redactor that is none."""


@asynccontextmanager
async def open_memory(  # noqa: PLR0913  # the parts, each of which may be handed in
    source: Source = None,
    /,
    *,
    store: Store | Written | None = None,
    extractor: Extractor | Written | None = None,
    scheduler: Scheduler | Written | None = None,
    redactor: Redactor | Written | None = None,
    clock: Clock | None = None,
    observe: Callable[[Event], None] | None = None,
    **settings: object,
) -> AsyncIterator[Memory]:
    """A memory, open on this event loop until the block ends.

    `source` is a path to a `memkit.toml`, a store's URL, a `Config`, or nothing: then the
    file is looked for in the working directory. `store`, `extractor`, `scheduler`, `redactor`
    and `settings` (any table of the configuration) go before file and environment.

    What is opened here is closed at the end, last opened first; a part that is handed in
    ready stays open. With a `clock` of your own you move time. `observe` is told of every
    stage, as observing plugins are.
    """
    parts = {"store": store, "extractor": extractor, "scheduler": scheduler, "redactor": redactor}
    written = {name: part for name, part in parts.items() if isinstance(part, _WRITTEN)}
    # Files are read elsewhere than on the caller's loop.
    config, plugins = await asyncio.to_thread(_read, source, {**written, **settings})
    for distribution in config.plugins:
        plugins.enable(distribution)
    async with AsyncExitStack() as stack:
        opening = _Opening(plugins, config, stack, clock or utcnow)
        memory = Memory(
            _checked(await opening.store(store), "store"),
            _checked(
                await opening.part(plugins.registry.extractors, config.extractor, extractor),
                "extractor",
            ),
            _checked(
                await opening.part(plugins.registry.schedulers, config.scheduler, scheduler),
                "scheduler",
            ),
            config=config,
            clock=clock,
            redactor=await opening.redactor(redactor),
            observe=plugins.observer(observe),
        )
        # First to go, so that nothing new begins while the scheduler drains.
        stack.callback(memory.close)
        await _start(memory)
        yield memory


def _read(source: Source, arguments: Mapping[str, object]) -> tuple[Config, Plugins]:
    """The configuration, known to be usable, and what is installed."""
    config = load(source, arguments)
    tokenize("", config.language)
    return config, Plugins()


@dataclass(frozen=True, slots=True)
class _Opening:
    """Opens parts as configured, and has the stack close them; a ready part is left alone."""

    plugins: Plugins
    config: Config
    stack: AsyncExitStack
    clock: Clock

    async def part(self, sort: Named[Sort], named: Part, ready: Sort | Written | None) -> Sort:
        if ready is not None and not isinstance(ready, _WRITTEN):
            return ready
        opened = await self.plugins.factory(sort, named.use)(named.options(self.clock))
        if isinstance(opened, _Closes):
            self.stack.push_async_callback(opened.aclose)
        return opened

    async def store(self, ready: Store | Written | None) -> Store:
        store = await self.part(self.plugins.registry.stores, self.config.store, ready)
        if store is not ready and isinstance(store, Maintains):
            await upgrade(store, self.config)
        return store

    async def redactor(self, ready: Redactor | Written | None) -> Redactor | None:
        named = self.config.redactor
        if named.use == NO_REDACTION and (ready is None or isinstance(ready, _WRITTEN)):
            return None
        return await self.part(self.plugins.registry.redactors, named, ready)


async def upgrade(store: Maintains, config: Config) -> None:
    """Bring the schema up to date, unless configuration or store leave that to operators."""
    if config.migrate and getattr(store, "auto_migrate", True):
        try:
            await store.migrate()
        except StoreReadOnly:
            # What may only be read is read as it is, if it is there.
            if not (await store.migrate(dry_run=True)).found:
                raise


_NEEDED = {  # the least of each contract; a wrapper may answer for the rest at run time
    "store": ("capabilities",),
    "extractor": ("fingerprint", "extract"),
    "scheduler": ("start", "submit", "aclose"),
}


def _checked(part: Sort, contract: Literal["store", "extractor", "scheduler"]) -> Sort:
    """The part, or why it is none: better said now than where it is first used."""
    missing = [name for name in _NEEDED[contract] if not hasattr(part, name)]
    if missing:
        raise ConfigError(
            f"{type(part).__name__} is no {contract}: it has no {' and no '.join(missing)} "
            "(see memkit.contracts; an async function that asks a model is given as "
            'extractor={"use": "llm", "model": function})'
        )
    return part


@runtime_checkable
class _Closes(Protocol):
    async def aclose(self) -> None: ...


async def _start(memory: Memory) -> None:
    """Let the scheduler begin, with what an earlier process may have left undone."""
    rules = memory.config.scheduler
    recurring: list[Every] = []
    consolidation = Job(stage="consolidate")
    if rules.consolidate_every is not None and isinstance(memory.store, Ledger):
        recurring.append(Every(job=consolidation, interval=rules.consolidate_every))
    if rules.decay_at_utc_hour is not None:
        recurring.append(Every(job=Job(stage="decay"), utc_hour=rules.decay_at_utc_hour))
    await memory.scheduler.start(memory.run, recurring=recurring)
    if not any(each.job == consolidation for each in recurring):
        return
    try:
        await memory.scheduler.submit(consolidation)
    except Exception as exc:  # noqa: BLE001  # an agent talks without it; `check` says what piles up
        logger.warning(
            "the scheduler did not take the first %s job: %s",
            *(consolidation.stage, type(exc).__name__),
        )
