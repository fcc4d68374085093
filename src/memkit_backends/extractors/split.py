"""A long text in pieces, none of it lost."""

from __future__ import annotations

import re

_SENTENCE_END = re.compile(
    "[.!?\u2026\u3002\uff01\uff1f\u061f\u0964][\"'\u201d\u2019\u300d)\\]]*\\s*|\n+"
)
_BLANK = re.compile(r"\s+")


def split_text(text: str, longest: int) -> list[str]:
    """`text` cut into pieces of at most `longest` characters; joined they are `text` again.

    A cut falls behind a sentence, else behind a blank, if there is one in the second half.
    """
    pieces: list[str] = []
    start = 0
    while len(text) - start > longest:
        cut = _cut(text, start + longest // 2, start + longest)
        pieces.append(text[start:cut])
        start = cut
    pieces.append(text[start:])
    return pieces


def _cut(text: str, earliest: int, latest: int) -> int:
    for boundary in (_SENTENCE_END, _BLANK):
        ends = [match.end() for match in boundary.finditer(text, earliest, latest)]
        if ends:
            return ends[-1]
    return latest
