"""Stores that are wrong on purpose, each in one thing: how the kit proves that it can fail."""

from memkit.testing.wrong import (
    adding,
    background,
    cascading,
    changing,
    claiming,
    dating,
    finding,
    forgetting,
    guarding,
    keying,
    leasing,
    merging,
    purging,
    reading,
    recording,
    redacting,
    settling,
)
from memkit.testing.wrong.store import Wrong

__all__ = ["WRONG_STORES", "Wrong"]

_MODULES = (
    adding,
    background,
    cascading,
    changing,
    claiming,
    dating,
    finding,
    forgetting,
    guarding,
    keying,
    leasing,
    merging,
    purging,
    reading,
    recording,
    redacting,
    settling,
)

WRONG_STORES: tuple[type[Wrong], ...] = tuple(
    each
    for module in _MODULES
    for each in vars(module).values()
    if isinstance(each, type) and issubclass(each, Wrong) and each.__module__ == module.__name__
)
"""All of them; `breaks` of each names the one rule that it fails."""
