"""Finding plugins without importing them, and asking those that are named for their parts."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib.metadata import EntryPoint, entry_points
from typing import Literal, TypeVar

import pluggy

from memkit import hookspecs
from memkit.errors import MemkitError, PluginError
from memkit.hookspecs import GROUP, Event
from memkit.registry import Factory, Named, Registry, nearest

logger = logging.getLogger(__name__)

BUILT_IN = "agent-memkit"
"""The distribution whose names nobody may take."""

Part = TypeVar("Part")
Observer = Callable[[Event], None]


class Plugins:
    """The plugins of one memory. What is not named is listed and never imported."""

    def __init__(self, installed: Iterable[EntryPoint] | None = None) -> None:
        self._installed = tuple(entry_points(group=GROUP) if installed is None else installed)
        self._manager = pluggy.PluginManager(GROUP)
        self._manager.add_hookspecs(hookspecs)
        self.registry = Registry()

    def factory(self, sort: Named[Part], name: str) -> Factory[Part]:
        """The factory called `name`, its plugin imported now if nobody has yet."""
        if name not in sort:
            self._load(self._named(name))
        return sort[name]

    def enable(self, distribution: str) -> None:
        """Import everything that `distribution` declares."""
        wanted = canonical(distribution)
        entries = [each for each in self._installed if canonical(distribution_of(each)) == wanted]
        if not entries:
            advice = nearest(distribution, {distribution_of(each) for each in self._installed})
            raise PluginError(f"no plugin distribution {distribution!r} is installed; {advice}")
        for entry in entries:
            self._load(entry)

    def observer(self, host: Observer | None = None) -> Observer | None:
        """What tells `host` and every observing plugin of an event; None where nobody looks."""
        hooks = self._manager.hook.memkit_observe.get_hookimpls()
        watching = [(each.plugin_name, partial(_call, each)) for each in hooks]
        if host is not None:
            watching.append(("host", partial(_tell, host)))

        def observe(event: Event) -> None:
            for name, tell in watching:
                try:
                    tell(event=event)
                except Exception as exc:  # noqa: BLE001  # a watcher never breaks what it watches
                    logger.warning("%s failed to observe: %s", name, type(exc).__name__)

        return observe if watching else None

    def _named(self, name: str) -> EntryPoint:
        entries = [each for each in self._installed if each.name == name]
        ours = [each for each in entries if is_built_in(each)]
        if ours:
            return ours[0]
        if not entries:
            advice = nearest(name, {each.name for each in self._installed})
            raise PluginError(f"nothing installed is called {name!r}; {advice}")
        if len(entries) > 1:
            owners = " and ".join(sorted(distribution_of(each) for each in entries))
            raise PluginError(f"{name!r} is offered by {owners}; uninstall all but one")
        return entries[0]

    def _load(self, entry: EntryPoint) -> None:
        self._refuse_shadow(entry, {entry.name})
        plugin = _imported(entry)
        if self._manager.is_registered(plugin):
            return
        try:
            self._manager.register(plugin, name=f"{distribution_of(entry)}:{entry.name}")
            self._manager.check_pending()
        except (pluggy.PluginValidationError, ValueError) as exc:
            raise PluginError(f"the plugin {described(entry)} is not valid: {exc}") from exc
        self._register(entry, plugin)

    def _register(self, entry: EntryPoint, plugin: object) -> None:
        before = set(self.registry.offers())
        for each in self._manager.hook.memkit_register.get_hookimpls():
            if each.plugin is plugin:
                try:
                    _call(each, registry=self.registry)
                except MemkitError:
                    raise
                except Exception as exc:
                    raise PluginError(f"the plugin {described(entry)} failed: {exc}") from exc
        offered = set(self.registry.offers()) - before
        self._refuse_shadow(entry, {offer.partition(":")[2] for offer in offered})

    def _refuse_shadow(self, entry: EntryPoint, names: set[str]) -> None:
        if is_built_in(entry):
            return
        for name in sorted(names & {each.name for each in self._installed if is_built_in(each)}):
            raise PluginError(f"the plugin {described(entry)} may not offer {name!r}: built in")


def _imported(entry: EntryPoint) -> object:
    try:
        plugin: object = entry.load()
    except (Exception, SystemExit) as exc:
        reason = f"{type(exc).__name__}: {exc}"
        raise PluginError(f"the plugin {described(entry)} cannot be imported: {reason}") from exc
    return plugin


def _call(implementation: pluggy.HookImpl, **given: object) -> None:
    # An implementation may take fewer arguments than the specification offers.
    implementation.function(*(given[name] for name in implementation.argnames))


def _tell(host: Observer, *, event: Event) -> None:
    host(event)


def is_built_in(entry: EntryPoint) -> bool:
    """Whether it came with memkit."""
    return canonical(distribution_of(entry)) == BUILT_IN


def canonical(distribution: str) -> str:
    """The name under which an index would know it (PEP 503)."""
    return re.sub(r"[-_.]+", "-", distribution).lower()


def distribution_of(entry: EntryPoint) -> str:
    """The distribution that declares it."""
    return entry.dist.name if entry.dist else "unknown"


def described(entry: EntryPoint) -> str:
    """Name, distribution and version, for messages."""
    version = entry.dist.version if entry.dist else "?"
    return f"{entry.name!r} ({distribution_of(entry)} {version})"


PluginState = Literal["built in", "enabled", "installed", "shadowed", "broken"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """One plugin as `memkit plugins` shows it.

    `offers` (as `sort:name`) is known of what may be imported only: what is built in or
    enabled. `problem` says why one is broken or shadowed.
    """

    name: str
    distribution: str
    version: str
    state: PluginState
    offers: tuple[str, ...] = ()
    problem: str | None = None


def list_plugins(
    *,
    named: Iterable[str] = (),
    distributions: Iterable[str] = (),
    installed: Iterable[EntryPoint] | None = None,
) -> list[Listed]:
    """Every plugin on the path, by name.

    `named` are the names that the configuration uses, `distributions` those it enables;
    nothing else is imported, unless it came with memkit.
    """
    entries = tuple(entry_points(group=GROUP) if installed is None else installed)
    enabled = {canonical(each) for each in distributions}
    wanted = set(named)
    return sorted(_listed(entries, wanted, enabled), key=lambda row: (row.name, row.distribution))


def _listed(
    entries: tuple[EntryPoint, ...], wanted: set[str], enabled: set[str]
) -> Iterator[Listed]:
    built_in = {each.name for each in entries if is_built_in(each)}
    for entry in entries:
        ours = is_built_in(entry)
        named = entry.name in wanted or canonical(distribution_of(entry)) in enabled
        state: PluginState = "enabled" if named else "built in" if ours else "installed"
        offers: tuple[str, ...] = ()
        problem = None
        if not ours and entry.name in built_in:
            state, problem = "shadowed", f"{entry.name!r} is built in"
        elif ours or named:
            try:
                offers = _offers(entries, entry)
            except PluginError as exc:
                state, problem = "broken", str(exc)
        yield Listed(
            name=entry.name,
            distribution=distribution_of(entry),
            version=entry.dist.version if entry.dist else "?",
            state=state,
            offers=offers,
            problem=problem,
        )


def _offers(entries: tuple[EntryPoint, ...], entry: EntryPoint) -> tuple[str, ...]:
    plugins = Plugins(entries)
    plugins._load(entry)  # noqa: SLF001  # same module
    # One module may stand behind several names; a row shows its own.
    own = tuple(each for each in plugins.registry.offers() if each.endswith(f":{entry.name}"))
    return own or plugins.registry.offers()
