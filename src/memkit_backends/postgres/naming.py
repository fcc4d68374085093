"""Identifiers: quoted in one place, and refused where Postgres would take another one."""

from __future__ import annotations

from memkit.errors import ConfigError

DEFAULT_SCHEMA = "memkit"

MOST_BYTES = 63
"""Postgres cuts longer names short without a word, so that two may become one."""


def quoted(name: str) -> str:
    """`name` as an identifier that is exactly that name."""
    if not name:
        raise ConfigError("a schema's name may not be empty")
    if "\0" in name:
        raise ConfigError("a schema's name may not hold U+0000")
    if name.startswith("pg_") or name == "information_schema":
        raise ConfigError(
            "a schema's name may not be one of Postgres's own (pg_..., information_schema)"
        )
    try:
        size = len(name.encode())
    except UnicodeEncodeError:
        raise ConfigError("a schema's name may not hold half of a surrogate pair") from None
    if size > MOST_BYTES:
        raise ConfigError(f"a schema's name has at most {MOST_BYTES} bytes of UTF-8, not {size}")
    return '"' + name.replace('"', '""') + '"'
