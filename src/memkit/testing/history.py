"""What was asked of a memory and what was answered, and whether what is left can come of it.

Every operation names a thing by a key of its own: a message key, an item, whatever is stored
once. `invoke` says that it begins, and then `ok` that it took effect, `fail` that it did not,
or `unknown` that nobody knows: cancelled, killed, or the answer lost. An `invoke` that nothing
follows is unknown too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

Kind = Literal["add", "forget"]
Stage = Literal["invoke", "ok", "fail", "unknown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryEvent:
    """One line of a history. `operation` ties an `invoke` to what became of it."""

    operation: int
    kind: Kind
    stage: Stage
    key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """What cannot have come of the history.

    `lost`: acknowledged, forgotten by nobody, and not there. `forgotten`: there although a
    forget of it, begun after the last add, was acknowledged. `unasked`: there although nobody
    added it, or only calls that failed. `doubled`: there more than once.
    """

    key: str
    what: Literal["lost", "forgotten", "unasked", "doubled"]


@dataclass(frozen=True, slots=True)
class _Operation:
    """When an operation began and ended (`end` of None: it may take effect at any time)."""

    kind: Kind
    outcome: Stage
    begin: int
    end: int | None


def check(history: Sequence[HistoryEvent], final: Iterable[str]) -> list[Violation]:
    """Every key of `final` (each as often as it is there) against `history`."""
    present = Counter(final)
    operations = _operations(history)
    return [
        Violation(key=key, what=what)
        for key in sorted(operations.keys() | present.keys())
        for what in _wrong(operations.get(key, []), present[key])
    ]


def _operations(history: Sequence[HistoryEvent]) -> dict[str, list[_Operation]]:
    ends: dict[int, tuple[int, Stage]] = {
        event.operation: (place, event.stage)
        for place, event in enumerate(history)
        if event.stage not in {"invoke", "unknown"}
    }
    open_end: tuple[int | None, Stage] = (None, "unknown")
    found: dict[str, list[_Operation]] = {}
    for begin, event in enumerate(history):
        if event.stage == "invoke":
            end, outcome = ends.get(event.operation, open_end)
            found.setdefault(event.key, []).append(_Operation(event.kind, outcome, begin, end))
    return found


def _wrong(
    operations: Sequence[_Operation], present: int
) -> Iterator[Literal["lost", "forgotten", "unasked", "doubled"]]:
    adds = [each for each in operations if each.kind == "add" and each.outcome != "fail"]
    forgets = [each for each in operations if each.kind == "forget" and each.outcome != "fail"]
    if present > 1:
        yield "doubled"
    if present and not adds:
        yield "unasked"
    elif present and any(_is_after(each, adds) for each in forgets):
        yield "forgotten"
    if not present and any(each.outcome == "ok" and _stands(each, forgets) for each in adds):
        yield "lost"


def _is_after(forget: _Operation, adds: Sequence[_Operation]) -> bool:
    """Whether an acknowledged forget began when every add had ended."""
    return forget.outcome == "ok" and all(
        add.end is not None and add.end < forget.begin for add in adds
    )


def _stands(add: _Operation, forgets: Sequence[_Operation]) -> bool:
    """Whether no forget can have taken effect after this acknowledged add."""
    return all(forget.end is not None and forget.end < add.begin for forget in forgets)
