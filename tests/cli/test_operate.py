"""What operators look at."""

from __future__ import annotations

import tomllib
from pathlib import Path

from memkit.config import Config

from .conftest import Call, document


def test_check_shows_the_configuration_without_secrets(memkit: Call, tmp_path: Path) -> None:
    """Every setting in effect, a password as stars, and what deserves attention."""
    (tmp_path / "memkit.toml").write_text("[inject]\nlimit = 7\n")
    result = memkit("check")
    assert result.exit_code == 0
    settings = result.stdout.partition("warning: ")[0]
    assert Config.model_validate(tomllib.loads(settings)).inject.limit == 7
    found = document(memkit("check", "--json"))
    assert found["config"]["store"]["url"] == "sqlite:///memory.db"
    assert {each["level"] for each in found["findings"]} <= {"info", "warning"}
    secret = ("--store", "sqlite:///memory.db?password=hunter2")
    assert "hunter2" not in memkit("check", *secret).output


def test_check_shows_what_a_file_may_hold(memkit: Call, tmp_path: Path) -> None:
    """Tables within tables, too, so that what is shown can be written into a file."""
    text = """
    [decay.kinds.preference]
    factor = 0.99
    [[strategies]]
    type = "custom"
    name = "recipe"
    namespaces = ["/users/{actorId}/recipes"]
    instructions = "What the user cooks: \\"dishes\\"."
    [extractor]
    use = "verbatim"
    """
    (tmp_path / "memkit.toml").write_text(text)
    shown = memkit("check").stdout.partition("warning: ")[0]
    in_effect = Config.model_validate(tomllib.loads(shown))
    assert in_effect.strategies == Config.model_validate(tomllib.loads(text)).strategies
    assert in_effect.decay.kinds["preference"].factor == 0.99


def test_check_needs_no_memory_to_explain_a_bad_configuration(memkit: Call, tmp_path: Path) -> None:
    """A misspelt setting is named, with the one that was meant."""
    (tmp_path / "memkit.toml").write_text("[inject]\nlimits = 7\n")
    result = memkit("check")
    assert result.exit_code == 2
    assert "did you mean 'limit'" in result.stderr


def test_plugins_lists_what_is_installed(memkit: Call) -> None:
    """Names are those that a configuration uses; what is used says so."""
    listed = {each["name"]: each for each in document(memkit("plugins", "--json"))}
    assert {"sqlite", "memory", "verbatim", "manual"} <= listed.keys()
    assert listed["sqlite"]["state"] == "enabled"
    assert "sqlite" in memkit("plugins").stdout


def test_stats_of_a_store_and_of_a_scope(known: Call) -> None:
    """Counts for everything, or for one user."""
    assert document(known("stats", "--json"))["messages"] == 2
    assert document(known("stats", "--user", "bob", "--json"))["messages"] == 0
    assert "messages" in known("stats").stdout


def test_jobs_are_listed_page_by_page(known: Call) -> None:
    """What ran, for whom, and what came of it; and how to go on."""
    known("record", "--user", "bob", "--session", "s1", "--text", "I play the cello.")
    known("consolidate")
    page = document(known("jobs", "--limit", "1", "--json"))
    assert [each["scope"]["user_id"] for each in page["jobs"]] == ["alice"]
    rest = document(known("jobs", "--after", page["after"], "--json"))
    assert [each["scope"]["user_id"] for each in rest["jobs"]] == ["bob"]
    shown = known("jobs", "--user", "bob").stdout
    assert "--user bob" in shown
    assert "--user alice" not in shown
    assert "no job behind that mark" in known("jobs", "--after", "zzz").stderr


def test_retry_needs_jobs(known: Call) -> None:
    """Either jobs are named or all dead ones are meant; what cannot be retried is a failure."""
    assert known("retry").exit_code == 2
    assert "0 episodes pending anew" in known("retry", "--dead").stdout
    assert known("retry", "no-such-job").exit_code == 1


def test_migrate_a_store(memkit: Call) -> None:
    """What is left to do is nothing, and that is said with the schema's number."""
    planned = document(memkit("migrate", "--dry-run", "--json"))
    done = document(memkit("migrate", "--json"))
    assert planned == {**done, "dry_run": True}
    assert done["applied"]
    assert f"up to date ({done['now']})" in memkit("migrate").stdout


def test_the_schema_as_sql(memkit: Call, postgres: str) -> None:
    """`--sql` prints what would be run and runs nothing; a file has nobody to run it for."""
    script = document(memkit("migrate", "--sql", "--json", "--store", postgres))["sql"]
    assert 'CREATE TABLE "memkit".item' in script
    assert memkit("migrate", "--sql", "--store", postgres).stdout.strip() == script.strip()
    assert memkit("migrate", "--sql").exit_code == 2


def test_looking_makes_nothing(memkit: Call, tmp_path: Path) -> None:
    """`check` and a dry run say that nothing is there and what to do, and leave it so."""
    [finding] = document(memkit("check", "--json"))["findings"]
    assert finding["code"] == "schema-behind"
    assert "there is no store yet; `memkit migrate` makes it" in memkit("check").stdout
    planned = memkit("migrate", "--dry-run")
    assert "0001_create_tables would be applied" in planned.stdout
    assert "sqlite:///memory.db" in planned.stdout
    assert list(tmp_path.iterdir()) == []
    assert "applied" in memkit("migrate").stdout
    assert [each.name for each in tmp_path.iterdir()] == ["memory.db"]
    assert "schema-behind" not in memkit("check").stdout


def test_no_command_makes_what_migrate_false_forbids(memkit: Call, tmp_path: Path) -> None:
    """The store is for the operator to make, and until then a command says so."""
    (tmp_path / "memkit.toml").write_text("migrate = false\n")
    result = memkit("record", "--user", "ann", "--session", "s", "--text", "I moved to Oslo.")
    assert result.exit_code == 4
    assert "`memkit migrate` makes it" in result.stderr
    assert [each.name for each in tmp_path.iterdir()] == ["memkit.toml"]


def test_a_store_without_a_schema_cannot_be_migrated(memkit: Call) -> None:
    """The store says so by capability."""
    result = memkit("migrate", "--store", "memory://")
    assert result.exit_code == 2
    assert "memory store does not offer" in result.stderr
