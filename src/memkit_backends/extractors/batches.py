"""A request in parts that fit a language model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from memkit.extraction import MOST_FACTS
from memkit.models import ExtractionRequest, Message, Role, TextBlock, Turn
from memkit.text import estimate_tokens
from memkit_backends.extractors.split import split_text

_BYTES_PER_TOKEN = 4
_LINE_TOKENS = 30
"""About what a turn costs beside its text: number, date, speaker."""
_OVERLAP = 2


def batches(
    request: ExtractionRequest, *, budget: int, roles: Sequence[Role]
) -> Iterator[ExtractionRequest]:
    """`request` in parts whose turns of `roles` fit in `budget` tokens; together all of it.

    Cut between turns; a longer turn is cut within its text, its pieces keeping its number.
    However short they are, a part has no more turns than its reply may have facts.
    Every part but the first has the last turns before it as context instead of the
    request's own. Context gets a quarter of the budget: its end, for it is not extracted.
    Nothing comes of a request in which nobody of `roles` says anything.
    """
    context = request.context
    for turns in _packed(request.turns, budget, roles):
        heard = [message for message in context if message.role in roles]
        yield request.model_copy(
            update={"turns": turns, "context": _end_of(heard, budget // _BYTES_PER_TOKEN)}
        )
        spoken = [turn.message for turn in turns if turn.message.role in roles]
        context = tuple(spoken[-_OVERLAP:])


def _packed(
    turns: Sequence[Turn], budget: int, roles: Sequence[Role]
) -> Iterator[tuple[Turn, ...]]:
    part: list[Turn] = []
    size = shown = 0
    for piece, cost in _priced(turns, budget, roles):
        if size and (size + cost > budget or shown == MOST_FACTS):
            yield tuple(part)
            part, size, shown = [], 0, 0
        part.append(piece)
        size += cost
        shown += cost > 0
    if size:
        yield tuple(part)


def _priced(
    turns: Sequence[Turn], budget: int, roles: Sequence[Role]
) -> Iterator[tuple[Turn, int]]:
    """Each turn, or its pieces, and what showing it costs: nothing, if it is not shown."""
    for turn in turns:
        if turn.message.role not in roles or not turn.message.text.strip():
            yield turn, 0
            continue
        for text in split_text(turn.message.text, _characters(turn.message.text, budget)):
            piece = turn.model_copy(update={"message": _with_text(turn.message, text)})
            yield piece, min(budget, _LINE_TOKENS + estimate_tokens(text))


def _characters(text: str, budget: int) -> int:
    """How many characters of `text` fit beside the rest of a line, at the least."""
    widest = 1 if text.isascii() else len(max(text).encode("utf-8", "replace"))
    return max(1, (budget - _LINE_TOKENS) * _BYTES_PER_TOKEN // widest)


def _with_text(message: Message, text: str) -> Message:
    if text == message.text:
        return message
    return message.model_copy(update={"content": (TextBlock(text=text),)})


def _end_of(messages: Sequence[Message], budget: int) -> tuple[Message, ...]:
    """The newest messages that fit, and of the first that does not its end."""
    kept: list[Message] = []
    for message in reversed(messages):
        budget -= _LINE_TOKENS
        if budget <= 0:
            break
        longest = _characters(message.text, budget + _LINE_TOKENS)
        if len(message.text) > longest:
            kept.append(_with_text(message, f"… {message.text[-longest:]}"))
            break
        kept.append(message)
        budget -= estimate_tokens(message.text)
    return tuple(reversed(kept))
