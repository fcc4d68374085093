"""T11: everything works through pgbouncer in transaction mode, and leaves nothing behind."""

from __future__ import annotations

import asyncio
import random
from dataclasses import replace

import asyncpg

from memkit_backends.postgres.naming import quoted
from memkit_backends.postgres.store import PostgresStore
from tests.gates.load import Load
from tests.gates.pgbouncer import POOL, is_installed, pooled
from tests.gates.postgres import open_at, schema_on
from tests.gates.progress import watched
from tests.gates.verdict import Gate, Verdict
from tests.postgres.server import own_server, parted, tell, url_of, with_settings

CLIENTS = 8


async def client(store: PostgresStore, load: Load, n: int, seed: int) -> None:
    """`n` calls of one client."""
    chance, mine = random.Random(seed), Load(store, load.account, said=seed * 1_000_000)
    mine.errors = load.errors
    for _ in watched(range(n)):
        calls = [
            lambda: mine.record(f"session-{chance.randrange(20)}"),
            mine.consolidate,
            mine.read,
        ]
        await chance.choices(calls, [4, 2, 2])[0]()


LEFT = {
    "advisory locks": "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'",
    "prepared statements": "SELECT count(*) FROM pg_prepared_statements WHERE name <> ''",
    "transactions": """SELECT count(*) FROM pg_stat_activity
                        WHERE state LIKE 'idle in transaction%'""",
    "settings": "SELECT count(*) FROM pg_settings WHERE source = 'session' AND name = ANY($1)",
}
"""What sessions of the server may hold that is memkit's."""

OURS = ["search_path", "statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout"]


async def left_behind(url: str) -> list[str]:
    """What is there of these, asked through the pooler: in the very sessions that were used."""
    connection = await asyncpg.connect(url, statement_cache_size=0)
    found = []
    for what, sql in LEFT.items():
        count = await connection.fetchval(sql, *([OURS] if "$1" in sql else []))
        found += [f"{count} {what}"] if count else []
    await connection.close()
    return found


async def tried(through: str, direct: str, n: int, seed: int, bug: str | None) -> Verdict:
    """`n` calls by several clients over a few sessions, tables of the same names in the way."""
    _, settings = parted(direct)
    schema, decoy = settings["schema"], f"{settings['schema']}_decoy"
    location = with_settings(through, schema=schema)
    # One after the other, so that the sessions know of each other's statements by accident only.
    pooler = None if bug else "transaction"
    await (await open_at(location, pooler="transaction")).aclose()
    await tell(
        direct_url(direct),
        f"CREATE SCHEMA {quoted(decoy)}; CREATE TABLE {quoted(decoy)}.item (trap INT);"
        f"ALTER ROLE postgres SET search_path = {quoted(decoy)}",
    )
    stores = [await open_at(location, pooler=pooler) for _ in range(CLIENTS)]
    load = Load(stores[0])
    working = (
        client(store, load, n // CLIENTS, seed + number) for number, store in enumerate(stores)
    )
    await asyncio.gather(*working)
    for store in stores:
        await store.aclose()
    left = await left_behind(through)
    load.store = await open_at(direct)
    await load.drain()
    verdict = load.account.verdict(await load.holdings())
    await load.store.aclose()
    errors = {name: count for name, count in load.errors.items() if name != "LeaseLost"}
    facts = {
        **verdict.facts,
        "sessions": POOL,
        "errors": repr(errors),
        "left": "; ".join(left),
    }
    return replace(verdict, failed=verdict.failed + sum(errors.values()) + len(left), facts=facts)


def direct_url(location: str) -> str:
    """The URL of the server itself."""
    return parted(location)[0]


def run(n: int, seed: int, bug: str | None) -> Verdict:
    """On a server that nobody else uses."""
    with own_server() as server, schema_on(url_of(server)) as location:
        host = str(server.get_postmaster_info().socket_dir)
        with pooled(host, server.system_user) as through:
            return asyncio.run(tried(through, location, n, seed, bug))


GATES = [
    Gate(
        name="T11",
        promise="everything works through pgbouncer in transaction mode, with nothing left behind",
        full=2_000,
        least=200,
        run=run,
        bugs=("statement-cache",),
    )
] * is_installed()
