"""What the query of a Postgres URL may hold."""

from __future__ import annotations

from typing import Final

SETTINGS: Final = (
    "schema",
    "min_size",
    "max_size",
    "deadline",
    "acquire_timeout",
    "pooler",
    "auto_migrate",
    "application_name",
)
"""memkit's own: `postgresql://host/database?schema=agents`."""

LIBPQ: Final = (
    *("host", "port", "dbname", "user", "password", "passfile", "service"),
    *("sslmode", "sslrootcert", "sslcert", "sslkey", "sslcrl", "sslpassword", "sslnegotiation"),
    *("ssl_min_protocol_version", "ssl_max_protocol_version"),
    *("target_session_attrs", "krbsrvname", "gsslib", "options"),
)
"""libpq's, as far as asyncpg knows them. It would tell the server of any other, which refuses."""
