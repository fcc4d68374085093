"""Finding plugins without importing them, and asking those that are named for their parts."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
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


@dataclass(frozen=True, slots=True)
class Installed:
    """An entry point of the group, and whose it is. Nothing of it has been imported."""

    name: str
    distribution: str
    version: str
    entry: EntryPoint

    @classmethod
    def of(cls, entry: EntryPoint) -> Installed:
        """Reads the distribution's metadata: once, for it is a file."""
        distribution: str | None = None
        version: str | None = None
        with suppress(Exception):  # whatever is wrong with it is not the host's concern
            if entry.dist is not None:
                # Both are missing where an installer left half a distribution behind.
                distribution, version = entry.dist.name, entry.dist.version
        return cls(entry.name, distribution or "unknown", version or "?", entry)

    @property
    def is_built_in(self) -> bool:
        """Whether it came with memkit."""
        return canonical(self.distribution) == BUILT_IN

    def __str__(self) -> str:
        return f"{self.name!r} ({self.distribution} {self.version})"


def installed() -> tuple[Installed, ...]:
    """Every plugin on the path."""
    return tuple(map(Installed.of, entry_points(group=GROUP)))


class Plugins:
    """The plugins of one memory. What is not named is listed and never imported."""

    def __init__(self, found: Iterable[Installed] | None = None) -> None:
        self._installed = installed() if found is None else tuple(found)
        self._manager = pluggy.PluginManager(GROUP)
        self._manager.add_hookspecs(hookspecs)
        self.registry = Registry()

    def factory(self, sort: Named[Part], name: str) -> Factory[Part]:
        """The factory called `name`, its plugin imported now if nobody has yet."""
        if name not in sort:
            self._load(self._named(sort, name))
        return sort[name]

    def enable(self, distribution: str) -> None:
        """Import everything that `distribution` declares."""
        wanted = canonical(distribution)
        entries = [each for each in self._installed if canonical(each.distribution) == wanted]
        if not entries:
            advice = nearest(distribution, {each.distribution for each in self._installed})
            raise PluginError(f"no plugin distribution {distribution!r} is installed; {advice}")
        for entry in entries:
            self._load(entry)

    def offers(self, plugin: Installed) -> tuple[str, ...]:
        """What `plugin` offers under its own name, or else at all; it is imported for that."""
        self._load(plugin)
        offers = self.registry.offers()
        return tuple(each for each in offers if each.endswith(f":{plugin.name}")) or offers

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

    def _named(self, sort: Named[Part], name: str) -> Installed:
        entries = [each for each in self._installed if each.name == name]
        ours = [each for each in entries if each.is_built_in]
        if ours:
            return ours[0]
        if not entries:
            raise sort.unknown(name, self._advice(sort, name))
        if len(entries) > 1:
            owners = " and ".join(sorted(each.distribution for each in entries))
            raise PluginError(f"{name!r} is offered by {owners}; uninstall all but one")
        return entries[0]

    def _advice(self, sort: Named[Part], name: str) -> str:
        """What could have been meant: of what came with memkit, only such parts."""
        others = {each.name for each in self._installed if not each.is_built_in}
        for each in self._installed:
            if each.is_built_in:
                self._load(each)
        return nearest(name, {*sort, *others})

    def _load(self, plugin: Installed) -> None:
        self._refuse_shadow(plugin, {plugin.name})
        module = _imported(plugin)
        if self._manager.is_registered(module):
            return
        try:
            self._manager.register(module, name=f"{plugin.distribution}:{plugin.name}")
            self._manager.check_pending()
        except (pluggy.PluginValidationError, ValueError) as exc:
            raise PluginError(f"the plugin {plugin} is not valid: {exc}") from exc
        before = set(self.registry.offers())
        self._register(plugin, module)
        offered = set(self.registry.offers()) - before
        self._refuse_shadow(plugin, {offer.partition(":")[2] for offer in offered})

    def _register(self, plugin: Installed, module: object) -> None:
        for each in self._manager.hook.memkit_register.get_hookimpls():
            if each.plugin is module:
                try:
                    _call(each, registry=self.registry)
                except MemkitError:
                    raise
                except Exception as exc:
                    raise PluginError(f"the plugin {plugin} failed: {exc}") from exc

    def _refuse_shadow(self, plugin: Installed, names: set[str]) -> None:
        ours = {each.name for each in self._installed if each.is_built_in}
        for name in sorted(names & ours):
            if not plugin.is_built_in:
                raise PluginError(f"the plugin {plugin} may not offer {name!r}: built in")


def _imported(plugin: Installed) -> object:
    try:
        module: object = plugin.entry.load()
    except (Exception, SystemExit) as exc:
        reason = f"{type(exc).__name__}: {exc}"
        raise PluginError(f"the plugin {plugin} cannot be imported: {reason}") from exc
    return module


def _call(implementation: pluggy.HookImpl, **given: object) -> None:
    # An implementation may take fewer arguments than the specification offers.
    implementation.function(*(given[name] for name in implementation.argnames))


def _tell(host: Observer, *, event: Event) -> None:
    host(event)


def canonical(distribution: str) -> str:
    """The name under which an index would know it (PEP 503)."""
    return re.sub(r"[-_.]+", "-", distribution).lower()


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


def list_plugins(*, named: Iterable[str] = (), distributions: Iterable[str] = ()) -> list[Listed]:
    """Every plugin on the path, by name.

    `named` are the names that the configuration uses, `distributions` those it enables;
    nothing else is imported, unless it came with memkit.
    """
    found = installed()
    wanted, enabled = set(named), set(map(canonical, distributions))
    rows = (
        _listed(each, found, named=each.name in wanted or canonical(each.distribution) in enabled)
        for each in found
    )
    return sorted(rows, key=lambda row: (row.name, row.distribution))


def _listed(plugin: Installed, found: tuple[Installed, ...], *, named: bool) -> Listed:
    ours = plugin.is_built_in
    state: PluginState = "enabled" if named else "built in" if ours else "installed"
    offers: tuple[str, ...] = ()
    problem = None
    if not ours and any(each.is_built_in for each in found if each.name == plugin.name):
        state, problem = "shadowed", f"{plugin.name!r} is built in"
    elif ours or named:
        try:
            offers = Plugins(found).offers(plugin)
        except PluginError as exc:
            state, problem = "broken", str(exc)
    return Listed(
        name=plugin.name,
        distribution=plugin.distribution,
        version=plugin.version,
        state=state,
        offers=offers,
        problem=problem,
    )
