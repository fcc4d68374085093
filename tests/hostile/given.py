"""The twelve cases that were handed to us as JSON, each carried out as what it is about."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from tests.hostile import (
    forgetting,
    naming,
    poisoning,
    rendering,
    repeating,
    replies,
    scopes,
    searching,
    storing,
)
from tests.hostile.place import Act, Case

FILE = "hostile_inputs.json"

Input = Mapping[str, Any]

INTERPRETED: dict[str, Callable[[Input], Act]] = {
    "D01": lambda asked: partial(
        searching.given, asked["queries"], asked["stored"][0]["text"], asked["scope"]
    ),
    "D02": lambda asked: partial(storing.given_case, asked["turns"], asked["metadata"]),
    "D03": lambda asked: partial(replies.given_chatty, asked["llm_reply"]),
    "D04": lambda asked: partial(replies.given_importances, asked["llm_reply"]),
    "D05": lambda asked: partial(
        replies.given_truncated, asked["llm_reply"], asked["finish_reason"]
    ),
    "D06": lambda asked: partial(poisoning.given, asked["episode"], asked["llm_reply"]),
    "D07": lambda asked: partial(rendering.given, [each["text"] for each in asked["facts"]]),
    "D08": lambda asked: partial(scopes.given_unstated, [each["scope"] for each in asked["calls"]]),
    "D09": lambda asked: partial(
        scopes.given_patterns,
        [(each["scope"], each["text"]) for each in asked["stored"]],
        asked["calls"],
    ),
    "D10": lambda asked: partial(repeating.given, asked["calls"]),
    "D11": lambda asked: partial(forgetting.given, asked["script"]),
    "D12": lambda asked: partial(naming.given, asked["schema_names"]),
}
"""What each case is, made of its input. Their names are DESIGN's: a turn is a message, an
idempotency key a message's key, a fact an item, its text the content."""


def given_cases(folder: Path) -> Iterator[Case]:
    """Every case of the file. One that nobody carries out is a KeyError."""
    for case in json.loads((folder / FILE).read_text("utf-8")):
        yield Case(f"{case['id']}: {case['name']}", INTERPRETED[case["id"]](case["input"]))
