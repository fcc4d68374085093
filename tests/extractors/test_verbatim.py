"""Extraction without a model."""

from __future__ import annotations

import time
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memkit.extraction import LONGEST_CONTENT, validate
from memkit.models import (
    Extraction,
    ExtractionRequest,
    MediaBlock,
    Message,
    ReasoningBlock,
    Strategy,
    TextBlock,
    ToolResultBlock,
)
from memkit.testing.values import NOW, a_message, an_episode
from memkit_backends.extractors.split import split_text
from memkit_backends.extractors.verbatim import VerbatimExtractor, salience, says_something

pytestmark = pytest.mark.anyio


async def extracted(
    *said: str | Message, strategies: tuple[Strategy, ...] = ()
) -> tuple[Extraction, ExtractionRequest]:
    """What comes of one episode, with the request it came of."""
    request = ExtractionRequest.from_episodes((an_episode(*said),), strategies=strategies, now=NOW)
    return await VerbatimExtractor().extract(request), request


async def test_a_statement_is_kept_with_speaker_and_date() -> None:
    """The words stay as they were said, after the date and the speaker's name or role."""
    named = a_message("Ich war\n in  Bern!").model_copy(update={"name": "Ann  B."})
    reply = a_message("How was it?", role="assistant")
    found, _ = await extracted(named, reply)
    assert [proposal.content for proposal in found.proposals] == [
        "2026-01-01 Ann B.: Ich war\n in  Bern!",
        "2026-01-01 assistant: How was it?",
    ]
    assert [proposal.sources for proposal in found.proposals] == [(1,), (2,)]
    assert [proposal.origin for proposal in found.proposals] == ["user", "assistant"]
    assert {proposal.kind for proposal in found.proposals} == {"episodic"}
    assert found.usage.calls == found.dropped == 0
    assert found.model is None


async def test_a_message_without_a_time_has_no_date() -> None:
    """Today's date is not put in its place: read again tomorrow it would be another item."""
    found, _ = await extracted(Message(role="user", content="I like tea."))
    assert [proposal.content for proposal in found.proposals] == ["user: I like tea."]


async def test_the_date_is_the_items_own() -> None:
    """It is that of UTC, whatever the clock on the wall said: the two are shown side by side."""
    late = datetime.fromisoformat("2026-01-01T23:30:00-05:00")
    found, request = await extracted(a_message("I like tea.").model_copy(update={"time": late}))
    observed = request.turns[0].message.time
    assert observed == late
    assert [proposal.content for proposal in found.proposals] == ["2026-01-02 user: I like tea."]


async def test_only_what_people_said_is_kept() -> None:
    """Tools, the system, reasoning and media by reference are no statements."""
    mixed = Message(
        role="assistant",
        content=(
            ReasoningBlock(text="the user seems to like tea"),
            TextBlock(text="You like tea, then."),
            MediaBlock(media="image", reference="tea.png"),
            ToolResultBlock(call_id="1", content="tea is 3 EUR"),
        ),
    )
    found, _ = await extracted(
        a_message("You are a kind assistant.", role="system"),
        a_message("The price is 3 EUR.", role="tool"),
        mixed,
    )
    assert [proposal.content for proposal in found.proposals] == ["assistant: You like tea, then."]


TRIVIAL = [
    "",
    " \n",
    "ok",
    "Thanks!",
    "Hi :)",
    "\U0001f44d\U0001f44d",
    "...",
    "谢谢",
    "はい",
    "네",
    "да",
    "?!",
]
WORTH_KEEPING = [
    "Berlin, 1989",
    "I smoke",
    "42",
    "Is it far?",
    "我吃素",
    "東京です",
    "채식주의자예요",
    "ผมกินเจ",
    "Vejetaryenim",
    "Я веган",
    "אני טבעוני",
    "yes, Rome",
]


@pytest.mark.parametrize("text", TRIVIAL)
async def test_nods_and_greetings_are_left_out(text: str) -> None:
    """A turn that says nothing, in whatever language, becomes no item."""
    assert not says_something(text)


@pytest.mark.parametrize("text", WORTH_KEEPING)
async def test_what_may_be_evidence_is_kept(text: str) -> None:
    """When in doubt a turn says something, in any script."""
    assert says_something(text)


async def test_salience_goes_by_plain_looks() -> None:
    """Half, and a tenth more for a long statement, for names or figures, for the user's own."""
    assert salience("it was nice", by_user=False) == 0.5
    assert salience("it was nice", by_user=True) == 0.6
    assert salience("it was 1989", by_user=False) == 0.6
    assert salience("we met Ann there", by_user=False) == 0.6
    assert salience("It was nice. We left", by_user=False) == 0.5
    assert salience("昨日は友達と一緒に京都へ行って寿司を食べました。", by_user=False) == 0.6
    everything = "we met Ann in Bern on the 3rd of May and had tea there"
    assert salience(everything, by_user=True) == 0.8


@given(st.text(), st.booleans())
def test_salience_is_an_importance(text: str, by_user: bool) -> None:
    """Whatever is said, its importance lies between 0 and 1."""
    assert 0.5 <= salience(text, by_user=by_user) <= 1


@given(st.text(st.sampled_from("ab. !\n\uff1f寿"), max_size=200), st.integers(1, 30))
def test_a_split_loses_nothing(text: str, longest: int) -> None:
    """Pieces fit, and joined they are the text again."""
    pieces = split_text(text, longest)
    assert "".join(pieces) == text
    assert all(len(piece) <= longest for piece in pieces)
    assert all(pieces) or not text


async def test_a_split_falls_behind_a_sentence() -> None:
    """A piece ends where a sentence does, if one ends in its second half."""
    assert split_text("One two. Three four five.", 14) == ["One two. ", "Three four ", "five."]


async def test_a_long_turn_is_kept_whole() -> None:
    """What exceeds the longest content becomes several items of the same turn; nothing is cut."""
    said = "".join(f"This is sentence number {number}. " for number in range(1_000))
    found, request = await extracted(said)
    heading = "2026-01-01 user: "
    assert all(len(proposal.content) <= LONGEST_CONTENT for proposal in found.proposals)
    assert {proposal.sources for proposal in found.proposals} == {(1,)}
    pieces = [proposal.content.removeprefix(heading) for proposal in found.proposals]
    assert " ".join(pieces) == said.strip()
    assert validate(found, request) == found


async def test_kinds_are_those_asked_for() -> None:
    """Where episodic is not among the strategies, statements take a kind that is."""
    found, _ = await extracted(
        "I like tea.", strategies=(Strategy(type="preference", name="taste"),)
    )
    assert [proposal.kind for proposal in found.proposals] == ["preference"]


async def test_the_same_comes_of_the_same() -> None:
    """Extraction is deterministic, so that trying again adds nothing."""
    said = ["I like tea.", "ok", "Do you? I moved to Rome in 1989."]
    assert (await extracted(*said))[0] == (await extracted(*said))[0]


async def test_thousands_of_turns_take_a_moment() -> None:
    """2,500 turns are read in less than a second."""
    said = [f"Turn {number}: we went to the market and bought fish." for number in range(2_500)]
    request = ExtractionRequest.from_episodes((an_episode(*said),), now=NOW)
    begun = time.thread_time()
    found = await VerbatimExtractor().extract(request)
    assert time.thread_time() - begun < 1
    assert len(validate(found, request).proposals) == 2_500
