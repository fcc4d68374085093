"""How many of the recalled items go into a prompt."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from memkit.models import Recalled
from memkit.render import FRAME, line, render
from memkit.text import estimate_tokens


def fit(
    items: Iterable[Recalled],
    *,
    budget: int,
    count_tokens: Callable[[str], int] = estimate_tokens,
) -> list[Recalled]:
    """The items whose rendering together stays within `budget`, in their order.

    An item that does not fit any more is left out, and a smaller one behind it may still do.
    """
    left = budget - count_tokens(FRAME)
    chosen: list[Recalled] = []
    for item in items:
        cost = count_tokens(f"{line(item)}\n")
        if cost <= left:
            chosen.append(item)
            left -= cost
    if count_tokens is estimate_tokens:
        return chosen  # the whole is never more than its parts
    # Another counter need not be additive: the whole is what has to fit.
    while chosen and count_tokens(render(chosen)) > budget:
        chosen.pop()
    return chosen
