"""How values are put into words for people."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime

from memkit.models import Recalled, Scope


def safe(text: str) -> str:
    """`text` on one line, without what could steer a terminal."""
    line = " ".join(text.split())
    if line.isprintable():
        return line
    return "".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in line)


def scope_options(scope: Scope) -> dict[str, str]:
    """What of a scope is set, by the option that says it."""
    named = {"--user": scope.user_id, "--agent": scope.agent_id, "--workflow": scope.workflow_id}
    return {option: value for option, value in named.items() if value is not None}


def scope_words(scope: Scope) -> str:
    """A scope as its options: `--user alice --agent coder`."""
    return " ".join(f"{option} {value}" for option, value in scope_options(scope).items()) or (
        "(unset)"
    )


def rounded(found: Iterable[Recalled]) -> list[Recalled]:
    """The same with numbers as people take them: 0.7, not what is left of it after a second."""
    return [
        replace(each, importance=round(each.importance, 4), score=round(each.score, 4))
        for each in found
    ]


def date(moment: datetime | None) -> str:
    """A date as people read it, in UTC to the minute."""
    return "" if moment is None else f"{moment.astimezone(UTC):%Y-%m-%d %H:%M}"


def counted(number: int, noun: str) -> str:
    """`1 item`, `2 items`, `1,000 items`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
