"""T10: connections cut at the worst moments lose nothing acknowledged, and double nothing."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from collections.abc import Awaitable
from dataclasses import replace
from typing import get_args

from tests.gates.load import Load, open_retrying
from tests.gates.postgres import open_at, schema_on
from tests.gates.progress import Progress
from tests.gates.proxy import Fault, Proxy
from tests.gates.verdict import Gate, Verdict
from tests.postgres.server import own_server, parted, url_of, with_settings

DEADLINE = 2.0
GRACE = 1.0
"""Seconds after its deadline by which every call is over."""

FAULTS: tuple[Fault, ...] = get_args(Fault)
WEIGHTS = {"uncommitted": 6, "unanswered": 6, "cut": 3, "half": 3, "delay": 2, "hole": 0.5}


async def tried(url: str, socket: str, n: int, seed: int, bug: str | None) -> Verdict:
    """`n` faults, one in each call."""
    chance, proxy = random.Random(seed), Proxy(socket)
    schema = parted(url)[1]["schema"]
    location = with_settings(await proxy.start(), schema=schema)
    opened = open_retrying if bug else open_at
    load = Load(await opened(location, deadline=DEADLINE, acquire_timeout=DEADLINE))
    late, kinds = 0, Counter[str]()
    progress = Progress(n)
    while proxy.happened < n:
        progress.at(proxy.happened)
        if chance.random() < 0.1:
            proxy.cut_all()
        proxy.fault = chance.choices(FAULTS, [WEIGHTS[each] for each in FAULTS])[0]
        kinds[proxy.fault] += 1
        begun = time.monotonic()
        await asyncio.gather(*any_calls(load, chance))
        late += time.monotonic() - begun > DEADLINE + GRACE
        proxy.fault = None
    await load.store.aclose()
    await proxy.aclose()
    load.store = await open_at(url)
    await load.drain()
    verdict = load.account.verdict(await load.holdings())
    await load.store.aclose()
    facts = {**verdict.facts, "faults": repr(dict(kinds)), "errors": repr(dict(load.errors))}
    return replace(verdict, failed=verdict.failed + late, facts={**facts, "late": late})


def any_calls(load: Load, chance: random.Random) -> list[Awaitable[object]]:
    """A call or two: of a session that is known, or new, or of something else."""
    calls = [
        lambda: load.record(f"session-{chance.randrange(5)}"),
        lambda: load.record(f"new-{load.said}"),
        load.consolidate,
        load.read,
    ]
    return [each() for each in chance.choices(calls, [4, 3, 2, 1], k=chance.choice([1, 1, 2]))]


def run(n: int, seed: int, bug: str | None) -> Verdict:
    """On a server that nobody else uses."""
    with own_server() as server, schema_on(url_of(server)) as location:
        socket = f"{server.get_postmaster_info().socket_dir}/.s.PGSQL.5432"
        return asyncio.run(tried(location, socket, n, seed, bug))


GATES = [
    Gate(
        name="T10",
        promise="cut connections, also after COMMIT, lose nothing and double nothing",
        full=300,
        least=30,
        run=run,
        bugs=("retry-unkeyed",),
    )
]
