"""Statements translated: parameters by number, tables by schema, once for each text."""

from __future__ import annotations

import inspect

import pytest
from asyncpg import connect_utils

from memkit.errors import ConfigError
from memkit_backends.postgres.location import LIBPQ
from memkit_backends.postgres.options import Options
from memkit_backends.postgres.statements import TABLES, Statements, translated
from tests.postgres.server import parted

SCHEMA = '"mem""kit"'


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("before", ["FROM ", "JOIN ", "INSERT INTO ", "UPDATE ", "DELETE FROM\n  "])
def test_every_table_stands_in_its_schema(table: str, before: str) -> None:
    """Wherever a statement names a table to read or write, the schema goes before it."""
    found = translated(f"{before}{table} AS x WHERE {table}.pk = 1", SCHEMA).text
    assert found == f"{before}{SCHEMA}.{table} AS x WHERE {table}.pk = 1"


@pytest.mark.parametrize(
    "sql",
    ["FOR UPDATE OF owner SKIP LOCKED", "FROM items", "FROM item_text", "DO UPDATE SET at = 1"],
)
def test_nothing_else_is_taken_for_a_table(sql: str) -> None:
    """Words that only begin like a table's name stay as they are."""
    assert translated(sql, SCHEMA).text == sql


def test_parameters_are_numbered_in_their_order() -> None:
    """A name has one number, however often it stands there; a cast is no parameter."""
    found = translated("SELECT :b, :a, :b, CAST(:c AS TEXT), x::text, 'a' || :a", SCHEMA)
    assert found.text == "SELECT $1, $2, $1, CAST($3 AS TEXT), x::text, 'a' || $2"
    assert found.names == ("b", "a", "c")
    assert found.arguments({"a": 1, "b": 2, "c": 3, "unused": 4}) == [2, 1, 3]


def test_a_statement_is_translated_once() -> None:
    """The text sent is the same object, so the driver finds what it prepared."""
    statements = Statements(Options(location="postgresql://somewhere", schema="s"))
    first, _ = statements.prepare("SELECT :a FROM item", {"a": 1})
    second, values = statements.prepare("SELECT :a FROM item", {"a": 2})
    assert first is second
    assert list(values) == [2]


@pytest.mark.parametrize(
    ("url", "left", "settings"),
    [
        ("postgresql://a@h/d", "postgresql://a@h/d", {}),
        ("postgresql://a@h/d?schema=m", "postgresql://a@h/d", {"schema": "m"}),
        (
            "postgresql://a:p%3F@/d?host=/s&schema=a%20b&sslmode=require&pooler=transaction",
            "postgresql://a:p%3F@/d?host=/s&sslmode=require",
            {"schema": "a b", "pooler": "transaction"},
        ),
    ],
)
def test_a_url_carries_settings(url: str, left: str, settings: dict[str, str]) -> None:
    """What is memkit's is taken out of a URL's query; the rest is the server's, unchanged."""
    assert parted(url) == (left, settings)


@pytest.mark.parametrize(
    ("query", "advice"),
    [
        ("shcema=x", "setting 1 in the URL of postgresql is unknown; did you mean 'schema'"),
        ("schema=x&ssl_mode=require", "setting 2 .* did you mean 'sslmode'"),
        ("statement_timeout=5", "setting 1 .* is unknown"),
    ],
)
def test_a_misspelt_setting_in_a_url_is_told(query: str, advice: str) -> None:
    """It is said before a server is asked, with what was probably meant."""
    with pytest.raises(ConfigError, match=advice):
        parted(f"postgresql://a:b@h/d?{query}")


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://a:{}@h/d?shcema=x",
        "postgresql://a:?{}@h/d",
        "postgresql://a:x?y&{}@h/d",
        "postgresql://a@h/d?password=x&{}",
        "postgresql://a@h/d?pasword={}",
        "postgresql://a@h/d?{}",
    ],
)
def test_no_piece_of_a_url_is_quoted(url: str) -> None:
    """A password that its URL should have escaped looks like a setting, and is not shown."""
    with pytest.raises(ConfigError) as caught:
        parted(url.format("hunter2"))
    assert "hunter2" not in str(caught.value)


def test_what_stays_in_a_url_is_known_to_the_driver() -> None:
    """asyncpg takes each of these for itself: what it does not know it would tell the server."""
    source = inspect.getsource(connect_utils)
    assert [name for name in LIBPQ if f"'{name}'" not in source] == ["options"]
