"""Extraction without a model: every statement is kept as it was said."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC
from itertools import islice

from memkit.extraction import LONGEST_CONTENT, fitting_kind
from memkit.models import Extraction, ExtractionRequest, Kind, Message, Origin, Proposal, Turn
from memkit_backends.extractors.split import split_text

_WORD = re.compile("[^\\W_]+(?:['\u2019][^\\W_]+)*")
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]"
)
_NAME = re.compile(r"(?<=\w )([^\W\d_])[^\W\d_]")

_FEW_WORDS = 2
_LONG_WORD = 10
_FEW_SIGNS = 3
_MANY_WORDS = 12
_LONGEST_NAME = 80
_ORIGINS: dict[str, Origin] = {"user": "user", "assistant": "assistant"}


class VerbatimExtractor:
    """Proposes each turn of user and assistant that says something, with speaker and date.

    `2023-05-08 Caroline: I went to a support group yesterday.` The words are kept as they
    are; a turn is cut in pieces only where it exceeds the longest content. Turns of tools and
    of the system, reasoning, and turns that say nothing (see `says_something`) are left out.
    For the importance see `salience`. The kind is episodic, if that is asked for.
    """

    fingerprint = "verbatim/1"

    async def extract(self, request: ExtractionRequest) -> Extraction:
        """The statements of `request.turns`. Never fails, and calls nobody."""
        kind = fitting_kind("episodic", request.strategies)
        return Extraction(
            proposals=tuple(
                proposal for turn in request.turns for proposal in _statements(turn, kind)
            )
        )


def says_something(text: str) -> bool:
    """Whether `text` is more than a greeting, a thank-you or a nod, in any language.

    It is if it has two words; or one that is long, has a digit, or consists of at least
    three signs of a script that leaves no blanks. When in doubt it is: lost is worse.
    """
    words = [match[0] for match in islice(_WORD.finditer(text), _FEW_WORDS)]
    if len(words) == _FEW_WORDS:
        return True
    return any(
        len(word) >= _LONG_WORD
        or any(map(str.isdigit, word))
        or len(_UNSPACED.findall(word)) >= _FEW_SIGNS
        for word in words
    )


def salience(text: str, *, by_user: bool) -> float:
    """How important a statement seems by its plain looks, from 0.5 to 0.8.

    0.5, and 0.1 more for each of: a dozen words (or two dozen signs without blanks); a digit,
    or a capital within a sentence, as names and dates have; and the user having said it. In
    two of three public sets of conversations each of them is more frequent in turns that
    answer questions later.
    """
    words = sum(1 + len(_UNSPACED.findall(match[0])) // 2 for match in _WORD.finditer(text))
    is_specific = any(map(str.isdigit, text)) or any(
        match[1].isupper() for match in _NAME.finditer(text)
    )
    return round(0.5 + 0.1 * ((words >= _MANY_WORDS) + is_specific + by_user), 1)


def _statements(turn: Turn, kind: Kind) -> Iterator[Proposal]:
    message = turn.message
    text = message.text.strip()
    if message.role not in _ORIGINS or not says_something(text):
        return
    heading = _heading(message)
    for piece in map(str.strip, split_text(text, LONGEST_CONTENT - len(heading))):
        if not piece:
            continue
        yield Proposal(
            content=heading + piece,
            kind=kind,
            importance=salience(piece, by_user=message.role == "user"),
            sources=(turn.number,),
            origin=_ORIGINS[message.role],
        )


def _heading(message: Message) -> str:
    """Date and speaker. No date rather than today's, which would differ on a second reading.

    The date is that of UTC, as the item's own is wherever it is shown.
    """
    speaker = " ".join((message.name or message.role).split())[:_LONGEST_NAME]
    date = f"{message.time.astimezone(UTC).date().isoformat()} " if message.time else ""
    return f"{date}{speaker}: "
