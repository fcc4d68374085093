"""A URL that carries settings of memkit besides those of the server."""

from __future__ import annotations

from typing import Final
from urllib.parse import unquote_plus

SETTINGS: Final = (
    "schema",
    "min_size",
    "max_size",
    "deadline",
    "acquire_timeout",
    "pooler",
    "auto_migrate",
)
"""What may stand in a URL's query: `postgresql://host/database?schema=agents`."""


def parted(url: str) -> tuple[str, dict[str, str]]:
    """The URL as the server's library takes it, and the settings that are memkit's."""
    place, mark, query = url.partition("?")
    pairs = query.split("&") if mark else []
    ours = {
        name: unquote_plus(value)
        for name, _, value in (pair.partition("=") for pair in pairs)
        if name in SETTINGS
    }
    left = "&".join(pair for pair in pairs if pair.partition("=")[0] not in SETTINGS)
    return f"{place}?{left}" if left else place, ours
