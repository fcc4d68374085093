"""Words of a text, the same for what is stored and what is asked."""

from __future__ import annotations

import unicodedata


def fold(text: str) -> str:
    """`text` for comparison: NFKC, case folded, runs of white space as one blank."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())
