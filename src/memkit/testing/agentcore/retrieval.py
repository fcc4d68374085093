"""How near a text is to a query: a deterministic stand-in for the service's embeddings."""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import NamedTuple

WORD = re.compile(r"\w+")
GRAM = 3
WORD_WEIGHT = 3


class Features(NamedTuple):
    """The weighted words and trigrams of a text, and the length of that vector."""

    weights: Counter[str]
    norm: float


def similarity(asked: Features, stored: Features) -> float:
    """Return the cosine of both texts' words and trigrams, 0..1."""
    shared = sum(weight * stored.weights[one] for one, weight in asked.weights.items())
    norms = asked.norm * stored.norm
    return min(1.0, round(shared / norms, 6)) if norms else 0.0


def features(text: str) -> Features:
    """Take a text apart."""
    weights: Counter[str] = Counter()
    for word in WORD.findall(text.casefold()):
        weights[word] += WORD_WEIGHT
        padded = f"^{word}$"
        weights.update(padded[i : i + GRAM] for i in range(len(padded) - GRAM + 1))
    return Features(weights, math.sqrt(sum(weight * weight for weight in weights.values())))
