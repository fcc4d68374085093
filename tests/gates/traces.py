"""Where a word may be left in a database: rows, an index of words, files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.gates.backends import Backend, file_of

TAIL = 10
"""Of a word in an index the beginning may be missing: neighbors share it."""


@dataclass(frozen=True, kw_only=True)
class Traces:
    """How to look for a word past memkit. Case never matters."""

    tables: str
    """The statement that lists the tables that hold rows."""
    paths: Callable[[Backend, str], list[Path]]
    """Every file of the store."""
    indexed: str
    """A statement that counts what the index finds for `{word}`."""
    cut: str = ""
    """A statement that leaves words in the index when their row goes."""

    def rows(self, backend: Backend, location: str, word: str) -> Iterator[str]:
        """The tables with a row that holds the word."""
        for (table,) in backend.rows(location, self.tables):
            rows = backend.rows(location, f'SELECT * FROM "{table}"')
            if any(word in text_of(value) for row in rows for value in row):
                yield f"table {table}"

    def index(self, backend: Backend, location: str, word: str) -> Iterator[str]:
        """Whether the index still leads somewhere."""
        scopes = [pk for (pk,) in backend.rows(location, "SELECT pk FROM scope")]
        for pk in scopes:
            [[count]] = backend.rows(location, self.indexed.format(word=f"{pk}x{word}"))
            if count:
                yield f"{count} entries of the index"

    def files(self, backend: Backend, location: str, word: str) -> list[str]:
        """The files that hold the word, or its end."""
        tail = word[-TAIL:].encode()
        return [
            f"file {path.name}"
            for path in self.paths(backend, location)
            if tail in path.read_bytes().lower()
        ]

    def cut_index(self, backend: Backend, location: str) -> None:
        """Put the bug in."""
        backend.rows(location, self.cut)


def text_of(value: Any) -> str:
    """A value of a row as text without case; bytes as they would be read."""
    return (value.decode("latin-1") if isinstance(value, bytes) else str(value)).lower()


def _beside(_: Backend, location: str) -> list[Path]:
    return [each for each in file_of(location).parent.iterdir() if each.is_file()]


def _relations(backend: Backend, location: str) -> list[Path]:
    """The files of the schema's tables and indexes, written out before."""
    backend.rows(location, "CHECKPOINT")
    rows = backend.rows(
        location,
        """
        SELECT current_setting('data_directory') || '/' || pg_relation_filepath(relation.oid)
          FROM pg_class AS relation
          LEFT JOIN pg_class AS owner ON owner.reltoastrelid = relation.oid
         WHERE to_regnamespace(current_schema()::text)
               IN (relation.relnamespace, owner.relnamespace)
           AND relation.relkind IN ('r', 'i', 't')
        """,
    )
    return [path for (name,) in rows if (path := Path(name)).exists()]


TRACES = {
    # The shadow tables of the index hold bare words, which go with the next merge, or `erase`.
    "sqlite": Traces(
        tables="SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'item_text%'",
        paths=_beside,
        indexed="SELECT count(*) FROM item_text WHERE item_text MATCH '\"{word}\"'",
        cut="DROP TRIGGER item_text_removed",
    ),
    "postgres": Traces(
        tables="""
            SELECT CAST(relname AS text) FROM pg_class
             WHERE relkind = 'r' AND relnamespace = to_regnamespace(current_schema()::text)
        """,
        paths=_relations,
        indexed="SELECT count(*) FROM item WHERE tokens LIKE '%{word}%'",
    ),
}
