"""Plugins: listed without being imported, imported when named, and never in the way."""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from types import ModuleType

import pytest

from memkit import ConfigError, Event, Memory, PluginError, Scope, open_memory
from memkit.plugins import Listed, list_plugins
from memkit.testing.values import a_message
from tests.plugins.conftest import Install

pytestmark = pytest.mark.anyio

SCOPE = Scope("ann")

REGISTERS = """
from memkit import hookimpl

async def open_part(options):
    raise RuntimeError

@hookimpl
def memkit_register(registry):
    registry.stores.add({name!r}, open_part)
"""


def row(name: str, rows: list[Listed]) -> Listed:
    """The only row of a name that is not ours."""
    [found] = [each for each in rows if each.name == name and each.distribution != "agent-memkit"]
    return found


def the_toy() -> ModuleType:
    """The plugin's module, which must have been imported."""
    return sys.modules["memkit_toy"]


def test_what_memkit_comes_with_is_listed() -> None:
    """Built-ins are registered like everything else, and say what they offer."""
    rows = {each.name: each for each in list_plugins(named=["sqlite"])}
    assert set(rows) >= {"memory", "sqlite", "verbatim", "llm", "manual", "background", "patterns"}
    assert {each.distribution for each in rows.values()} == {"agent-memkit"}
    assert rows["sqlite"].state == "enabled"
    assert rows["memory"].state == "built in"
    assert rows["memory"].offers == ("store:memory",)
    assert rows["manual"].offers == ("scheduler:manual",)


@pytest.mark.usefixtures("toy")
async def test_what_is_not_named_is_not_imported() -> None:
    """Being installed is not enough to run: it is listed, with its version, and left alone."""
    found = row("toy", list_plugins())
    assert (found.distribution, found.version, found.state) == ("memkit-toy", "1.2.3", "installed")
    assert found.offers == ()
    async with open_memory("memory://") as memory:
        await memory.inject(SCOPE)
    assert "memkit_toy" not in sys.modules


@pytest.mark.usefixtures("toy")
async def test_hook_memkit_register() -> None:
    """A plugin that is named offers its parts: the scheme of a URL, the name to use."""
    async with open_memory("toy://shelf-7", extractor="toy") as memory:
        assert memory.store.shelf == "shelf-7"  # type: ignore[attr-defined]  # the toy's own
        await memory.record(SCOPE, [a_message("I like tea.")], session_id="s")
        await memory.consolidate()
        [item] = (await memory.inject(SCOPE)).items
        assert item.content == "I LIKE TEA."
        store = memory.store
    assert store.closed == 1  # type: ignore[attr-defined]  # likewise
    found = row("toy", list_plugins(named=["toy"]))
    assert (found.state, found.offers) == ("enabled", ("store:toy", "extractor:toy"))


@pytest.mark.usefixtures("toy")
async def test_hook_memkit_observe(caplog: pytest.LogCaptureFixture) -> None:
    """A plugin that is enabled is told of each stage, by ids and counts; it breaks nothing."""
    with caplog.at_level(logging.DEBUG):
        async with open_memory("memory://", plugins=["Memkit_Toy"]) as memory:
            await through_every_stage(memory)
    events: list[Event] = the_toy().EVENTS
    assert [each.stage for each in events] == [
        "record",
        "consolidate",
        "inject",
        "inject",
        "decay",
        "forget",
    ]
    assert dict(events[0].counts) == {"new": 1, "skipped": 0}
    assert dict(events[2].counts) == {"items": 1, "degraded": 0}
    assert [each.error for each in events] == [None, None, None, "ScopeError", None, None]
    assert all(each.seconds >= 0 for each in events)
    assert "RuntimeError" in caplog.text
    assert "canary" not in caplog.text + repr(events)


async def through_every_stage(memory: Memory) -> None:
    """Each stage once, and one that fails."""
    await memory.record(SCOPE, [a_message("The canary likes tea.")], session_id="s")
    await memory.consolidate()
    await memory.inject(SCOPE, query="canary")
    with pytest.raises(ValueError, match="nobody"):
        await memory.inject(Scope(), query="canary")
    await memory.decay()
    await memory.forget(SCOPE)


async def test_a_host_may_watch_without_a_plugin() -> None:
    """A function handed in is told the same, and breaks as little."""
    events: list[Event] = []

    def watch(event: Event) -> None:
        events.append(event)
        raise RuntimeError

    async with open_memory("memory://", observe=watch) as memory:
        await memory.inject(SCOPE)
    assert [each.stage for each in events] == ["inject"]


async def test_a_broken_plugin_is_a_problem_only_when_it_is_asked_for(install: Install) -> None:
    """Neither an error nor an exit at import reaches a host that does not name it."""
    install("bad-one", "bad_one", "import no_such_driver", {"bad": "bad_one"})
    install("worse-one", "worse_one", "raise SystemExit(3)", {"worse": "worse_one"})
    async with open_memory("memory://") as memory:
        await memory.inject(SCOPE)
    assert row("bad", list_plugins()).state == "installed"
    broken = row("bad", list_plugins(named=["bad"]))
    assert broken.state == "broken"
    assert "no_such_driver" in (broken.problem or "")
    for name in ("bad", "worse"):
        with pytest.raises(PluginError, match=f"'{name}'.*cannot be imported"):
            async with open_memory(f"{name}://x"):
                pass


@pytest.mark.parametrize("left", [["entry_points.txt"], ["METADATA", "entry_points.txt"]])
async def test_half_a_distribution_harms_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, left: list[str]
) -> None:
    """What an installer left behind, without a name, is listed as it is and kills no host."""
    metadata = tmp_path / "left_behind-1.0.dist-info"
    metadata.mkdir()
    for name in left:
        (metadata / name).write_text("[memkit]\nleft = left_behind\n" * (name != "METADATA"))
    monkeypatch.syspath_prepend(str(tmp_path))
    async with open_memory("memory://") as memory:
        await memory.inject(SCOPE)
    assert row("left", list_plugins()).distribution == "unknown"
    with pytest.raises(PluginError, match="'left'"):
        async with open_memory("left://x"):
            pass


async def test_nobody_takes_the_name_of_a_built_in(install: Install) -> None:
    """Ours is used; the other is listed as shadowed, and enabling it is an error."""
    install("evil-one", "evil_one", "raise SystemExit(3)", {"memory": "evil_one"})
    async with open_memory("memory://") as memory:
        await memory.inject(SCOPE)
    assert "evil_one" not in sys.modules
    assert row("memory", list_plugins(distributions=["evil-one"])).state == "shadowed"
    with pytest.raises(PluginError, match="may not offer 'memory'"):
        async with open_memory("memory://", plugins=["evil-one"]):
            pass


async def test_nor_by_the_back_door(install: Install) -> None:
    """A plugin under another name that registers a built-in's is refused as well."""
    install("sly-one", "sly_one", REGISTERS.format(name="sqlite"), {"sly": "sly_one"})
    with pytest.raises(PluginError, match="may not offer 'sqlite'"):
        async with open_memory("memory://", plugins=["sly-one"]):
            pass


async def test_two_of_one_name_are_an_error(install: Install) -> None:
    """Which of them was meant is for the user to say."""
    install("one-of-it", "one_of_it", REGISTERS.format(name="twin"), {"twin": "one_of_it"})
    install("other-of-it", "other_of_it", REGISTERS.format(name="twin"), {"twin": "other_of_it"})
    with pytest.raises(PluginError, match="one-of-it and other-of-it"):
        async with open_memory("twin://x"):
            pass
    with pytest.raises(PluginError, match="offered twice"):
        async with open_memory("memory://", plugins=["one-of-it", "other-of-it"]):
            pass


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("", "no store is called 'odd'"),
        (
            "from memkit import hookimpl\n@hookimpl\ndef memkit_registr(registry): ...",
            "not valid",
        ),
        (
            "from memkit import hookimpl\n@hookimpl\ndef memkit_register(registri): ...",
            "not valid",
        ),
        (
            "from memkit import hookimpl\n@hookimpl\ndef memkit_register(registry): 1 / 0",
            "failed",
        ),
    ],
    ids=["offers nothing", "misspelt hook", "misspelt argument", "fails"],
)
async def test_a_plugin_that_does_not_do_its_part_is_named(
    install: Install, source: str, problem: str
) -> None:
    """A mistake is an error that says whose it is, not silence."""
    install("odd-one", "odd_one", source, {"odd": "odd_one"})
    with pytest.raises(PluginError, match=problem):
        async with open_memory("odd://x"):
            pass


@pytest.mark.usefixtures("toy")
@pytest.mark.parametrize(
    ("settings", "advice"),
    [
        ({"store": "tpy://x"}, "did you mean 'toy'"),
        ({"store": "memory://", "extractor": "verbatm"}, "did you mean 'verbatim'"),
        ({"store": "memory://", "extractor": "sqlite"}, "no extractor is called 'sqlite'"),
        ({"store": "memory://", "plugins": ["memkit-toi"]}, "did you mean 'memkit-toy'"),
    ],
)
async def test_a_wrong_name_comes_with_advice(settings: dict[str, object], advice: str) -> None:
    """The nearest name there is, of what is installed."""
    with pytest.raises(PluginError, match=advice):
        async with open_memory(**settings):  # type: ignore[arg-type]  # tables are objects here
            pass


@pytest.mark.parametrize(
    "store",
    [
        "postgresql:/ann:hunter2@host/db",
        "postgres//ann:hunter2@host/db",
        "ann:hunter2@host/db",
        "host=h password=hunter2",
    ],
)
async def test_what_is_no_name_is_not_quoted(store: str) -> None:
    """A connection string that is not written as a URL keeps its password to itself."""
    with pytest.raises(
        PluginError, match="no store is called what is given, and it is no URL"
    ) as e:
        async with open_memory(store=store):
            pass
    assert "hunter2" not in str(e.value)


@pytest.mark.usefixtures("toy")
@pytest.mark.parametrize(
    ("store", "advice"),
    [
        ({"use": "toy", "shelv": "x"}, "no setting 'shelv'; did you mean 'shelf'"),
        ({"use": "toy", "shelf": 7}, "shelf must be text"),
        ({"use": "sqlite", "path": "x.db", "readers": "many"}, "readers must be a whole number"),
        ("sqlite:///x.db?synchronos=normal", "setting 1 .* did you mean 'synchronous'"),
        ("memory://?shelf=x", "setting 1 .* it takes none"),
        ("postgresql://host/db?shcema=x", "setting 1 .* did you mean 'schema'"),
        ("postgres://host/db?sslmod=require", "setting 1 .* did you mean 'sslmode'"),
        ({"use": "sqlite", "path": "x.db", "synchronous": "off"}, "full or normal"),
        ({"use": "memory", "shelf": "x"}, "it takes none"),
    ],
)
async def test_a_wrong_setting_of_a_part_comes_with_advice(
    store: dict[str, object] | str, advice: str
) -> None:
    """A part knows its own settings, and says which it does not have."""
    with pytest.raises(ConfigError, match=advice):
        async with open_memory(store=store):
            pass


@pytest.mark.parametrize(
    ("part", "table", "advice"),
    [
        ("extractor", {"use": "llm", "modle": print}, "no setting 'modle'; did you mean 'model'"),
        ("extractor", {"use": "verbatim", "model": "x"}, "no setting 'model'; it takes none"),
        ("scheduler", {"use": "background", "drian": 1}, "no setting 'drian'; did you mean"),
        ("scheduler", {"use": "manual", "drain": 1}, "no setting 'drain'; it takes none"),
        ("redactor", {"use": "patterns", "x": 1}, "no setting 'x'; it takes none"),
        ("scheduler", {"use": "background", "concurrency": 0}, "concurrency"),
        ("scheduler", {"use": "background", "drain": -1}, "drain"),
        (
            "extractor",
            {"use": "llm", "model": print, "timeout": "soon"},
            "timeout must be a number",
        ),
        ("extractor", {"use": "llm", "model": print, "roles": ["usr"]}, "roles must be"),
    ],
)
async def test_every_part_refuses_what_it_does_not_know(
    part: str, table: dict[str, object], advice: str
) -> None:
    """A misspelt or impossible setting of any built-in part is an error that names it."""
    with pytest.raises(ConfigError, match=advice):
        async with open_memory("memory://", **{part: table}):
            pass


async def test_settings_of_parts_come_as_text_too() -> None:
    """Environment and URL have nothing but text; lists in it are JSON."""

    async def model(system: str, user: str) -> str:
        return f"{system}{user}"

    settings = {"use": "llm", "model": model, "timeout": "5", "budget": "900", "roles": '["user"]'}
    async with open_memory("sqlite://:memory:?readers=1&busy_timeout=0.5", extractor=settings):
        pass
