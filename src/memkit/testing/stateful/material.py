"""What the machine throws at a store: scopes that look alike, texts that hurt, few ids."""

from __future__ import annotations

from typing import Final

from hypothesis import strategies as st
from pydantic import JsonValue

from memkit.decay import NEVER, Policy
from memkit.models import Scope
from memkit.testing.hostile import TEXTS

SCOPES: Final = (
    Scope("a_b", "x"),
    Scope("axb", "x"),
    Scope("%", "x"),
    Scope("A_B", "x"),
    Scope(None, "a_b"),
    Scope("a_b"),
)
"""The last is the home of what the first says, when it shares."""

scopes = st.sampled_from((SCOPES[0], SCOPES[0], SCOPES[0], *SCOPES))
sessions = st.sampled_from(("s", "S", "s%"))
message_keys = st.sampled_from((None, None, "k-1", "k-2", "K-1"))
item_keys = st.sampled_from((None, None, None, "color", "Color"))
kinds = st.sampled_from(("semantic", "preference"))
policies = st.sampled_from((Policy(), Policy(0.5, 0.2), NEVER))
importances = st.sampled_from((0.0, 0.04, 0.3, 0.3000000001, 0.8, 1.0))
minutes = st.sampled_from((0, 1, 5, 60, 60 * 3, 60 * 24 * 30))
places = st.integers(0, 30)
"""An index into whatever has been made so far; it wraps around."""

common = st.sampled_from(
    ("likes green tea", "Likes  GREEN tea", "owns a dog", "dog and tea", "lives in 東京")
)
"""Drawn so often that they meet."""
words = st.sampled_from(tuple(text for text in TEXTS if len(text) < 100))
written = (
    common
    | common
    | words
    | st.text(
        st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=20
    )
)
values: st.SearchStrategy[JsonValue] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | words,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(words, inner, max_size=2),
    max_leaves=4,
)


def canary(scope: Scope) -> str:
    """A word that nothing but the memory of `scope` contains."""
    return f"canary{SCOPES.index(scope)}"


def marked(text: str, scope: Scope) -> str:
    """`text` with the canary of `scope` in it."""
    return f"{canary(scope)} {text}"
