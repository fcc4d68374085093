"""The table, and the same as JSON."""

from __future__ import annotations

import json
import os
import platform
import sqlite3
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime

from tests.bench.bars import Measure

HEADINGS = ("store", "what", "bar", "goal", "measured", "memkit", "beside", "")
OF_PEERS = ("store", "peer", "bar", "memkit is faster", "memkit", "peer", "raw", "")


def tables(measures: Sequence[Measure]) -> str:
    """Markdown: what has the raw driver beside it, then what has peers."""
    own = [_cells(each) for each in measures if each.raw is None]
    peers = [_of_peer(each, each.raw) for each in measures if each.raw is not None]
    sorts = [(HEADINGS, own), (OF_PEERS, peers)]
    return "\n\n".join(_table(headings, rows) for headings, rows in sorts if rows)


def line_of(measure: Measure) -> str:
    """The line of one measure."""
    return tables([measure]).rpartition("\n")[2]


def _table(headings: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [headings, tuple("---" for _ in headings), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _cells(measure: Measure) -> tuple[str, ...]:
    bar = measure.bar
    return (
        measure.store,
        f"{measure.what} ({measure.note})" if measure.note else measure.what,
        f"{bar}{_unit(measure)}" if bar else "",
        f"{bar.goal:g}{_unit(measure)}" if bar and bar.goal is not None else "",
        f"{measure.value:.3g}{_unit(measure)}",
        _seconds(measure.memkit),
        _seconds(measure.beside),
        "missed" if measure.missed else "",
    )


def _of_peer(measure: Measure, raw: float) -> tuple[str, ...]:
    return (
        measure.store,
        measure.what,
        f"{measure.bar}{_unit(measure)}" if measure.bar else "",
        f"{measure.value:.3g}{_unit(measure)}",
        _of_raw(measure.memkit, raw),
        _of_raw(measure.beside, raw),
        _seconds(raw),
        "missed" if measure.missed else "",
    )


def _of_raw(seconds: float | None, raw: float) -> str:
    return "" if seconds is None else f"{_seconds(seconds)} ({seconds / raw:.3g}x)"


def _unit(measure: Measure) -> str:
    return f" {measure.unit}" if measure.unit == "s" else measure.unit


def _seconds(seconds: float | None) -> str:
    if seconds is None:
        return ""
    return f"{seconds * 1e3:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"


def circumstances() -> dict[str, object]:
    """What the figures depend on, beside the code."""
    return {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "cores": os.cpu_count(),
        "load": [round(each, 2) for each in os.getloadavg()],
    }


def document(measures: Sequence[Measure], arguments: dict[str, object]) -> str:
    """Everything, for programs."""
    listed = [asdict(each) | {"missed": each.missed} for each in measures]
    return json.dumps(
        {"arguments": arguments, "circumstances": circumstances(), "measures": listed}, indent=2
    )
