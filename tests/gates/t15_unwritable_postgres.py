"""T15 on Postgres: where nothing can be kept is said by the right name, and reading goes on."""

from __future__ import annotations

import asyncio
import time
from typing import Any, NamedTuple

from memkit.errors import (
    ConfigError,
    MemkitError,
    StoreBusy,
    StoreCorrupt,
    StoreReadOnly,
    StoreUnavailable,
)
from memkit.testing.values import an_episode
from memkit_backends.postgres import ddl, open_store
from memkit_backends.sqlite import open_store as open_sqlite
from tests.gates.backends import GateStore
from tests.gates.standby import Standby, standby_of
from tests.gates.verdict import Gate, Verdict
from tests.postgres.server import ask, drop, new_schema, own_server, tell, url_of

PASSWORD = "hunter2-must-not-be-seen"  # noqa: S105  # what is looked for in errors
SOON = 10.0
"""Seconds that a server may take to be what it was made."""

WRITTEN = "written"
READ = f"read, then {StoreReadOnly.__name__}"

AT = "postgresql://{at}@/postgres?host={socket}"
DML = "SELECT, INSERT, UPDATE, DELETE"
LOOK = "GRANT USAGE ON SCHEMA {at} TO {at}"
ROWS = f"{LOOK}; GRANT {DML} ON ALL TABLES IN SCHEMA {{at}} TO {{at}}"
NEW = "DROP SCHEMA {at} CASCADE"
MAKES = "GRANT CREATE ON DATABASE postgres TO {at}"
ONLY_READS = "ALTER ROLE {at} SET default_transaction_read_only = on"
OWN = f"{NEW}; CREATE SCHEMA {{at}} AUTHORIZATION {{at}}; SET ROLE {{at}}"


class Case(NamedTuple):
    """What is done by an administrator to a schema and a role of one name; how opening ends."""

    name: str
    prepare: str
    expected: str
    says: str = ""
    """What the error says, so that one knows what to do."""
    url: str = AT


def case(name: str, prepare: str, error: type[MemkitError], says: str, url: str = AT) -> Case:
    """A case that ends with an error on opening."""
    return Case(name, prepare, error.__name__, says, url)


CASES = (
    Case("rights to rows", ROWS, WRITTEN),
    Case("a new schema, and the right to make it", f"{NEW}; {MAKES}", WRITTEN),
    Case("rows to be read alone", ROWS.replace(DML, "SELECT"), READ, "grant it rights"),
    Case("a role that only reads", f"{ROWS}; {ONLY_READS}", READ, "only reads"),
    case("no rights", "", StoreReadOnly, "grant it rights"),
    case("the schema alone", LOOK, StoreReadOnly, "grant it rights"),
    case("a new schema, and no right to make it", NEW, StoreReadOnly, "grant it rights"),
    case("tables not to be made", f"{NEW}; CREATE SCHEMA {{at}}; {LOOK}", StoreReadOnly, "grant"),
    case("nothing made", f"{NEW}; {MAKES}; {ONLY_READS}", StoreReadOnly, "only reads"),
    case(
        "a foreign version", f"{OWN}; CREATE TABLE {{at}}.migration (a INT)", StoreCorrupt, "name"
    ),
    case(
        "a text for it", f"{OWN}; CREATE TABLE {{at}}.migration (number TEXT)", StoreCorrupt, "name"
    ),
    case(
        "a foreign table", f"{OWN}; CREATE TABLE {{at}}.job (a INT)", StoreCorrupt, "name another"
    ),
    case(
        "a foreign view",
        f"{OWN}; CREATE VIEW {{at}}.item AS SELECT 1",
        StoreCorrupt,
        "name another",
    ),
    case("no such role", "DROP ROLE {at}", ConfigError, "see the URL"),
    case("a role not to be used", "ALTER ROLE {at} NOLOGIN", ConfigError, "see the URL"),
    case("no connection for it", "ALTER ROLE {at} CONNECTION LIMIT 0", StoreBusy, "connections"),
    case(
        "a wrong password",
        "GRANT locked TO {at}",
        ConfigError,
        "password",
        AT.replace("@", f":{PASSWORD}@"),
    ),
    case("no such database", "", ConfigError, "see the URL", AT.replace("/postgres?", "/none?")),
    case("a template", "", ConfigError, "see the URL", AT.replace("/postgres?", "/template0?")),
    case("no such socket", "", StoreUnavailable, "be reached", AT.replace("{socket}", "/nowhere")),
    case("no such host", "", StoreUnavailable, "be reached", "postgresql://{at}@nowhere.invalid/d"),
    case("no server there", "", StoreUnavailable, "be reached", "postgresql://{at}@127.0.0.1:1/d"),
    case("no URL", "", ConfigError, "be read", f"postgresql://{{at}}:{PASSWORD}@[/d"),
)


class Outcome(NamedTuple):
    """How far one got with a store, and what the error said."""

    how: str
    said: str = ""


async def opened(url: str, schema: str, *, bug: bool) -> GateStore:
    """The store there; or, with the bug, one in memory, so that the show may go on."""
    try:
        return await open_store(url, schema=schema, deadline=2, acquire_timeout=1)
    except MemkitError:
        if not bug:
            raise
        return await open_sqlite(":memory:")


async def outcome(url: str, schema: str, *, bug: bool) -> Outcome:
    """The error on opening, or what can be done with the store once it is open."""
    try:
        store = await opened(url, schema, bug=bug)
    except MemkitError as exc:
        return Outcome(type(exc).__name__, repr(exc))
    try:
        await store.stats()
        return await written(store)
    finally:
        await store.aclose()


async def written(store: GateStore) -> Outcome:
    """Whether something can be kept."""
    try:
        await store.append([an_episode("tea")])
    except MemkitError as exc:
        return Outcome(f"read, then {type(exc).__name__}", repr(exc))
    return Outcome(WRITTEN)


async def everything(url: str) -> list[Any]:
    """What relations there are, and which file each is in."""
    return await ask(
        url,
        """
        SELECT nspname, relname, relkind, relfilenode
          FROM pg_class
          JOIN pg_namespace ON pg_namespace.oid = relnamespace
         WHERE nspname NOT LIKE 'pg\\_%'
         ORDER BY 1, 2
        """,
    )


async def miss(url: str, tried: Case, *, bug: bool) -> str | None:
    """What was wrong with one case, if anything."""
    at = new_schema()
    socket = url.rpartition("host=")[2]
    await tell(url, f"{ddl(at)}; CREATE ROLE {at} LOGIN PASSWORD 'right'")
    if tried.prepare:
        await tell(url, tried.prepare.format(at=at))
    before = await everything(url)
    found = await outcome(tried.url.format(at=at, socket=socket), at, bug=bug)
    after = await everything(url)
    await tell(url, f"DROP SCHEMA IF EXISTS {at} CASCADE")
    if "DROP ROLE" not in tried.prepare:
        await tell(url, f"DROP OWNED BY {at}; DROP ROLE {at}")
    if found.how != tried.expected or tried.says not in found.said:
        return f"{tried.name}: {found}, not {tried.expected}"
    if PASSWORD in found.said:
        return f"{tried.name}: the password is told"
    if found.how != WRITTEN and before != after:
        return f"{tried.name}: something was made"
    return None


async def until(expected: str, store: GateStore) -> str | None:
    """What is wrong if writing does not soon end as it should."""
    begun, found = time.monotonic(), await written(store)
    while found.how != expected:
        if time.monotonic() - begun > SOON:
            return f"{found}, not {expected}"
        found = await written(store)
    await store.stats()
    return None


async def turned(url: str) -> str | None:
    """A store stays open while its server is made to read only, and to write again."""
    schema = new_schema()
    store = await open_store(url, schema=schema)
    wrong = await until(WRITTEN, store)
    await tell(url, "ALTER SYSTEM SET default_transaction_read_only = on")
    await ask(url, "SELECT pg_reload_conf()")
    wrong = wrong or await until(READ, store)
    await tell(url, "ALTER SYSTEM RESET default_transaction_read_only")
    await ask(url, "SELECT pg_reload_conf()")
    wrong = wrong or await until(WRITTEN, store)
    await store.aclose()
    await drop(url, schema)
    return wrong and f"a server that is turned: {wrong}"


async def followed(standby: Standby, schema: str) -> str | None:
    """A standby is the wrong server to write to, until it is promoted."""
    nothing = await outcome(standby.url, new_schema(), bug=False)
    if nothing.how != StoreReadOnly.__name__:
        return f"a standby with nothing made: {nothing}"
    store = await open_store(standby.url, schema=schema)
    wrong = await until(READ, store)
    await asyncio.to_thread(standby.promote)
    wrong = wrong or await until(WRITTEN, store)
    await store.aclose()
    return wrong and f"a standby: {wrong}"


def locked(server: Any) -> None:
    """Ask those for a password who are of the role `locked`."""
    rules = server.pgdata / "pg_hba.conf"
    rules.write_text(f"local all +locked scram-sha-256\n{rules.read_text()}")


def run(_n: int, _seed: int, bug: str | None) -> Verdict:
    """Every case on a server that nobody else uses, and what happens while a store is open."""
    schema, misses = new_schema(), list[str | None]()
    with own_server() as server:
        url = url_of(server)
        locked(server)
        asyncio.run(tell(url, "CREATE ROLE locked; SELECT pg_reload_conf()"))
        for each in CASES:
            misses.append(asyncio.run(miss(url, each, bug=bool(bug))))
            if bug and misses[-1]:
                break
        else:
            misses.append(asyncio.run(turned(url)))
            asyncio.run(tell(url, ddl(schema)))
            with standby_of(server) as standby:
                misses.append(asyncio.run(followed(standby, schema)))
    found = [each for each in misses if each]
    return Verdict(failed=len(found), facts={"cases": len(misses), "first": "; ".join(found[:9])})


GATES = [
    Gate(
        name="T15-postgres",
        promise="where nothing can be kept is said by name, and reading goes on, on postgres",
        full=1,
        run=run,
        bugs=("fall-back-to-memory",),
    )
]
