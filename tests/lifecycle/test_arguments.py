"""What callers hand in: whatever is wrong is `InvalidInput`, whichever store would have met it."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any

import pytest

from memkit import InvalidInput, Memory, Scope, open_memory

pytestmark = pytest.mark.anyio

SCOPE = Scope("ann")

Call = Callable[[Memory, Any], Awaitable[object]]

NO_NUMBERS = ("7", b"7", None, math.nan, math.inf, [1], True)
NO_COUNTS = (*NO_NUMBERS, 1.5, -1, 10**30)
NO_TEXTS: tuple[object, ...] = (7, b"x", ["x"], {}, math.nan, 10**30, "\ud800")
NO_SEQUENCES = ("x", b"x", 7, [7], [None], [["x"]], [b"x"], [math.nan], ["\ud800"], {"x": 1})

CALLS: list[tuple[str, Call, tuple[object, ...]]] = [
    ("scan limit", lambda m, x: m.scan("items", limit=x), (*NO_COUNTS, 0)),
    ("scan after", lambda m, x: m.scan("episodes", after=x), NO_TEXTS),
    ("scan session", lambda m, x: m.scan("items", session_id=x), NO_TEXTS),
    ("scan what", lambda m, x: m.scan(x), (*NO_TEXTS, "everything", None)),
    ("jobs limit", lambda m, x: m.jobs(limit=x), (*NO_COUNTS, 0)),
    ("get", lambda m, x: m.get(SCOPE, x), (*NO_SEQUENCES, None)),
    ("retry", lambda m, x: m.retry(x), (*NO_SEQUENCES, None)),
    ("search limit", lambda m, x: m.search(SCOPE, "tea", limit=x), NO_COUNTS),
    ("search score", lambda m, x: m.search(SCOPE, "tea", min_score=x), ("7", math.nan, math.inf)),
    ("search kinds", lambda m, x: m.search(SCOPE, "tea", kinds=x), NO_SEQUENCES),
    ("inject limit", lambda m, x: m.inject(SCOPE, limit=x), ("7", 1.5, -1, 10**30)),
    ("inject budget", lambda m, x: m.inject(SCOPE, token_budget=x), ("7", 1.5, math.nan, -1)),
    ("inject deadline", lambda m, x: m.inject(SCOPE, deadline=x), ("7", math.nan, 10**400)),
    ("inject importance", lambda m, x: m.inject(SCOPE, min_importance=x), ("7", math.nan)),
    ("pin", lambda m, x: m.pin(SCOPE, x), NO_TEXTS),
    ("reinforce", lambda m, x: m.reinforce(SCOPE, x), NO_TEXTS),
    ("update", lambda m, x: m.update(SCOPE, x, content="tea"), NO_TEXTS),
    ("remember kind", lambda m, x: m.remember(SCOPE, "tea", kind=x), (*NO_TEXTS, None)),
    ("remember ttl", lambda m, x: m.remember(SCOPE, "tea", ttl=x), (7, "7d", b"")),
    ("remember metadata", lambda m, x: m.remember(SCOPE, "tea", metadata=x), ("x", 7, [("a",)])),
    ("forget items", lambda m, x: m.forget(SCOPE, items=x), NO_SEQUENCES),
    ("forget episodes", lambda m, x: m.forget(SCOPE, episodes=x), NO_SEQUENCES),
    ("forget session", lambda m, x: m.forget(SCOPE, session_id=x), NO_TEXTS),
    ("forget keys", lambda m, x: m.forget(SCOPE, session_id="s", message_keys=x), NO_SEQUENCES),
    ("replacement", lambda m, x: m.forget(SCOPE, session_id="s", replacement=x), (7, b"", [])),
]


@pytest.mark.parametrize(("call", "wrong"), [each[1:] for each in CALLS], ids=[c[0] for c in CALLS])
async def test_a_wrong_argument_is_invalid_input(
    memory: Memory, call: Call, wrong: tuple[object, ...]
) -> None:
    """No driver complains, and nothing is answered as if the argument had been left out."""
    for value in wrong:
        with pytest.raises(InvalidInput):
            await call(memory, value)


@pytest.mark.parametrize("now", [datetime(2026, 1, 1), None, 0.0])  # noqa: DTZ001  # the point
async def test_a_clock_says_its_time_zone(store_url: str, now: Any) -> None:
    """A naive date is refused when the memory is opened, and not by the first comparison."""
    with pytest.raises(InvalidInput):
        async with open_memory(store_url, clock=lambda: now):
            pass
