"""D12: names in a configuration are used to the letter, or refused before anything is touched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from memkit.app import open_memory
from memkit.config import Config
from memkit.errors import ConfigError, MemkitError, PluginError
from memkit_backends.postgres.naming import quoted
from tests.hostile.place import SCOPE, Place, cases, must, refused, same

SCHEMAS = (
    'mem"; DROP SCHEMA public CASCADE; --', "MemKit", 'a"b', "select", "", "..", "public.x",
    "pg_catalog", "pg_temp", "information_schema", "m\0k", "m\ud83d", "x" * 63, "x" * 64,
    "\u00e9" * 32, "naïve", "$user", "a b", "a;b", "a--b", "a/*b", "\\", "%s", ":x", "$1", "{x}",
)  # fmt: skip

FILES = (
    "a b.db", "a'b.db", 'a"b.db', "a%20b.db", "a+b.db", "naïve-日本.db", "-rf", "*.db", "$HOME.db",
    "~", "a;b.db", "a&b=c.db", ":x:", "a\nb.db", "\u202ebd.x", "memory.DB", "x" * 200 + ".db",
    "file:x", "`id`.db", "{}.db",
)  # fmt: skip
"""Names that a file may have, and that something on the way might read otherwise."""

SETTINGS: dict[str, Mapping[str, object]] = {
    "a setting nobody knows": {"stroe": "sqlite:///x.db"},
    "a part nobody offers": {"extractor": "llm'; --"},
    "a store nobody offers": {"store": "mysql://localhost/x"},
    "a store without a name": {"store": "://x"},
    "a store that is empty": {"store": ""},
    "a store that is a number": {"store": 5},
    "a store that is a list": {"store": ["sqlite:///x.db"]},
    "a file that is empty": {"store": "sqlite:///"},
    "a file with U+0000": {"store": "sqlite:///a\0b.db"},
    "a file with U+0000, escaped": {"store": "sqlite:///a%00b.db"},
    "a host in a file's URL": {"store": "sqlite://example.org/x.db"},
    "a query in a file's URL": {"store": "sqlite:///x.db?mode=memory"},
    "a fragment in a file's URL": {"store": "sqlite:///x.db#y"},
    "a setting the store has not": {"store": {"use": "sqlite", "path": "x.db", "pragma": "x"}},
    "a setting of another sort": {"store": {"use": "sqlite", "path": ["x.db"]}},
    "a durability that is none": {
        "store": {"use": "sqlite", "path": "x.db", "synchronous": "off; DROP TABLE item"}
    },
    "a time that is none": {"store": {"use": "sqlite", "path": "x.db", "busy_timeout": "NaN s"}},
    "a time below nothing": {"store": {"use": "sqlite", "path": "x.db", "busy_timeout": -1}},
    "a language nobody speaks": {"language": "klingon"},
    "a projection that is none": {"scope": {"write": "user'; --"}},
    "projections that are none": {"scope": {"read": []}},
    "decay that grows": {"decay": {"factor": 1.01}},
    "decay of nothing": {"decay": {"factor": 0}},
    "decay that is no number": {"decay": {"factor": float("nan")}},
    "a threshold above all": {"decay": {"threshold": 1}},
    "a kind nobody declared": {"decay": {"kinds": {"root": {"factor": 1}}}},
    "a duration that is none": {"decay": {"episode_ttl": "soon"}},
    "a duration below nothing": {"decay": {"episode_ttl": "-1d"}},
    "a duration without end": {"decay": {"episode_ttl": "99999999999d"}},
    "an hour that is none": {"scheduler": {"use": "manual", "decay_at_utc_hour": 24}},
    "a strategy that is none": {"strategies": [{"type": "sem", "name": "x"}]},
    "a strategy without a name": {"strategies": [{"type": "custom", "name": ""}]},
    "a limit of nothing": {"inject": {"limit": 0}},
    "a plugin nobody installed": {"plugins": ["../evil"]},
    "a model that is text": {"extractor": {"use": "llm", "model": "os:system"}},
}
"""Configurations that cannot be used."""


async def name_a_schema(name: str, place: Place) -> object:
    """Quoted it is one identifier that reads back as it was, or it is refused with the rule."""
    try:
        identifier = quoted(name)
    except ConfigError as exc:
        must("schema" in str(exc), "the rule is not said")
        return type(exc).__name__
    must(identifier[0] == identifier[-1] == '"', "not quoted")
    same(identifier[1:-1].replace('""', '"'), name)
    must('"' not in identifier[1:-1].replace('""', ""), "a quote within is not doubled")
    must(len(name.encode()) <= 63, "Postgres would cut it")
    return await refuse({"store": {"use": "sqlite", "path": "x.db", "schema": name}}, place)


async def name_a_file(name: str, place: Place) -> object:
    """The store is in a file of exactly this name, or it is refused, and nothing else is there."""
    del place
    with TemporaryDirectory(prefix="memkit-names-") as folder:
        path = Path(folder) / name
        try:
            async with open_memory(Config.model_validate(at(path))) as memory:
                await memory.remember(SCOPE, "likes tea")
            async with open_memory(Config.model_validate(at(path))) as memory:
                same(len(await memory.search(SCOPE, "tea")), 1)
        except MemkitError as exc:
            same(names_in(folder), [])
            return type(exc).__name__
        same(names_in(folder), [name])
        return name


def names_in(folder: str) -> list[str]:
    """What lies in a folder."""
    return [each.name for each in Path(folder).iterdir()]


def at(path: Path) -> dict[str, object]:
    """The configuration of a store at a plain path."""
    return {"store": {"use": "sqlite", "path": str(path)}}


async def refuse(settings: Mapping[str, object], place: Place) -> object:
    """What cannot be used is refused by name, at once."""
    del place
    return await refused(opened(settings), ConfigError, PluginError)


async def opened(settings: Mapping[str, object]) -> None:
    """A memory as configured, opened, used and closed."""
    whole = {"store": "memory://", **settings}
    async with open_memory(Config.model_validate(whole)) as memory:
        await memory.remember(SCOPE, "likes tea")


async def given(names: Sequence[str], place: Place) -> object:
    """The twelfth case as it was handed to us: each name is itself, or refused."""
    answers = {name: await name_a_schema(name, place) for name in names}
    for name in names:
        if name in {"", "m\0k"} or len(name.encode()) > 63:
            same(answers[name], "ConfigError")
    return answers


CASES = (
    *cases("a schema", (
        (f"{number}. {name[:20]!r}", partial(name_a_schema, name))
        for number, name in enumerate(SCHEMAS))),
    *cases("a file", ((repr(name[:20]), partial(name_a_file, name)) for name in FILES)),
    *cases("configured", ((name, partial(refuse, each)) for name, each in SETTINGS.items())),
)  # fmt: skip
