"""Measure whole public calls beside the raw driver: `python -m tests.bench --items 1000000`."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, fields
from pathlib import Path

from tests.bench import consolidations, decays, fsync, recalls, records
from tests.bench.bars import Bar, Measure
from tests.bench.on_postgres import PostgresPlace, server
from tests.bench.on_sqlite import SqlitePlace
from tests.bench.peers import comparing
from tests.bench.peers.peer import Peer
from tests.bench.peers.present import peers_of
from tests.bench.places import Place
from tests.bench.population import Population
from tests.bench.report import circumstances, document, line_of, tables

QUIET, SLOW = "quiet disk", f"+{fsync.MILLISECONDS} ms fsync"
LIBRARY = "MEMKIT_BENCH_SHIM"
"""Set in the process that runs under the shim, so that it does not start another."""

SEEDED: dict[str, Callable[[Place, list[int], int], AsyncIterator[Measure]]] = {
    "inject": recalls.inject,
    "kinds": recalls.kinds,
    "big": recalls.big,
    "text": recalls.text,
    "growth": recalls.growth,
    "decay": decays.decay,
}
"""What needs stores of items."""

BESIDE: dict[str, Callable[[Place, list[Peer], list[int], int], AsyncIterator[Measure]]] = {
    "inject": comparing.inject,
    "big": comparing.big,
}
"""What of it the peers are asked, too."""

WRITING = ("record", "consolidate")
NAMES = (*SEEDED, *WRITING)

ABOUT = """\
Measures what memkit promises of its speed: whole public calls of `open_memory()` on its own
loop, models and rendering included, beside the raw driver asking the same in the same run.
Subjects take turns in rounds and each figure is a median of what the rounds say, so only
ratios count: absolute times depend on the machine and on what else it does. A load well below
the number of cores gives figures that can be repeated.
"""
EXAMPLES = f"""\
what is measured (--only NAME, as often as you like):
  inject       the 20 most important of a scope of 100, at 10k, 100k and N items
  kinds        the same in a scope with three kinds that fade by different factors
  big          one scope of 100k items beside scopes of 100
  text         inject with a query of 8 words in a scope of 1,000 among N items
  growth       the same scopes among 10k items and among N
  record       10 new messages (SQLite: NORMAL, FULL; Postgres: also a history of 510)
  consolidate  1,000 episodes in 100 scopes, the model answering at once
  decay        1 % of N items expired

examples:
  python -m tests.bench --items 20000 --store sqlite              half a minute
  python -m tests.bench --items 1000000 --keep                    what docs/speed.md shows
  python -m tests.bench --peers --only inject --only big          beside other packages
  python -m tests.bench --only record --only consolidate          what fsync decides

Postgres is the one of the wheel, or the one that MEMKIT_TEST_POSTGRES names. Where there is a
C compiler, record is measured again with {fsync.MILLISECONDS} ms added to every fsync by a
preloaded shim.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """What was asked for."""

    items: int
    store: str
    only: tuple[str, ...]
    rounds: int
    peers: bool
    json: Path
    keep: bool
    strict: bool

    @property
    def sizes(self) -> list[int]:
        """Of the stores to be looked at, rising."""
        return sorted({min(size, self.items) for size in (10_000, 100_000, self.items)})


def parsed() -> Arguments:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench",
        description=ABOUT,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--items", type=int, default=100_000, help="of the largest store")
    parser.add_argument("--store", choices=("sqlite", "postgres", "both"), default="both")
    parser.add_argument("--only", action="append", choices=NAMES, default=[], metavar="NAME")
    parser.add_argument("--rounds", type=int, default=7, help="in which subjects take turns")
    parser.add_argument("--peers", action="store_true", help="measure other packages, too")
    parser.add_argument(
        "--json",
        type=Path,
        default=Path("speed.json"),
        help="where the figures go, too; speed.json",
    )
    parser.add_argument("--keep", action="store_true", help="keep the seeded stores for next time")
    parser.add_argument("--strict", action="store_true", help="exit 1 when a bar is missed")
    given = vars(parser.parse_args())
    if given["items"] < 10_000:  # the smallest store of the table
        parser.error("--items is at least 10000")
    return Arguments(**given | {"only": tuple(given["only"]) or NAMES})


def told(what: str) -> None:
    """Say where it stands."""
    print(f"{time.strftime('%H:%M:%S')} {what}", file=sys.stderr, flush=True)  # noqa: T201  # progress


@contextmanager
def folder_of(arguments: Arguments) -> Iterator[Path]:
    """Where the stores are."""
    if arguments.keep:
        folder = Path(tempfile.gettempdir()) / "memkit-bench"
        folder.mkdir(exist_ok=True)
        yield folder
        return
    with tempfile.TemporaryDirectory(prefix="memkit-bench-") as temporary:
        yield Path(temporary)


def collected(measures: AsyncIterator[Measure]) -> list[Measure]:
    """Measure, and say each line as it comes."""

    async def collect() -> list[Measure]:
        found = []
        async for measure in measures:
            told(line_of(measure))
            found.append(measure)
        return found

    return asyncio.run(collect())


def seeded(place: Place, arguments: Arguments) -> Iterator[Measure]:
    """What needs stores of items."""
    wanted = [name for name in SEEDED if name in arguments.only]
    if not wanted:
        return
    for items in arguments.sizes:
        begun = time.monotonic()
        place.seed(Population(items))
        told(f"{place.name}: {items:,} items are there after {time.monotonic() - begun:.0f} s")
    for name in wanted:
        yield from collected(SEEDED[name](place, arguments.sizes, arguments.rounds))


def beside_peers(place: PostgresPlace | SqlitePlace, arguments: Arguments) -> Iterator[Measure]:
    """What the peers that are installed are asked, too, by stores of items and by record."""
    peers = peers_of(place, told) if arguments.peers else []
    wanted = [name for name in BESIDE if name in arguments.only] if peers else []
    for items in arguments.sizes if wanted else []:
        for peer in peers:
            begun = time.monotonic()
            asyncio.run(peer.seed(Population(items)))
            told(f"{peer.name}: {items:,} items are there after {time.monotonic() - begun:.0f} s")
    for name in wanted:
        yield from collected(BESIDE[name](place, peers, arguments.sizes, arguments.rounds))
    if peers and "record" in arguments.only:
        yield from collected(comparing.record(place, peers, arguments.rounds))


def on_sqlite(folder: Path, arguments: Arguments, library: Path | None) -> Iterator[Measure]:
    """Everything that is measured on SQLite."""
    with tempfile.TemporaryDirectory(prefix="memkit-bench-") as scratch:
        place = SqlitePlace(folder, Path(scratch))
        yield from seeded(place, arguments)
        if "record" in arguments.only:
            yield from collected(records.on_sqlite(place, arguments.rounds))
            quiet = records.full_on_sqlite(place, arguments.rounds, bar=None, regime=QUIET)
            yield from collected(quiet)
            if library is not None:
                yield from under_shim(Path(scratch), arguments, library)
        if "consolidate" in arguments.only:
            yield from collected(consolidations.consolidation(place, arguments.rounds))
        yield from beside_peers(place, arguments)


def under_shim(scratch: Path, arguments: Arguments, library: Path) -> Iterator[Measure]:
    """FULL on a slower disk, in a process of its own."""
    command = [sys.executable, "-m", "tests.bench", "--rounds", str(arguments.rounds)]
    environment = os.environ | {"LD_PRELOAD": str(library), LIBRARY: str(scratch)}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
    for line in json.loads(done.stdout):
        bar = Bar(**line.pop("bar"))
        yield Measure(bar=bar, **line)


def slow_disk(scratch: Path, rounds: int) -> int:
    """The child of `under_shim`: measures go to standard output."""
    measures = collected(
        records.full_on_sqlite(
            SqlitePlace(scratch, scratch),
            rounds,
            bar=Bar(sort="least", bound=5.0, goal=8.0),
            regime=SLOW,
        )
    )
    listed = [{each.name: getattr(one, each.name) for each in fields(one)} for one in measures]
    for line in listed:
        bar = line["bar"]
        line["bar"] = {each.name: getattr(bar, each.name) for each in fields(bar)}
    json.dump(listed, sys.stdout)
    return 0


def on_postgres(folder: Path, arguments: Arguments, library: Path | None) -> Iterator[Measure]:
    """Everything that is measured on Postgres."""
    with server(folder / "postgres", keep=arguments.keep) as url:
        place = PostgresPlace(url)
        yield from seeded(place, arguments)
        if "record" in arguments.only:
            bar = Bar(sort="least", bound=0.5, goal=0.65)
            quiet = records.on_postgres(place, arguments.rounds, bar=bar, regime=QUIET)
            yield from collected(quiet)
        if "consolidate" in arguments.only:
            yield from collected(consolidations.consolidation(place, arguments.rounds))
        yield from beside_peers(place, arguments)
    if "record" in arguments.only and library is not None:
        with server(folder / "postgres-slow", preload=library) as url:
            bar = Bar(sort="least", bound=0.9, goal=0.95)
            slow = records.on_postgres(PostgresPlace(url), arguments.rounds, bar=bar, regime=SLOW)
            yield from collected(slow)


def main() -> int:
    """Measure, print, and answer with the exit code."""
    if LIBRARY in os.environ:
        arguments = parsed()
        return slow_disk(Path(os.environ[LIBRARY]), arguments.rounds)
    arguments = parsed()
    told(f"load {circumstances()['load']} on {os.cpu_count()} cores")
    measures: list[Measure] = []
    with ExitStack() as stack:
        folder = stack.enter_context(folder_of(arguments))
        library = fsync.shim(folder)
        if library is None:
            told("no C compiler: nothing is measured on a slower disk")
        for name, measure in (("sqlite", on_sqlite), ("postgres", on_postgres)):
            if arguments.store in {name, "both"}:
                measures += measure(folder, arguments, library)
    print(tables(measures))  # noqa: T201  # the report
    plain = {each.name: str(getattr(arguments, each.name)) for each in fields(arguments)}
    arguments.json.write_text(document(measures, plain))
    missed = sum(each.missed for each in measures)
    told(f"{missed} bars missed; load {circumstances()['load']}")
    return 1 if missed and arguments.strict else 0


if __name__ == "__main__":
    sys.exit(main())
