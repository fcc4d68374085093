"""What extraction makes of an event, one function per kind of strategy; tests bring their own."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from memkit.testing.agentcore.values import Members, Params, as_members, render_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memkit.testing.agentcore.events import Event

LONGEST_SUMMARY = 4_000


class Source(NamedTuple):
    """What an extractor sees. `before` is the text of the record that it keeps rewriting."""

    event: Event
    strategy_id: str
    before: str | None


@dataclass(frozen=True)
class Extraction:
    """One text to be remembered. `replaces` rewrites the record of this namespace."""

    text: str
    metadata: Members = field(default_factory=dict)
    replaces: bool = False


Extractor: TypeAlias = Callable[[Source], Iterable[Extraction]]


def built_in_extractors() -> dict[str, Extractor]:
    """Return the extractors by kind; self-managed strategies have none."""
    return {
        "semantic": statements,
        "preference": statements,
        "summary": running_summary,
        "episodic": running_summary,
    }


def statements(source: Source) -> Iterator[Extraction]:
    """Remember every text of the user, and every JSON document, as it is."""
    for role, text in texts(source.event):
        if role in {"USER", "JSON"}:
            yield Extraction(text)


def running_summary(source: Source) -> Iterator[Extraction]:
    """Keep one record per namespace: the end of the conversation."""
    lines = [source.before] if source.before else []
    lines += [f"{role}: {text}" for role, text in texts(source.event)]
    if len(lines) > bool(source.before):
        yield Extraction("\n".join(lines)[-LONGEST_SUMMARY:], replaces=True)


def texts(event: Event) -> Iterator[tuple[str, str]]:
    """Yield role and text of what extraction can read: never blobs."""
    for entry in event.payload:
        part = Params(as_members(entry))
        if "conversational" in part:
            said = part.part("conversational")
            yield said.text("role"), said.part("content").text("text")
        elif "json" in part:
            yield "JSON", render_json(part.part("json").members["content"]).decode()
