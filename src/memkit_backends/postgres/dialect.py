"""What Postgres says differently."""

from __future__ import annotations

from memkit_backends.postgres.searching import strongest, text
from memkit_backends.relational.dialect import Dialect

POSTGRES = Dialect(
    name="postgres",
    # now() stands still in a transaction, and clients' clocks differ.
    store_clock="CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT)",
    lock_row="FOR UPDATE",
    take_scope="FOR UPDATE OF owner SKIP LOCKED",
    is_one_of_texts=lambda name: f"= ANY(CAST({name} AS TEXT[]))",
    is_one_of_integers=lambda name: f"= ANY(CAST({name} AS BIGINT[]))",
    purged_at_once=1_000,
    strongest=strongest,
    text=text,
)
