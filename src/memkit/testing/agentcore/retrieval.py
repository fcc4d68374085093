"""How near a text is to a query: a deterministic stand-in for the service's embeddings."""

from __future__ import annotations

import math
import re
from collections import Counter
from functools import lru_cache

WORD = re.compile(r"\w+")
GRAM = 3
WORD_WEIGHT = 3


def similarity(query: str, text: str) -> float:
    """Return the cosine of both texts' words and trigrams, 0..1."""
    asked, stored = _features(query), _features(text)
    shared = sum(weight * stored[feature] for feature, weight in asked.items())
    norms = _norm(asked) * _norm(stored)
    return min(1.0, round(shared / norms, 6)) if norms else 0.0


@lru_cache(maxsize=4_096)
def _features(text: str) -> Counter[str]:
    features: Counter[str] = Counter()
    for word in WORD.findall(text.casefold()):
        features[word] += WORD_WEIGHT
        padded = f"^{word}$"
        features.update(padded[i : i + GRAM] for i in range(len(padded) - GRAM + 1))
    return features


def _norm(features: Counter[str]) -> float:
    return math.sqrt(sum(weight * weight for weight in features.values()))
