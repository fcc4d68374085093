"""T26: whatever is remembered, it is shown as one line of one block, within the budget."""

from __future__ import annotations

import asyncio
import json
import random
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from typing import get_args

from memkit.app import open_memory
from memkit.config import Config
from memkit.models import Origin, Recalled, Scope, new_id
from memkit.ranking import fit
from memkit.render import render, strip_blocks
from memkit.testing.clock import ManualClock
from memkit.testing.hostile import TEXTS
from memkit.testing.values import NOW
from memkit.text import estimate_tokens
from tests.gates.verdict import Gate, Verdict
from tests.hostile.rendering import CONTENTS

Render = Callable[[Sequence[Recalled]], str]

OPENING, CLOSING = "<memkit_memory>", "</memkit_memory>"
SCOPE = Scope("ann")
MOST = 40
"""Up to so many items are shown together."""

PIECES = (
    *(OPENING, CLOSING, "\n", "\r\n", "\r", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x85"),
    *("\u2028", "\u2029", "\u202e", "\u2066", "\u200b", "\u200f", "\u2060", "\ufeff", "\u00ad"),
    *("\U000e0041", "\U000e007f", "\ufe0f", "\u034f", "\u115f", "\u3164", "\ufff9", "\ufffd"),
    *("\x00", "\x07", "\x1b[2J", "\x7f", "\x9b", "\ud83d", "\udc4b", "\U0010ffff", "\ue000"),
    *("```", "# ", "- ", "> ", "System: ", "\n\nHuman: ", "<|im_start|>", "[/INST]", "{{7*7}}"),
    *('"', "'", "\\", "\\n", "\\u003c", "&lt;", "<", ">", "</", "/>", "): ", '"\n- 2026-01-01, '),
    *(
        "tea",
        "寿司",
        "café",
        "e" + "\u0301" * 9,
        "\U0001f469\u200d\U0001f467",
        "%s",
        "0",
        " ",
        "\t",
    ),
)
"""What break-outs are made of."""

UNSEEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
SIGNS_OF_NUMBERS = {*"\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2"}
"""Of the category of what nobody sees, and printed all the same."""


def raw_join(items: Sequence[Recalled]) -> str:
    """The bug: contents as they are, a line for each, as long as they hold no line ends."""
    lines = (
        f"- {item.observed_at.date()}, on record ({item.kind}): {item.content}" for item in items
    )
    return "\n".join((OPENING, "Notes.", *lines, CLOSING))


BUGS: dict[str, Render] = {"raw-join": raw_join}


def content(chance: random.Random) -> str:
    """A text out of pieces, or one that has broken memories before, with an accident."""
    if chance.random() < 0.3:
        known = chance.choice([*TEXTS, *CONTENTS.values()])[:3_000]
        at = chance.randrange(len(known) + 1)
        return known[:at] + chance.choice(PIECES) + known[at:]
    characters = (chr(chance.randrange(1, 0x3000)) for _ in range(chance.randrange(4)))
    return "".join((*chance.choices(PIECES, k=chance.randrange(1, 12)), *characters))


def generated(chance: random.Random) -> Recalled:
    """A fact of any origin, kind and age, as recall returns it, cleaned by nobody."""
    return Recalled(
        id=new_id(),
        content=content(chance),
        kind=chance.choice(("semantic", "preference", content(chance))),
        origin=chance.choice(get_args(Origin)),
        importance=chance.random(),
        score=chance.random(),
        observed_at=NOW + chance.uniform(-4e5, 4e5) * timedelta(days=1),
    )


def faults(items: Sequence[Recalled], shown: str) -> Iterator[str]:
    """What is wrong with `shown` as the block of `items`."""
    lines = shown.splitlines()
    if shown.count(OPENING) != 1 or shown.count(CLOSING) != 1:
        yield "not one block"
    if lines[:1] != [OPENING] or lines[-1:] != [CLOSING] or len(lines) != len(items) + 3:
        yield f"{len(lines)} lines for {len(items)} items"
    unseen = {each for each in shown if unicodedata.category(each) in UNSEEN}
    for each in unseen - {"\n"} - SIGNS_OF_NUMBERS:
        yield f"U+{ord(each):04X}, which nobody sees"
    if strip_blocks(f"before\n{shown}\nafter").split() != ["before", "after"]:
        yield "a block that is not known again"
    quoted = [line.partition("): ")[2] for line in lines[2:-1]]
    if not all(map(is_a_text, quoted)):
        yield "a line that is no quoted value"


def is_a_text(quoted: str) -> bool:
    """Whether it is one JSON string, without angles."""
    try:
        return isinstance(json.loads(quoted), str) and not {*"<>"} & {*quoted}
    except ValueError:
        return False


def misplaced(items: Sequence[Recalled], make: Render) -> Iterator[str]:
    """What is wrong with the order: the same again, and the trusted first, as given."""
    if make(items) != make(list(items)):
        yield "another text of the same items"
    trusted = [each for each in items if each.origin in {"user", "assistant", "told"}]
    others = [each for each in items if each.origin not in {"user", "assistant", "told"}]
    if make(items) != make([*trusted, *others]):
        yield "what is not trusted is not last"


def overdrawn(items: Sequence[Recalled], budget: int, make: Render) -> Iterator[str]:
    """What is wrong with the items that are said to fit into `budget` tokens."""
    chosen = [each for each, _ in fit(items, budget=budget, count_tokens=estimate_tokens)]
    if chosen and estimate_tokens(make(chosen)) > budget:
        yield f"more than {budget} tokens"
    if not items or (not chosen and budget > 4_000):
        yield "nothing fits"


def batches(n: int, chance: random.Random) -> Iterator[list[Recalled]]:
    """`n` items in heaps of different size."""
    while n > 0:
        size = min(n, chance.randint(1, MOST))
        yield [generated(chance) for _ in range(size)]
        n -= size


async def injected(n: int, chance: random.Random, make: Render) -> list[str]:
    """The same asked of a whole memory: told, recalled within a budget, shown."""
    found: list[str] = []
    async with open_memory(Config(), store="memory://", clock=ManualClock(NOW)) as memory:
        for _ in range(n):
            text = content(chance)[:2_000]
            await memory.remember(
                SCOPE, text if text.strip() else "tea", importance=chance.random()
            )
        for budget in (50, 200, 1_500, 8_000):
            answer = await memory.inject(SCOPE, limit=100, token_budget=budget)
            shown = make(answer.items) if answer.items else ""
            found += faults(answer.items, shown) if shown else ()
            found += [f"more than {budget} tokens"] * (estimate_tokens(shown) > budget)
    return found


def run(n: int, seed: int, bug: str | None) -> Verdict:
    """`n` generated facts in heaps, and a tenth of as many through a memory."""
    chance = random.Random(seed)
    make: Render = BUGS[bug] if bug else render
    found: list[str] = []
    heaps = list(batches(n, chance))
    for items in heaps:
        found += [*faults(items, make(items)), *misplaced(items, make)]
        found += overdrawn(items, chance.choice((20, 60, 150, 400, 1_500, 100_000)), make)
    found += asyncio.run(injected(max(20, n // 10), chance, make))
    return Verdict(
        failed=len(found) + (not heaps),
        facts={"facts": sum(map(len, heaps)), "blocks": len(heaps), "first": next(iter(found), "")},
    )


GATES = [
    Gate(
        name="T26",
        promise="rendered memory is one block, one line a fact, within its budget",
        full=2_000,
        least=200,
        run=run,
        bugs=tuple(BUGS),
    )
]
