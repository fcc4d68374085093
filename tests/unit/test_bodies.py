"""Messages as an episode's row keeps them: what is written is what is read."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memkit.errors import StoreCorrupt
from memkit.models import MediaBlock, Message, TextBlock, ToolCallBlock
from memkit_backends.relational.messages import dump, load

text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30)
zones = st.sampled_from([UTC, timezone(timedelta(hours=-7)), timezone(timedelta(minutes=330))])
blocks = st.one_of(
    st.builds(TextBlock, text=text, extra=st.sampled_from([{}, {"cache": True}])),
    st.builds(ToolCallBlock, id=st.just("t"), name=st.just("look"), arguments=st.just({"a": [1]})),
    st.builds(MediaBlock, media=st.just("image"), reference=st.just("https://example.org/tea.png")),
)
messages = st.builds(
    Message,
    role=st.sampled_from(["user", "assistant", "system", "tool"]),
    content=text | st.lists(blocks, max_size=3).map(tuple),
    key=st.none() | st.sampled_from(["k", "\u00e9\U0001f600"]),
    time=st.none() | st.datetimes(datetime(1902, 1, 1), timezones=zones),  # noqa: DTZ001  # a bound
    name=st.none() | st.just("Maya"),
    metadata=st.sampled_from([{}, {"channel": "mail"}]),
)


@given(st.lists(st.none() | messages, min_size=1, max_size=6))
def test_what_was_written_is_read(kept: list[Message | None]) -> None:
    """Plain or not, forgotten or not, each message comes back as it was, and in its place."""
    found = load(dump(kept))
    assert found == (tuple(kept) if any(kept) else ())
    assert [each and each.digest for each in found] == [
        each and each.digest for each in kept if any(kept)
    ]


@pytest.mark.parametrize(
    "body",
    [
        {"role": "root", "content": "tea"},
        {"role": ["user"], "content": "tea"},
        {"role": "user", "content": 5},
        {"role": "user", "content": "tea", "key": 5},
        {"role": "user", "content": "tea", "time": "yesterday"},
        {"role": "user", "content": "tea", "time": "2026-01-01T09:00:00"},
        {"role": "user", "content": "tea", "tiem": None},
        {"role": "user"},
        ["user", "tea"],
        "tea",
    ],
)
def test_a_body_that_nobody_wrote_is_damage(body: object) -> None:
    """A short way of reading is no laxer than the long one."""
    with pytest.raises(StoreCorrupt):
        load(json.dumps([body]))
