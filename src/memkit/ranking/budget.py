"""How many of the recalled items go into a prompt."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from memkit.models import Recalled
from memkit.render import FRAME, block, line
from memkit.text import estimate_tokens


def fit(
    items: Iterable[Recalled],
    *,
    budget: int,
    count_tokens: Callable[[str], int] = estimate_tokens,
) -> list[tuple[Recalled, str]]:
    """The items whose rendering together stays within `budget`, in their order, and their lines.

    An item that does not fit any more is left out, and a smaller one behind it may still do.
    """
    left = budget - count_tokens(FRAME)
    chosen: list[tuple[Recalled, str]] = []
    for item in items:
        shown = line(item)
        cost = count_tokens(f"{shown}\n")
        if cost <= left:
            chosen.append((item, shown))
            left -= cost
    if count_tokens is estimate_tokens:
        return chosen  # the whole is never more than its parts
    # Another counter need not be additive: the whole is what has to fit.
    while chosen and count_tokens(block(chosen)) > budget:
        chosen.pop()
    return chosen
