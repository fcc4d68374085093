"""D01: what people type into a search is text, never a query language."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial

from memkit.memory import Memory
from memkit.models import Scope
from memkit.testing.hostile import TEXTS
from memkit.text import tokenize
from tests.hostile.place import SCOPE, Place, cases, must, same

STORED = "prefers C++ and uses a multi-agent planner"
SLOWEST = 2.0

FOUND = (
    "C++ AND",
    "ｍｕｌｔｉ－ａｇｅｎｔ",  # noqa: RUF001  # full width
    "multi-agent",
    "MULTI agents",
    "planner\0",
    "planner\ud83d",
    'plan"planner',
    '"planner',
    'planner"',
    "planner'; DROP TABLE item; --",
    "planner*",
    "planner*)",
    "(planner",
    "planner) OR (1=1",
    "NEAR(planner uses, 2)",
    "planner NOT planner",
    "planner AND",
    "OR planner",
    "content:planner",
    "item_text : planner",
    "{content tokens}: planner",
    "^planner",
    "+planner -uses",
    "!planner & !uses",
    "planner <-> uses",
    "planner | uses",
    "planner:*A",
    "'planner' 'uses",
    "$$planner$$",
    "$1 planner :name ?1 %s",
    "%planner%",
    "_planner_",
    "[planner]",
    "(?i)planner.*",
    "\\planner\\",
    "${planner} $(planner) `planner`",
    "/*planner*/ --",
    "planner\u2028\u2029\x85",
    "plan\u00adner",
    "plan\u200bner",
    "\u202eplanner\u202c",
    "\ufeffplanner",
    "\u201cplanner\u201d\u2026",
    "planner \U0001f389",
    "planner" + " x" * 60_000,
    "planner " + "\u0301" * 5_000,
)
"""Each holds a word of what is stored."""

NOT_FOUND = (
    "",
    "   ",
    "-",
    "*",
    '"',
    '""',
    "()",
    "NEAR()",
    "%",
    "_",
    "\\",
    ".*",
    "^.*$",
    "\0",
    "\ud83d",
    "\ufffd",
    "\u200b",
    "\x01\x02\x1f",
    "\U0001f600\U0001f600",
    "' OR '1'='1",
    "* OR *",
    "user:admin",
    "plann",
    "lanner",
    "1xplanner",
    "item_text",
    "SELECT * FROM item",
    "sqlite_master",
    "%" * 5_000,
    "[" * 10_000,
    "\ufdfa" * 1_000,
    "x" * 1_000_000,
    "x " * 5_000_000,
)
"""None holds a word of it, though some hold a piece."""

WRITTEN = (
    ("naïve café", "cafe naive"),
    ("STRASSE und Straße", "straße"),
    ("İstanbul trip", "istanbul"),
    ("東京に住んでいます", "東京"),
    ("한국어 문장입니다", "문장"),
    ("العَرَبِيَّة", "العربية"),
    ("ไทยไม่มีช่องว่าง", "ช่องว่าง"),
    ("живёт в Москве", "москве"),
    ("o'clock", "O\u2019Clock"),
    ("C# and F#", "c#"),
    ("a\u0301pple", "ápple"),
    ("ﬁle ①", "file 1"),
)
"""Stored, and asked for in the way in which others write it."""


async def asked(memory: Memory, query: str, scope: Scope = SCOPE) -> list[tuple[str, float]]:
    """What a search finds, the same for inject where it may not fall back on importance."""
    hits = await memory.search(scope, query, limit=5)
    injected = await memory.inject(scope, query=query, min_score=0.01, token_budget=10_000)
    same([each.content for each in injected.items], [each.content for each in hits])
    return [(each.content, round(each.score, 9)) for each in hits]


async def search(query: str, place: Place, *, stored: str = STORED, hit: bool) -> object:
    """Ask for `query` where only `stored` is, beside a neighbor who has the same words."""
    async with place.memory() as memory:
        await memory.remember(SCOPE, stored)
        begun = time.monotonic()
        found = await asked(memory, query)
        must(time.monotonic() - begun < SLOWEST, f"took {time.monotonic() - begun:.1f} s")
        same([content for content, _ in found], [stored] * hit)
        return found


async def find_itself(text: str, place: Place) -> object:
    """A text that has a word is found by itself."""
    async with place.memory() as memory:
        item = await memory.remember(SCOPE, text[:10_000])
        found = await asked(memory, text)
        same([content for content, _ in found], [item.content] * bool(tokenize(text)))
        return found


async def given(queries: Sequence[str], stored: str, scope: str, place: Place) -> object:
    """The case as it was handed to us: many queries of one stored fact."""
    async with place.memory() as memory:
        await memory.remember(Scope(scope), stored)
        answers = {query: await asked(memory, query, Scope(scope)) for query in queries}
    for query in ("multi-agent", "C++ AND"):
        same([content for content, _ in answers[query]], [stored])
    for query in ("", "   ", "-", "*"):
        same(answers[query], [])
    return answers


CASES = (
    *cases("search", ((f"{each[:24]!r} finds", partial(search, each, hit=True)) for each in FOUND)),
    *cases(
        "search",
        (
            (f"{number}. {each[:24]!r} finds nothing", partial(search, each, hit=False))
            for number, each in enumerate(NOT_FOUND)
        ),
    ),
    *cases(
        "search",
        (
            (f"{query} in {stored}", partial(search, query, stored=stored, hit=True))
            for stored, query in WRITTEN
        ),
    ),
    *cases("search", ((f"{each[:24]!r} itself", partial(find_itself, each)) for each in TEXTS)),
)
