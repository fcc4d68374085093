"""What plugins offer: factories, by sort and name."""

from __future__ import annotations

import difflib
import re
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Generic, TypeVar
from urllib.parse import unquote_plus

from pydantic import ConfigDict, TypeAdapter, ValidationError

from memkit.contracts import Clock, Embedder, Extractor, Scheduler, Store
from memkit.errors import ConfigError, PluginError
from memkit.models import utcnow

if TYPE_CHECKING:
    from memkit.redact import Redactor

_NAME = re.compile(r"[\w.+-]{1,64}")

Part = TypeVar("Part")
Wanted = TypeVar("Wanted")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the configuration says about one part.

    `use` is the name it was asked for by, `url` the URL it was given as, if it was (with its
    password, so neither is ever shown), `settings` everything else, checked by nobody yet.
    `clock` is the memory's own; leases go by the store's instead.
    """

    use: str
    url: str | None = field(default=None, repr=False)
    settings: Mapping[str, object] = field(default_factory=dict, repr=False)
    clock: Clock = utcnow

    def expect(self, *names: str) -> None:
        """Raise `ConfigError` for a setting that is none of `names`; say which is nearest."""
        for name in self.settings:
            if name not in names:
                raise ConfigError(f"{self.use} has no setting {name!r}; {nearest(name, names)}")

    def with_query(self, *names: str, driver: Collection[str] = ()) -> Options:
        """The same with the settings that stand in the URL's query; those beside it win.

        `names` are settings of the part, `driver` those that stay in the URL for whoever
        connects. `ConfigError` for any other.
        """
        place, mark, query = (self.url or "").partition("?")
        if not mark:
            return self
        pairs = [(pair, *pair.partition("=")) for pair in query.split("&") if pair]
        for number, (_, name, _, _) in enumerate(pairs, start=1):
            if name not in {*names, *driver}:
                # Never quoted: it may be the rest of a password that has a ? or & in it.
                advice = nearest(name, (*names, *driver))
                raise ConfigError(
                    f"setting {number} in the URL of {self.use} is unknown; {advice}"
                    " (within a value, ? is written %3F and & is written %26)"
                )
        left = "&".join(pair for pair, name, _, _ in pairs if name in driver)
        found = {name: unquote_plus(value) for _, name, _, value in pairs if name in names}
        url = f"{place}?{left}" if left else place
        return replace(self, url=url, settings={**found, **self.settings})

    def get(self, name: str, sort: type[Wanted], default: Wanted) -> Wanted:
        """The setting `name`, or `default`; `ConfigError` if it is of another sort.

        Numbers and truths may come as text, lists and tables as JSON: environment and URL
        have nothing else.
        """
        if name not in self.settings:
            return default
        reader = TypeAdapter[Wanted](sort, config=ConfigDict(arbitrary_types_allowed=True))
        given = self.settings[name]
        with suppress(ValidationError):
            return reader.validate_python(given)
        if isinstance(given, str):
            with suppress(ValidationError):
                return reader.validate_json(given)
        raise ConfigError(f"{self.use}: {name} must be {_WORDS.get(sort) or sort}")


_WORDS: Mapping[object, str] = MappingProxyType(
    {int: "a whole number", float: "a number", bool: "true or false", str: "text"}
)


def nearest(name: str, known: Iterable[str]) -> str:
    """Advice for a name that is not known."""
    names = sorted(known)
    close = difflib.get_close_matches(name, names, n=1)
    if close:
        return f"did you mean {close[0]!r}?"
    return f"known are: {', '.join(names)}" if names else "it takes none"


Factory = Callable[[Options], Awaitable[Part]]
"""Opens one part. Imports its driver inside, so that offering it costs nothing."""


class Named(Generic[Part]):
    """Factories of one sort, by name."""

    def __init__(self, sort: str) -> None:
        self.sort = sort
        self._factories: dict[str, Factory[Part]] = {}

    def add(self, name: str, factory: Factory[Part]) -> None:
        """Offer `factory` under `name`; `PluginError` if the name is taken."""
        if name in self._factories:
            raise PluginError(f"the {self.sort} {name!r} is offered twice; rename one")
        self._factories[name] = factory

    def __getitem__(self, name: str) -> Factory[Part]:
        try:
            return self._factories[name]
        except KeyError:
            advice = nearest(name, self._factories)
            raise self.unknown(name, advice) from None

    def unknown(self, name: str, advice: str) -> PluginError:
        """What to raise for a name that nobody offers."""
        # What is no name may be a connection string, with its password.
        called = repr(name) if _NAME.fullmatch(name) else "what is given, and it is no URL"
        return PluginError(f"no {self.sort} is called {called}; {advice}")

    def __contains__(self, name: object) -> bool:
        return name in self._factories

    def __iter__(self) -> Iterator[str]:
        return iter(self._factories)


class Registry:
    """What plugins offer. Handed to every `memkit_register` hook."""

    def __init__(self) -> None:
        self.stores: Named[Store] = Named("store")
        self.extractors: Named[Extractor] = Named("extractor")
        self.schedulers: Named[Scheduler] = Named("scheduler")
        self.embedders: Named[Embedder] = Named("embedder")
        self.redactors: Named[Redactor] = Named("redactor")

    def offers(self) -> tuple[str, ...]:
        """Everything registered, as `sort:name`."""
        sorts = (
            self.stores,
            self.extractors,
            self.schedulers,
            self.embedders,
            self.redactors,
        )
        return tuple(f"{sort.sort}:{name}" for sort in sorts for name in sort)
