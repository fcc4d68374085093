"""How a command opens memory: the configured one, without a scheduler of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from memkit.app import upgrade
from memkit.cli.words import scope_options
from memkit.config import Config, ScopeRules, load
from memkit.config.secrets import mask_url
from memkit.contracts import Maintains
from memkit.errors import InvalidInput, ScopeError, StoreUnavailable
from memkit.memory import Memory
from memkit.models import Scope
from memkit.sync import SyncMemory, open_memory_sync

_ESCAPES = {ord(each): f"%{ord(each):02X}" for each in "%?#"}
"""What a path in a URL cannot have as it is."""


def configured(config: Path | None, store: str | None) -> Config:
    """What file, environment and options say together."""
    if store is not None and _is_path(store):
        raise InvalidInput(
            f"--store takes a URL; for this file write sqlite:///{store.translate(_ESCAPES)}"
        )
    return load(config, arguments={} if store is None else {"store": store})


def _is_path(store: str) -> bool:
    # With an @ it is hardly one, and what is no URL may hold a password.
    return "://" not in store and "@" not in store and not {"/", ".", "\\"}.isdisjoint(store)


@contextmanager
def opened(
    config: Path | None,
    store: str | None,
    *,
    whose: Scope | None = None,
    reads: bool = False,
    makes: bool = False,
) -> Iterator[SyncMemory]:
    """The memory that is configured, for the time of one command.

    `whose` is refused if it names nobody (with `reads`, nobody whose memory is read). Only a
    command that `makes` something makes a store that is not there: a name that is misspelt
    would else be an empty memory.
    """
    settings = configured(config, store)
    if whose is not None:
        _insist(settings.scope, whose, reads=reads)
    with unmade(settings) as memory:
        memory.within(None).call(_made, settings, makes=makes)
        yield memory


@contextmanager
def unmade(settings: Config) -> Iterator[SyncMemory]:
    """The memory that is configured, its store left as it is: older, or not there."""
    with open_memory_sync(settings, scheduler="manual", migrate=False) as memory:
        yield memory


async def _made(memory: Memory, settings: Config, *, makes: bool) -> None:
    store = memory.store
    if not isinstance(store, Maintains):
        return
    planned = await store.migrate(dry_run=True)
    if planned.applied and not planned.found and not makes:
        raise StoreUnavailable(
            f"there is no store at {place(settings)} yet; record something, or see --store"
        )
    if planned.applied:
        await upgrade(store, settings)


def place(settings: Config) -> str:
    """Where the configured store is, in words, without a password."""
    part = settings.store
    return mask_url(part.url or str(part.settings.get("path", part.use)))


def _insist(rules: ScopeRules, whose: Scope, *, reads: bool) -> None:
    """Say by which options somebody is named, where nobody is."""
    projections = (rules.read if reads else None) or (rules.write,)
    if rules.allow_unscoped or not all(whose.project(each).is_unset for each in projections):
        return
    whole = Scope("-", "-", "-")
    counting = {option for each in projections for option in scope_options(whole.project(each))}
    named = [option for option in scope_options(whole) if option in counting]
    raise ScopeError(f"whose memory? say so with {' or '.join(named)}")


def stated(user: str | None, agent: str | None, workflow: str | None) -> Scope | None:
    """The scope that the options state, or None where they state nothing."""
    scope = Scope(user, agent, workflow)
    return None if scope.is_unset else scope
