"""What the configuration says about items that a run makes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING

from memkit.decay import Policy
from memkit.models import Kind, Origin

if TYPE_CHECKING:
    from memkit.redact import Redactor


def _usual_policy(_: Kind) -> Policy:
    return Policy()


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What the configuration says about items that a run makes.

    `policy` and `ttl` go by kind. `importance` is for proposals without one. Items whose
    origin is among `quarantined` are kept out of every answer until they are released, and
    end nothing. One run ends at most `ended_share` of the items that were offered to the
    extractor, though always up to `ended_always`: a model may propose, not wipe.
    """

    policy: Callable[[Kind], Policy] = _usual_policy
    ttl: Mapping[Kind, timedelta] = field(default_factory=dict)
    language: str = "english"
    importance: float = 0.5
    redactor: Redactor | None = None
    quarantined: frozenset[Origin] = frozenset({"tool"})
    ended_share: float = 0.25
    ended_always: int = 3
