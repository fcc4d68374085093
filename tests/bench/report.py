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


def table(measures: Sequence[Measure]) -> str:
    """Markdown, a line for each measure."""
    rows = [_cells(each) for each in measures]
    lines = [HEADINGS, tuple("---" for _ in HEADINGS), *rows]
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
