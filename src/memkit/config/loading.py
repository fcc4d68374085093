"""Reading a configuration: from a file, the environment and arguments, in rising precedence."""

from __future__ import annotations

import difflib
import json
import os
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from functools import reduce
from pathlib import Path
from types import MappingProxyType
from typing import Any

from memkit.config.part import Part, Section, part_table
from memkit.config.secrets import resolved
from memkit.config.settings import Config, SchedulerPart
from memkit.errors import ConfigError
from memkit.registry import nearest

PREFIX = "MEMKIT_"
FILES = ("memkit.toml", "pyproject.toml")
"""Where a configuration is looked for in the working directory, first come."""

Source = Config | str | os.PathLike[str] | None

_PARTS = frozenset({"store", "extractor", "scheduler", "redactor"})
_RHYTHM = SchedulerPart.model_fields.keys() - Part.model_fields.keys()
"""What memkit itself reads in a part's table, whichever part it is."""
_PLACES = frozenset({"url", "path", "pool"})
"""Names of one thing: where a store is. Who states one of them has stated it."""


def load(
    source: Source = None,
    arguments: Mapping[str, object] = MappingProxyType({}),
    *,
    environ: Mapping[str, str] | None = None,
) -> Config:
    """The configuration as `source`, the environment and `arguments` together have it.

    `source` is a path to a TOML file, a store's URL (then no file is read), a `Config` (then
    neither file nor environment is read), or nothing: `memkit.toml`, else `[tool.memkit]` of
    `pyproject.toml`, in the working directory, where there is one.
    """
    if not isinstance(source, Config | str | os.PathLike | None):
        given = type(source).__name__
        raise ConfigError(f"a memory is opened with a path, a URL or a Config, not {given}")
    if isinstance(source, Config):
        return Config.model_validate(merged((dict(source), arguments)))
    variables = os.environ if environ is None else environ
    if isinstance(source, str) and "://" in source:
        below: dict[str, object] = {}
        arguments = {"store": source, **arguments}
    else:
        below = from_file(source, variables)
    return Config.model_validate(merged((below, from_environment(variables), arguments)))


def from_file(path: str | os.PathLike[str] | None, environ: Mapping[str, str]) -> dict[str, object]:
    """What the file at `path` says, or the one found in the working directory, if any."""
    if path is None:
        candidates = [_table(Path(name)) for name in FILES if Path(name).is_file()]
        table = next((each for each in candidates if each is not None), {})
    else:
        table = _table(Path(path)) or {}
    found = resolved(table, environ)
    return dict(found) if isinstance(found, Mapping) else {}


def _table(path: Path) -> dict[str, object] | None:
    try:
        # Some editors on Windows begin a file with a byte order mark.
        content = tomllib.loads(path.read_text("utf-8-sig"))
    except OSError as exc:
        raise ConfigError(f"{path} cannot be read: {exc.strerror}") from exc
    except ValueError as exc:  # no TOML, no UTF-8, or a path that cannot be
        raise ConfigError(f"{path} is not valid TOML: {exc}") from exc
    if path.name != "pyproject.toml":
        return content
    tool = content.get("tool", {})
    own = tool.get("memkit") if isinstance(tool, dict) else None
    return own if isinstance(own, dict) else None


def from_environment(environ: Mapping[str, str]) -> dict[str, object]:
    """What variables such as `MEMKIT_STORE` and `MEMKIT_EXTRACTOR__MODEL` say."""
    if not any(name.upper().startswith(PREFIX) for name in environ):
        return {}
    _refuse_misspelt(environ)
    # Only here: importing it costs more than the rest of the configuration.
    from pydantic.fields import FieldInfo  # noqa: PLC0415  # see above
    from pydantic_settings import (  # noqa: PLC0415  # see above
        BaseSettings,
        EnvSettingsSource,
        SettingsConfigDict,
    )

    class Variables(Config, BaseSettings):
        model_config = SettingsConfigDict(env_prefix=PREFIX, env_nested_delimiter="__")

    class Environment(EnvSettingsSource):
        def _load_env_vars(self) -> Mapping[str, str | None]:
            return {name.lower(): value for name, value in environ.items() if value}

        def decode_complex_value(self, field_name: str, field: FieldInfo, value: Any) -> Any:  # noqa: ARG002  # its signature
            return _decoded(field_name, value)

    return Environment(Variables)()


def _decoded(name: str, text: str) -> object:
    try:
        value: object = json.loads(text)
    except ValueError:
        value = text
    return part_table(value) if name in _PARTS else value


def _refuse_misspelt(environ: Mapping[str, str]) -> None:
    """Refuse variables that were meant for memkit; others may share the prefix."""
    known = Config.model_fields
    for name in environ:
        head, nested, _ = name.lower().removeprefix(PREFIX.lower()).partition("__")
        ours = name.upper().startswith(PREFIX) and head not in known
        if ours and (nested or difflib.get_close_matches(head, known, n=1, cutoff=0.75)):
            raise ConfigError(f"{name} sets nothing; {nearest(head, known)}")


def merged(layers: Iterable[Mapping[str, object]]) -> dict[str, object]:
    """The layers laid over each other, lowest first: tables are merged, anything else replaces."""
    stack = tuple(layers)
    names = dict.fromkeys(name for layer in stack for name in layer)
    return {
        name: reduce(_part_over if name in _PARTS else _over, _values(name, stack))
        for name in names
    }


def _values(name: str, layers: Iterable[Mapping[str, object]]) -> Iterator[object]:
    for layer in layers:
        if name in layer:
            yield part_table(layer[name]) if name in _PARTS else layer[name]


def _over(below: object, above: object) -> object:
    below = dict(below) if isinstance(below, Section) else below
    if not (isinstance(below, Mapping) and isinstance(above, Mapping)):
        return above
    both = below.keys() & above.keys()
    return {**below, **above, **{name: _over(below[name], above[name]) for name in both}}


def _part_over(below: object, above: object) -> object:
    """Settings that name no part belong to the one below, or, if none is named there, above."""
    if not (isinstance(below, Mapping) and isinstance(above, Mapping)):
        return above
    dropped: AbstractSet[object] = frozenset()
    if {"use"} <= below.keys() & above.keys() and below["use"] != above["use"]:
        # The settings of the one are not the other's; the rhythm is every scheduler's.
        dropped = below.keys() - _RHYTHM
    elif _PLACES & above.keys():
        dropped = _PLACES
    return _over({name: below[name] for name in below if name not in dropped}, above)
