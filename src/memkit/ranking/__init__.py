"""Which candidates are recalled, and in which order: pure functions over what a store found."""

from memkit.ranking.budget import fit
from memkit.ranking.order import rank
from memkit.ranking.weights import DEFAULT_WEIGHTS, Weights

__all__ = ["DEFAULT_WEIGHTS", "Weights", "fit", "rank"]
