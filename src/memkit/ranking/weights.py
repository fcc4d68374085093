"""What counts how much in ranking."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Self

from memkit.errors import ConfigError


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """What counts how much. One default for all data, measured.

    `text`, `importance`, `recency` and `origin` are the shares of a mix of values from 0 to
    1. `neighbor` is how much of a message's evidence holds for the next one; the square of it
    holds for the next but one. `saturation` and `length` are BM25's k1 and b. Items that
    share at least `duplicate` of their words say the same; above 1, none do.
    """

    text: float = 0.945
    importance: float = 0.03
    recency: float = 0.01
    origin: float = 0.015
    neighbor: float = 0.75
    saturation: float = 2.0
    length: float = 0.8
    duplicate: float = 0.9

    @classmethod
    @lru_cache(maxsize=16)
    def of(cls, **weights: float) -> Self:
        """The same as making them. Each recall asks, and few programs have several answers."""
        return cls(**weights)

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not 0 <= value < math.inf:
                raise ConfigError(f"the weight {field.name} must be 0 or more, not {value}")
        if self.length > 1:
            raise ConfigError(f"the weight length must be at most 1, not {self.length}")


DEFAULT_WEIGHTS = Weights()
