"""D03 to D05: a model's reply is read whole or not at all, and one bad number harms no other."""

from __future__ import annotations

import json
from functools import partial
from typing import Literal, NamedTuple

from memkit.contracts import Reply
from memkit.models import ConsolidationJob
from memkit.testing.reading import all_items
from memkit.testing.scripted import ScriptedChatModel
from memkit_backends.extractors.llm import LLMExtractor
from tests.hostile.place import SCOPE, Place, cases, must, same

Finish = Literal["stop", "length", "refusal"]
JAPAN = "likes traveling to Japan"
FACT = json.dumps({"content": JAPAN, "importance": 0.7})
FACTS = f'{{"facts": [{FACT}]}}'


class Came(NamedTuple):
    """What one run came to: its job, and contents with their importance."""

    job: ConsolidationJob
    pending: int
    items: dict[str, float]


async def consolidated(
    place: Place, reply: str, *, finish: Finish = "stop", said: str = "I love travel to Japan"
) -> Came:
    """Consolidate one message with a model that answers so."""
    model = ScriptedChatModel(Reply(text=reply, finish=finish))
    async with place.memory(LLMExtractor(model)) as memory:
        await memory.record(SCOPE, [{"role": "user", "content": said}], session_id="s")
        [job] = await memory.consolidate(SCOPE)
        must(len(model.prompts) == 1, f"{len(model.prompts)} calls of the model")
        items = await all_items(place.store, SCOPE)
        pending = (await memory.stats(SCOPE)).pending
        return Came(job, pending, {item.content: item.importance for item in items})


READ: dict[str, tuple[str, tuple[str, ...]]] = {
    "plain": (FACTS, (JAPAN,)),
    "a bare array": (f"[{FACT}]", (JAPAN,)),
    "fenced": (f"```json\n{FACTS}\n```", (JAPAN,)),
    "fenced without a name": (f"```\n{FACTS}\n```", (JAPAN,)),
    "fenced and never closed": (f"```json\n{FACTS}", (JAPAN,)),
    "amid braces": (
        f"Based on {{travel}}, here:\n```json\n{FACTS}\n```\nHope {{that}} helps!",
        (JAPAN,),
    ),
    "behind a byte order mark": (f"\ufeff{FACTS}", (JAPAN,)),
    "between blanks": (f"\n\n \t{FACTS}\r\n\n", (JAPAN,)),
    "thought aloud first": (f'<think>{{"facts": [{{"content": "no"}}]}}</think>{FACTS}', (JAPAN,)),
    "with other fields": (f'{{"note": "ok", "facts": [{FACT}], "count": 1}}', (JAPAN,)),
    "by another name": (
        '{"facts": [{"text": "owns a dog"}, {"fact": "has a cat"}]}',
        ("has a cat", "owns a dog"),
    ),
    "twice the same": (f'{{"facts": [{FACT}, {FACT}]}}', (JAPAN,)),
    "with U+0000 and half a pair": (
        r'{"facts": [{"content": "a\u0000b \ud83d c"}]}',
        ("a\ufffdb \ufffd c",),
    ),
    "with escapes": (
        r'{"facts": [{"content": "C:\\temp \"x\" \u00e9\n2"}]}',
        ('C:\\temp "x" é\n2',),
    ),
    "with a stray backslash": (
        r'{"facts": [{"content": "matches \d+ and \w"}]}',
        (r"matches \d+ and \w",),
    ),
    "beside entries that are none": (
        f'{{"facts": [1, null, "x", [], {{}}, {FACT}, {{"content": 5}}]}}',
        (JAPAN,),
    ),
    "beside one too long": (
        json.dumps({"facts": [{"content": "x" * 2_001}, {"content": JAPAN}]}),
        (JAPAN,),
    ),
    "with sources that are none": (
        '{"facts": [{"content": "owns a dog", "sources": [0, -1, 99, "x", null]}]}',
        ("owns a dog",),
    ),
    "with a target that is none": (
        '{"facts": [{"content": "owns a dog", "action": "update", "target": 7}]}',
        ("owns a dog",),
    ),
    "with a kind that is none": (
        '{"facts": [{"content": "owns a dog", "kind": "root\'; --"}]}',
        ("owns a dog",),
    ),
    "nothing worth keeping": ('{"facts": []}', ()),
    "nothing, bare": ("[]", ()),
    "nothing, fenced": ("```json\n[]\n```", ()),
}
"""Replies that can be read, and the contents that come of them."""

FAILED: dict[str, tuple[str, str]] = {
    "nothing at all": ("", "unreadable"),
    "blanks": (" \n\t ", "unreadable"),
    "prose": ("I found one fact: likes Japan.", "unreadable"),
    "an error page": ("<html><body>502 Bad Gateway</body></html>", "unreadable"),
    "a number": ("42", "unreadable"),
    "null": ("null", "unreadable"),
    "another shape": ('{"memories": ["likes Japan"]}', "invalid"),
    "texts": ('{"facts": ["likes Japan", "owns a dog"]}', "invalid"),
    "facts without content": ('{"facts": [{"importance": 0.9}]}', "invalid"),
    "facts that are a text": ('{"facts": "likes Japan"}', "invalid"),
    "single quotes": ("{'facts': [{'content': 'likes Japan'}]}", "unreadable"),
    "a refusal": ("I'm sorry, but I can't help with that request.", "refused"),
    "a refusal as a fact": (
        '{"facts": [{"content": "I\'m sorry, I cannot assist with that."}]}',
        "refused",
    ),
    "brackets without end": ("[" * 100_000, "unreadable"),
    "nested without end": ('{"a":' * 20_000, "invalid"),
    "commas without end": ("[" + "0," * 130_000 + "0]", "invalid"),
    "digits without end": (
        '{"facts": [{"content": "x", "importance": ' + "9" * 5_000 + "}]}",
        "invalid",
    ),
    "a removal of nothing known": ('{"facts": [{"action": "remove", "target": 1}]}', "invalid"),
}
"""Replies that cannot be read, and why."""

NUMBERS: dict[str, float] = {
    "NaN": 0.5, "Infinity": 0.5, "-Infinity": 0.5, "1e999": 0.5, "-1e999": 0.5,
    "-3": 0.0, "-0.0": 0.0, "0": 0.0, "1": 1.0, "87": 1.0, "1.0000001": 1.0, "1e-400": 0.0,
    '"0.8"': 0.8, '" 0.8 "': 0.8, '"8e-1"': 0.8, '"87"': 1.0,
    '"high"': 0.5, '"80%"': 0.5, '"0,8"': 0.5, '"nan"': 0.5, '"\u0660"': 0.5, '""': 0.5,
    "true": 0.5, "false": 0.5, "null": 0.5, "[0.8]": 0.5, '{"value": 0.8}': 0.5,
    "12345678901234567890": 1.0,
}  # fmt: skip
"""An importance as a model may write it, and the one that is kept."""


async def read(reply: str, contents: tuple[str, ...], place: Place) -> object:
    """A readable reply gives its facts, and the episode is done."""
    came = await consolidated(place, reply)
    same((came.job.status, came.pending, tuple(sorted(came.items))), ("completed", 0, contents))
    return sorted(came.items.items())


async def fail(reply: str, reason: str, place: Place, *, finish: Finish = "stop") -> object:
    """An unreadable one gives nothing; its episode is tried again, and why is said."""
    came = await consolidated(place, reply, finish=finish)
    same((came.job.status, came.job.error, came.job.attempts), ("failed", reason, 1))
    same((came.pending, came.items), (1, {}))
    return came.job.error


async def weigh(number: str, importance: float, place: Place) -> object:
    """One odd number is mended by itself; its neighbors are kept as they are."""
    odd = f'{{"content": "odd", "importance": {number}}}'
    came = await consolidated(place, f'{{"facts": [{FACT}, {odd}, {{"content": "last"}}]}}')
    same(came.items, {JAPAN: 0.7, "odd": importance, "last": 0.5})
    return sorted(came.items)


PENICILLIN = json.dumps(
    {"facts": [{"content": "is allergic to penicillin", "importance": 0.9},
               {"content": "is not allergic to peanuts", "importance": 0.9}]}
)  # fmt: skip
CUTS = (1, 9, 12, 25, 40, 52, 60, 70, 73, 80, 90, 101, 110, 125, len(PENICILLIN) - 1)


async def cut(reply: str, place: Place, *, finish: Finish = "stop") -> object:
    """Of a reply that breaks off nothing is believed."""
    came = await consolidated(place, reply, finish=finish)
    same((came.job.status, came.pending, came.items), ("failed", 1, {}))
    must(came.job.error in {"truncated", "unreadable"}, f"failed as {came.job.error}")
    return came.job.error


async def given_chatty(reply: str, place: Place) -> object:
    """The third case as it was handed to us."""
    came = await consolidated(place, reply)
    same((came.job.status, came.items), ("completed", {"likes travelling to Japan": 0.7}))
    return sorted(came.items)


async def given_importances(reply: str, place: Place) -> object:
    """The fourth case as it was handed to us: nine facts, six numbers that are none."""
    came = await consolidated(place, reply)
    default = dict.fromkeys(("f-nan", "f-inf", "f-word", "f-bool", "f-null", "f-none"), 0.5)
    same(came.items, {"f-str": 0.8, "f-neg": 0.0, "f-big": 1.0, **default})
    async with place.memory() as memory:
        found = await memory.inject(SCOPE, min_importance=0.0)
        return [each.content for each in found.items if each.importance > 0.5]


async def given_truncated(reply: str, finish: Finish, place: Place) -> object:
    """The fifth case as it was handed to us."""
    return await fail(reply, "truncated", place, finish=finish)


CASES = (
    *cases("reply", ((name, partial(read, *each)) for name, each in READ.items())),
    *cases("no reply", ((name, partial(fail, *each)) for name, each in FAILED.items())),
    *cases("importance", ((name, partial(weigh, name, each)) for name, each in NUMBERS.items())),
    *cases("cut short", ((f"at {end}", partial(cut, PENICILLIN[:end])) for end in CUTS)),
    *cases(
        "cut short",
        (
            (f"at its limit, {name}", partial(fail, reply, "truncated", finish="length"))
            for name, reply in {
                "amid a word": PENICILLIN[:101],
                "whole": FACTS,
                "empty": "",
            }.items()
        ),
    ),
    *cases("refused", [("by the provider", partial(fail, FACTS, "refused", finish="refusal"))]),
)
