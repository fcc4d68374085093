"""T13: whatever a model replies, reading it ends in facts, in none, or in a typed failure."""

from __future__ import annotations

import json
import random
import re
import time
from collections.abc import Callable
from datetime import UTC, datetime

from memkit.errors import ExtractionError
from memkit.extraction import read_reply
from memkit.models import Extraction, ExtractionRequest, Message, Proposal, Scope, Turn
from tests.gates.progress import watched
from tests.gates.verdict import Gate, Verdict

SLOWEST = 0.05
NOW = datetime(2026, 3, 1, tzinfo=UTC)
FACTS = (
    "likes traveling to Japan",
    "is allergic to penicillin",
    "is not allergic to peanuts",
    "her sister Ida lives in Tromsø",
    "好きな食べ物は寿司です",
    "drinks no coffee after {noon}",
    'calls the project "Heron"',
    "works with FastAPI \u2013 every day \U0001f600",
)
WRAPPINGS: tuple[Callable[[str], str], ...] = (
    lambda body: body,
    lambda body: f"```json\n{body}\n```",
    lambda body: (
        f"Based on the chat {{about travel}}, here is the JSON:\n{body}\nHope {{that}} helps!"
    ),
    lambda body: f"````\n{body}\n````",
)
REQUEST = ExtractionRequest(
    scope=Scope(user_id="u1"),
    turns=tuple(
        Turn(
            number=number,
            session_id="s",
            position=number - 1,
            message=Message(role="user", content=fact),
        )
        for number, fact in enumerate(FACTS, start=1)
    ),
    now=NOW,
)
Reader = Callable[[str], Extraction]


def good_replies() -> list[tuple[str, int]]:
    """Fifty replies as models give them, bare or enveloped, plain or wrapped, with their size."""
    replies = []
    for size in range(1, len(FACTS) + 1):
        facts = [{"content": fact, "importance": 0.7} for fact in FACTS[:size]]
        for shape in (facts, {"facts": facts}):
            body = json.dumps(shape, ensure_ascii=size % 2 == 0)
            replies += [(wrap(body), size) for wrap in WRAPPINGS]
    return replies[:50]


def mutate(reply: str, chance: random.Random) -> str:
    """`reply` with one to four accidents: cut, doubled, swapped, or with a foreign piece inside."""
    pieces = (
        "{",
        "}",
        "[",
        "]",
        '"',
        "\\",
        "\\ud83d",
        "NaN",
        "1e999",
        "null",
        "```",
        "\0",
        "\u2028",
        '{"facts":[]}',
    )
    for _ in range(chance.randint(1, 4)):
        at, to = sorted(chance.randrange(len(reply) + 1) for _ in range(2))
        match chance.randrange(4):
            case 0:
                reply = reply[:at]
            case 1:
                reply = reply[:at] + reply[at:to] * 2 + reply[to:]
            case 2:
                reply = reply[:at] + reply[to:]
            case _:
                reply = reply[:at] + chance.choice(pieces) + reply[at:]
        reply = reply or "{"
    return reply


def as_it_is(text: str) -> Extraction:
    """What memkit does."""
    return read_reply(text, request=REQUEST)


def greedy_slice(text: str) -> Extraction:
    """The bug: from the first brace to the last, and nothing found where that is no JSON."""
    sliced = re.search(r"\{.*\}", text, re.DOTALL)
    try:
        facts = json.loads(sliced.group())["facts"] if sliced else []
        return Extraction(proposals=tuple(Proposal(content=each["content"]) for each in facts))
    except (ValueError, KeyError, TypeError):
        return Extraction()


def is_wrong_about_good(reply: str, size: int, read: Reader) -> bool:
    """True unless all facts of a good reply were read."""
    try:
        return len(read(reply).proposals) != size
    except ExtractionError:
        return True


def invents(text: str, read: Reader) -> bool:
    """True when a piece of a good reply gave a fact that was not stated in full."""
    try:
        found = read(text)
    except ExtractionError:
        return False
    return any(proposal.content not in FACTS for proposal in found.proposals)


def is_untyped_or_slow(text: str, read: Reader) -> bool:
    """True when reading ended in anything but facts, none or a typed failure, or too late."""
    begun = time.thread_time()
    try:
        found = read(text)
    except ExtractionError:
        return time.thread_time() - begun > SLOWEST
    except Exception:  # noqa: BLE001  # counting these is the point
        return True
    importances = [each.importance for each in found.proposals if each.importance is not None]
    return time.thread_time() - begun > SLOWEST or not all(0 <= each <= 1 for each in importances)


def run(n: int, seed: int, bug: str | None) -> Verdict:
    """`n` mutations of fifty good replies, and every prefix of ten."""
    chance = random.Random(seed)
    read: Reader = greedy_slice if bug == "greedy-slice" else as_it_is
    replies = good_replies()
    lost = sum(is_wrong_about_good(reply, size, read) for reply, size in replies)
    texts = [reply for reply, _ in replies]
    prefixes = [reply[:end] for reply in texts[::5] for end in range(len(reply))]
    invented = sum(invents(prefix, read) for prefix in prefixes)
    failed = sum(
        is_untyped_or_slow(mutate(chance.choice(texts), chance), read) for _ in watched(range(n))
    )
    return Verdict(lost=lost, failed=failed + invented, facts={"prefixes": len(prefixes)})


GATES = [
    Gate(
        name="T13",
        promise="a model's reply gives facts, none, or a typed failure",
        full=200_000,
        least=5_000,
        run=run,
        bugs=("greedy-slice",),
    )
]
