"""All cases of our own, family by family."""

from __future__ import annotations

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

CASES = (
    *searching.CASES,
    *storing.CASES,
    *replies.CASES,
    *poisoning.CASES,
    *rendering.CASES,
    *scopes.CASES,
    *repeating.CASES,
    *forgetting.CASES,
    *naming.CASES,
)
