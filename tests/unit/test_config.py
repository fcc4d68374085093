"""What can be configured, where it is read from, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memkit.config import (
    Config,
    Part,
    SchedulerPart,
    format_duration,
    json_schema,
    load,
    parse_duration,
)
from memkit.config.secrets import MASK, is_secret, mask_url
from memkit.errors import ConfigError, ScopeError
from memkit.models import Scope

CANARY = "hunter2-canary"

EXAMPLE = """
store = "sqlite:///memory.db"
[scope]
write = "full"
read = ["full"]
[extractor]
use = "llm"
model = "openai:gpt-4o"
temperature = 0.0
max_output_tokens = 2048
[scheduler]
use = "background"
consolidate_every = "1h"
decay_at_utc_hour = 2
[inject]
limit = 20
min_importance = 0.1
token_budget = 1500
[decay]
factor = 0.95
threshold = 0.05
episode_ttl = "90d"
[decay.kinds.preference]
factor = 0.99
[[strategies]]
type = "custom"
name = "recipe"
namespaces = ["/users/{actorId}/recipes"]
ttl = "365d"
"""


def written(folder: Path, text: str, name: str = "memkit.toml") -> Path:
    """A configuration file."""
    path = folder / name
    path.write_text(text)
    return path


def read(path: Path, environ: Mapping[str, str] | None = None) -> Config:
    """What a file says in an environment that says nothing, or this."""
    return load(path, environ=environ or {})


def test_a_whole_file_is_read(tmp_path: Path) -> None:
    """Every table arrives as values, durations and parts included."""
    config = read(written(tmp_path, EXAMPLE))
    assert config.store == Part(use="sqlite", url="sqlite:///memory.db")
    assert dict(config.extractor.settings) == {
        "model": "openai:gpt-4o",
        "temperature": 0.0,
        "max_output_tokens": 2048,
    }
    assert config.scheduler.consolidate_every == timedelta(hours=1)
    assert config.decay.episode_ttl == timedelta(days=90)
    assert config.decay.policy("preference").factor == 0.99
    assert config.decay.policy("semantic").factor == 0.95
    assert config.ttl("recipe") == timedelta(days=365)


def test_defaults_need_no_file() -> None:
    """Nothing has to be configured: a file in the working folder, no model, nothing by itself."""
    config = load(Config())
    assert (config.store.use, config.extractor.use) == ("sqlite", "verbatim")
    assert (config.scheduler.use, config.redactor.use) == ("manual", "patterns")


def test_the_environment_goes_before_the_file_and_arguments_before_both(tmp_path: Path) -> None:
    """Rising precedence: file, environment, arguments; tables are merged key by key."""
    path = written(tmp_path, "[inject]\nlimit = 1\ntoken_budget = 1\nmin_score = 0.1")
    environ = {"MEMKIT_INJECT__LIMIT": "2", "MEMKIT_INJECT__TOKEN_BUDGET": "2"}
    config = load(path, {"inject": {"limit": 3}}, environ=environ)
    assert (config.inject.limit, config.inject.token_budget) == (3, 2)
    assert config.inject.min_score == 0.1


def test_another_part_starts_from_nothing() -> None:
    """Settings of one part are not handed to the one that replaces it."""
    below = {"MEMKIT_EXTRACTOR": "llm", "MEMKIT_EXTRACTOR__MODEL": "openai:gpt-4o"}
    assert dict(load(environ=below).extractor.settings) == {"model": "openai:gpt-4o"}
    replaced = load(arguments={"extractor": "verbatim"}, environ=below)
    assert dict(replaced.extractor.settings) == {}
    refined = load(arguments={"extractor": {"temperature": 0.5}}, environ=below)
    assert set(refined.extractor.settings) == {"model", "temperature"}


NAMELESS = {
    "MEMKIT_STORE__SYNCHRONOUS": "normal",
    "MEMKIT_EXTRACTOR__MODEL": "openai:gpt-4o",
    "MEMKIT_SCHEDULER__CONCURRENCY": "5",
    "MEMKIT_SCHEDULER__CONSOLIDATE_EVERY": "5m",
}


@pytest.mark.parametrize("named", ["in the file", "by an argument"])
def test_settings_that_name_no_part_belong_to_the_one_that_is_named(
    tmp_path: Path, named: str
) -> None:
    """Wherever a store, an extractor or a scheduler is chosen, the environment's settings hold."""
    chosen = {"store": "sqlite:///a.db", "extractor": "llm", "scheduler": "background"}
    lines = [f'{name} = "{value}"' for name, value in chosen.items()]
    path = written(tmp_path, "\n".join(lines) if named == "in the file" else "")
    arguments = chosen if named == "by an argument" else {}
    config = load(path, arguments, environ=NAMELESS)
    assert dict(config.store.settings) == {"synchronous": "normal"}
    assert config.store.url == "sqlite:///a.db"
    assert dict(config.extractor.settings) == {"model": "openai:gpt-4o"}
    assert dict(config.scheduler.settings) == {"concurrency": "5"}
    assert config.scheduler.consolidate_every == timedelta(minutes=5)


def test_a_parts_settings_are_merged_key_by_key(tmp_path: Path) -> None:
    """Of each setting of one part the highest layer that states it decides."""
    text = '[extractor]\nuse = "llm"\nmodel = "a"\nbudget = 1\ntimeout = 1\nroles = ["user"]'
    environ = {"MEMKIT_EXTRACTOR__BUDGET": "2", "MEMKIT_EXTRACTOR__TIMEOUT": "2"}
    config = load(
        written(tmp_path, text), {"extractor": {"use": "llm", "timeout": 3}}, environ=environ
    )
    settings = {"model": "a", "budget": "2", "timeout": 3, "roles": ["user"]}
    assert dict(config.extractor.settings) == settings


def test_the_rhythm_outlives_the_scheduler(tmp_path: Path) -> None:
    """When jobs run is memkit's setting: another scheduler keeps it, and nothing else."""
    text = '[scheduler]\nuse = "background"\nconcurrency = 5\nconsolidate_every = "15m"'
    config = load(written(tmp_path, text), {"scheduler": "manual"}, environ={})
    assert (config.scheduler.use, dict(config.scheduler.settings)) == ("manual", {})
    assert config.scheduler.consolidate_every == timedelta(minutes=15)


@pytest.mark.parametrize("below", [Config(), None])
def test_a_path_goes_before_a_url_below_it(below: Config | None) -> None:
    """Where a store is, is one setting under several names: never two places at once."""
    wanted = {"use": "sqlite", "path": "b.db"}
    config = load(below, {"store": wanted}, environ={"MEMKIT_STORE": "sqlite:///a.db"})
    assert (config.store.url, dict(config.store.settings)) == (None, {"path": "b.db"})


def test_a_part_given_as_a_value_states_what_it_states(tmp_path: Path) -> None:
    """Its defaults do not go before what a file says."""
    path = written(tmp_path, 'store = "sqlite:///a.db"\n[scheduler]\nconsolidate_every = "15m"')
    parts = {"store": Part(use="sqlite"), "scheduler": SchedulerPart(use="background")}
    config = load(path, parts, environ={})
    assert config.store.url == "sqlite:///a.db"
    assert config.scheduler.consolidate_every == timedelta(minutes=15)


@pytest.mark.parametrize(
    "given_store",
    ["sqlite:///a.db", {"url": "sqlite:///a.db"}, {"use": "sqlite", "url": "sqlite:///a.db"}],
)
def test_a_store_is_a_url_or_a_table(given_store: object) -> None:
    """The scheme of a URL is the name to use."""
    config = Config.model_validate({"store": given_store})
    assert config.store == Part(use="sqlite", url="sqlite:///a.db")


def test_a_url_as_source_reads_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A memory that is opened by its URL does not change with the folder it is opened in."""
    written(tmp_path, "[inject]\nlimit = 7")
    monkeypatch.chdir(tmp_path)
    assert load(environ={}).inject.limit == 7
    assert load("memory://", environ={}).inject.limit == 20


def test_pyproject_is_looked_at_where_there_is_no_file_of_our_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`[tool.memkit]` serves; a pyproject.toml without it says nothing."""
    written(tmp_path, "[project]\nname = 'x'", "pyproject.toml")
    monkeypatch.chdir(tmp_path)
    assert load(environ={}) == Config()
    written(tmp_path, "[tool.memkit]\nlanguage = 'german'", "pyproject.toml")
    assert load(environ={}).language == "german"


def test_lists_and_tables_come_from_the_environment_as_json() -> None:
    """What is no single value is written as JSON."""
    environ = {
        "MEMKIT_SCOPE__READ": '["user", "full"]',
        "MEMKIT_DECAY__KINDS": '{"preference": {"factor": 0.9}}',
        "MEMKIT_STORE": "memory://",
    }
    config = load(environ=environ)
    assert config.scope.read == ("user", "full")
    assert config.decay.policy("preference").factor == 0.9
    assert config.store.use == "memory"


@pytest.mark.parametrize(
    ("settings", "advice"),
    [
        ({"stor": "x"}, "did you mean 'store'"),
        ({"inject": {"limitt": 3}}, "'inject.limitt'; did you mean 'limit'"),
        ({"decay": {"kinds": {"preference": {"factr": 0.9}}}}, "did you mean 'factor'"),
        ({"decay": {"kinds": {"preferense": {}}}}, "did you mean 'preference'"),
        ({"strategies": [{"type": "semantic", "name": "x", "tll": "3d"}]}, "did you mean 'ttl'"),
        ({"scheduler": {"consolidate_every": "5"}}, "write it like"),
        ({"scheduler": {"decay_at_utc_hour": 24}}, "scheduler.decay_at_utc_hour"),
        ({"scope": {"write": "users"}}, "scope.write"),
        ({"inject": {"limit": 0}}, "inject.limit"),
        ({"decay": {"factor": 1.5}}, "decay factor"),
        ({"decay": {"factor": float("nan")}}, "decay.factor"),
        ({"consolidate": {"lease": "1m", "deadline": "2m"}}, "shorter than"),
        ({"store": 5}, "store"),
        ({"store": ""}, "store"),
    ],
)
def test_a_bad_setting_is_refused_with_advice(settings: dict[str, object], advice: str) -> None:
    """An error names the key and what was probably meant."""
    with pytest.raises(ConfigError, match=advice):
        load(Config(), settings)


@pytest.mark.parametrize("name", ["MEMKIT_STOR", "MEMKIT_INJET__LIMIT", "MEMKIT_INJECT__LIMITT"])
def test_a_misspelt_variable_is_refused(name: str) -> None:
    """A variable that was meant for memkit and sets nothing is an error, not silence."""
    with pytest.raises(ConfigError, match="did you mean"):
        load(environ={name: "3"})


def test_variables_of_others_are_left_alone() -> None:
    """Tests and tools may use the prefix for things of their own; an empty one is unset."""
    assert load("memory://", environ={"MEMKIT_SHARED": "/data", "MEMKIT_LANGUAGE": ""}).migrate


@pytest.mark.parametrize(
    ("text", "reason"),
    [("store = ", "not valid TOML"), ("\0", "not valid TOML"), (None, "cannot be read")],
)
def test_a_file_that_cannot_be_used_is_named(tmp_path: Path, text: str | None, reason: str) -> None:
    """A file that was asked for and is missing or broken is an error."""
    path = tmp_path / "memkit.toml"
    if text is not None:
        path.write_text(text)
    with pytest.raises(ConfigError, match=rf"memkit\.toml {reason}|memkit\.toml is {reason}"):
        read(path)


def test_a_byte_order_mark_is_no_mistake(tmp_path: Path) -> None:
    """A file that an editor began with a mark is read like any other."""
    path = tmp_path / "memkit.toml"
    path.write_text('store = "memory://"', "utf-8-sig")
    assert load(path, environ={}).store.use == "memory"


@pytest.mark.parametrize("source", [3, b"memkit.toml", "a\0b.toml", {"store": "memory://"}])
def test_what_is_no_source_is_refused(source: object) -> None:
    """A memory is opened with a path, a URL or a `Config`; anything else is said to be none."""
    opened: Any = source
    with pytest.raises(ConfigError):
        load(opened)


@pytest.mark.parametrize(
    "secret",
    [
        f'[extractor]\nuse = "llm"\napi_key = "{CANARY}"',
        f'[store]\nuse = "sqlite"\npassword = "{CANARY}"',
        f'store = "postgresql://user:{CANARY}@host/db"',
        f'[store]\nurl = "postgresql://host/db?password={CANARY}"',
        f'[extractor]\nuse = "llm"\nheaders = {{ auth_token = "{CANARY}" }}',
    ],
)
def test_a_file_may_not_hold_a_secret(tmp_path: Path, secret: str) -> None:
    """Secrets in files are refused, and the refusal does not repeat them."""
    with pytest.raises(ConfigError, match="holds a secret") as caught:
        read(written(tmp_path, secret))
    assert CANARY not in str(caught.value)


def test_a_file_names_the_variable_that_holds_the_secret(tmp_path: Path) -> None:
    """Either form of naming a variable fills the value in; one that is not set is an error."""
    path = written(
        tmp_path,
        'store = { env = "DATABASE" }\n'
        '[extractor]\nuse = "llm"\napi_key_env = "KEY"\ntoken = { env = "TOKEN" }',
    )
    environ = {"DATABASE": "postgresql://u:p@h/db", "KEY": "k", "TOKEN": "t"}
    config = read(path, environ)
    assert config.store.url == "postgresql://u:p@h/db"
    assert dict(config.extractor.settings) == {"api_key": "k", "token": "t"}
    with pytest.raises(ConfigError, match="variable KEY is not set"):
        read(path, {"DATABASE": "memory://", "TOKEN": "t"})


def test_no_secret_is_shown() -> None:
    """Neither the masked configuration nor any repr shows a password or a key."""
    config = load(
        "memory://",
        {
            "store": f"postgresql://user:{CANARY}@host:5432/db?sslmode=require&password={CANARY}",
            "extractor": {"use": "llm", "api_key": CANARY, "nested": [{"secret": CANARY}]},
        },
        environ={},
    )
    shown = json.dumps(config.masked())
    for text in (shown, repr(config), str(config), repr(config.store.options(lambda: None))):  # type: ignore[arg-type, return-value]  # never called
        assert CANARY not in text
    assert "postgresql://user:***@host:5432/db?sslmode=require&password=***" in shown
    assert json.loads(shown)["inject"]["limit"] == 20
    assert json.loads(shown)["consolidate"]["idle"] == "5m"


def test_what_is_no_plain_value_is_shown_by_its_sort() -> None:
    """A function handed in as a setting does not break the display."""
    config = load(Config(), {"extractor": {"use": "llm", "model": print}})
    assert config.masked()["extractor"] == {
        "use": "llm",
        "url": None,
        "model": "<builtin_function_or_method>",
    }


@pytest.mark.parametrize("password", ["p@ss", "p/ss", "p#s?s", "p:s@s", "p%40ss", "[p", "&=p"])
def test_a_password_is_masked_however_it_is_written(password: str) -> None:
    """Also one that its URL should have escaped."""
    masked = mask_url(f"postgresql://user:{password}@host:5432/db")
    assert masked == "postgresql://user:***@host:5432/db"


@pytest.mark.parametrize(
    "text",
    ["no url at all", "sqlite:///memory.db", "memory://", "a://b?c=d&e", "a://user@host:1/x"],
)
def test_what_holds_no_secret_stays_as_it_is(text: str) -> None:
    """Masking changes nothing else."""
    assert mask_url(text) == text


def test_what_counts_as_a_secret() -> None:
    """Names that end in a word for a secret; budgets of tokens are none."""
    assert all(map(is_secret, ["api_key", "apikey", "API_KEY", "client_secret", "password"]))
    assert not any(map(is_secret, ["token_budget", "max_output_tokens", "keys", "secretary"]))
    assert MASK == "***"


@given(st.timedeltas(min_value=timedelta(0), max_value=timedelta(days=4000)))
def test_durations_survive_being_written(duration: timedelta) -> None:
    """A duration in whole milliseconds is read back as it was."""
    whole = duration - duration % timedelta(milliseconds=1)
    assert parse_duration(format_duration(whole)) == whole


@pytest.mark.parametrize(
    ("text", "duration"),
    [
        ("0s", timedelta(0)),
        ("250ms", timedelta(milliseconds=250)),
        ("1h30m", timedelta(minutes=90)),
        ("1.5d", timedelta(hours=36)),
        ("2w", timedelta(days=14)),
    ],
)
def test_durations_are_read(text: str, duration: timedelta) -> None:
    """Numbers with units, one after the other."""
    assert parse_duration(text) == duration


@pytest.mark.parametrize(
    "wrong",
    ["5", "m", "", "5 minutes", "-5m", "1h 2", 7, None, "9" * 400 + "w", "36501d", timedelta.max],
)
def test_what_is_no_duration_is_refused(wrong: object) -> None:
    """A number without a unit could be anything, and what ends after all dates is no use."""
    with pytest.raises(ConfigError):
        parse_duration(wrong)


def test_the_schema_accepts_what_is_accepted() -> None:
    """Editors check against the same rules: the example passes, a typo does not."""
    schema = json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    document = {
        "store": "sqlite:///memory.db",
        "extractor": {"use": "llm", "model": "openai:gpt-4o"},
        "scheduler": {"consolidate_every": "1h", "decay_at_utc_hour": "never"},
        "decay": {"kinds": {"preference": {"factor": 0.99}}, "episode_ttl": "90d"},
    }
    assert validator.is_valid(document)
    assert Config.model_validate(document)
    assert validator.is_valid(Config().model_dump(mode="json"))
    for wrong in ({"stor": "x"}, {"inject": {"limitt": 3}}, {"decay": {"episode_ttl": "soon"}}):
        assert not validator.is_valid(wrong)


def test_whose_memory_must_be_stated() -> None:
    """A projection that leaves nothing of a scope would be everybody's, and is refused."""
    rules = Config.model_validate({"scope": {"write": "user", "read": ["user", "agent"]}}).scope
    assert rules.home(Scope("ann", "guide")) == Scope("ann")
    assert rules.homes(Scope("ann", "guide")) == (Scope("ann"), Scope(None, "guide"))
    assert rules.homes(Scope("ann")) == (Scope("ann"),)
    with pytest.raises(ScopeError, match="user id"):
        rules.home(Scope(None, "guide"))
    for nobody in (Scope(), None, "ann"):
        with pytest.raises(ScopeError):
            rules.home(nobody)  # type: ignore[arg-type]  # the mistake it is about
        with pytest.raises(ScopeError):
            rules.homes(nobody)  # type: ignore[arg-type]  # likewise


def test_a_shared_memory_can_be_allowed() -> None:
    """Who says so may keep one memory for all."""
    rules = Config.model_validate({"scope": {"allow_unscoped": True}}).scope
    assert rules.home(Scope()) == Scope()
    assert rules.homes(Scope()) == (Scope(),)


def test_weights_that_were_asked_for_are_no_setting() -> None:
    """What is worked out from settings is not shown among them."""
    config = Config()
    assert config.ranking.weights is config.ranking.weights
    assert config.ranking.weights == Config.model_validate({"ranking": {}}).ranking.weights
    assert "weights" not in {name for name, _ in config.ranking}
