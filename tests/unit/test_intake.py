"""What is kept of a message."""

from __future__ import annotations

from typing import Literal

import pytest

from memkit.config import RecordRules
from memkit.errors import InvalidInput
from memkit.memory.intake import Intake
from memkit.models import (
    MediaBlock,
    Message,
    ReasoningBlock,
    Recalled,
    TextBlock,
    ToolCallBlock,
    ToolResultBlock,
)
from memkit.redact import PatternRedactor
from memkit.render import render
from memkit.testing.values import NOW, a_message

CARD = "4111 1111 1111 1111"


def intake(**rules: object) -> Intake:
    """An intake with the usual redactor."""
    return Intake(RecordRules.model_validate(rules), PatternRedactor())


def a_block() -> str:
    """What `render` puts before a model."""
    item = Recalled(
        id="1",
        content="likes tea",
        kind="semantic",
        origin="user",
        importance=0.5,
        score=0.5,
        observed_at=NOW,
    )
    return render([item])


def test_a_plain_message_stays_the_very_same_object() -> None:
    """What needs nothing is not copied: its digest has been worked out already."""
    message = a_message("I like tea.")
    assert intake().keep(message).message is message


def test_what_a_mapping_says_is_a_message() -> None:
    """A mapping with a message's fields will do; anything else is refused."""
    kept = intake().keep({"role": "user", "content": "I like tea."})
    assert kept.message == Message.model_validate({"role": "user", "content": "I like tea."})
    with pytest.raises(InvalidInput, match="mapping"):
        intake().keep("I like tea.")  # type: ignore[arg-type]  # the mistake it is about


def test_what_no_store_keeps_is_replaced_everywhere_and_flagged() -> None:
    """U+0000 and lone surrogates become U+FFFD: in content, name and metadata alike."""
    message = Message.model_validate(
        {
            "role": "tool",
            "content": "W\0s\ud800l",
            "name": "a\0b",
            "metadata": {"raw\0": ["a\0b", {"deep": "\udfff"}], "count": 3},
        }
    )
    kept = intake().keep(message)
    assert kept.message is not None
    assert kept.message.text == "W\ufffds\ufffdl"
    assert kept.message.name == "a\ufffdb"
    assert kept.message.metadata == {
        "raw\ufffd": ["a\ufffdb", {"deep": "\ufffd"}],
        "count": 3,
    }
    assert kept.flags == {"sanitized"}


def test_memkits_own_block_is_not_recorded_again() -> None:
    """A block goes, what stands beside it stays; a message of nothing else is dropped."""
    kept = intake().keep(a_message(f"{a_block()}\nAnd what about cake?"))
    assert kept.message is not None
    assert kept.message.text.strip() == "And what about cake?"
    assert intake().keep(a_message(a_block())).message is None


def test_tool_traffic_is_stripped() -> None:
    """Calls and results go; a message that is nothing else goes too."""
    call = ToolCallBlock(id="1", name="search", arguments={"q": "tea"})
    spoken = Message(role="assistant", content=(TextBlock(text="Let me look."), call))
    kept = intake().keep(spoken)
    assert kept.message is not None
    assert kept.message.content == (TextBlock(text="Let me look."),)
    result = Message(role="tool", content=(ToolResultBlock(call_id="1", content="none"),))
    assert intake().keep(result).message is None


def test_tool_traffic_is_kept_where_that_is_configured() -> None:
    """Kept, but cleaned, redacted and bounded like everything else."""
    result = ToolResultBlock(call_id="1", content={"card": CARD, "rows": ["a\0b"]})
    kept = intake(keep_tool_traffic=True).keep(Message(role="tool", content=(result,)))
    assert kept.message is not None
    assert kept.flags == {"sanitized", "redacted"}
    assert CARD not in kept.message.model_dump_json()


def test_what_a_tool_says_as_text_is_kept() -> None:
    """A tool's plain words are words; only calls and results are traffic."""
    message = a_message("exit code 1", role="tool")
    assert intake().keep(message).message is message


@pytest.mark.parametrize("where", ["content", "metadata", "reasoning"])
def test_secrets_are_redacted(where: Literal["content", "metadata", "reasoning"]) -> None:
    """Card numbers and keys are not kept, wherever in a message they stand."""
    said = f"my card is {CARD}"
    messages = {
        "content": a_message(said),
        "metadata": Message.model_validate(
            {"role": "user", "content": "hello there", "metadata": {"note": said}}
        ),
        "reasoning": Message(role="assistant", content=(ReasoningBlock(text=said),)),
    }
    kept = intake().keep(messages[where])
    assert kept.message is not None
    assert CARD not in kept.message.model_dump_json()
    assert kept.flags == {"redacted"}


def test_no_redactor_redacts_nothing() -> None:
    """Redaction can be switched off."""
    message = a_message(f"my card is {CARD}")
    assert Intake(RecordRules(), None).keep(message).message is message


def test_a_long_message_is_cut_and_flagged() -> None:
    """Up to ten times the limit is cut; what is longer is refused."""
    rules = intake(max_message_characters=100)
    kept = rules.keep(a_message("x" * 101))
    assert kept.message is not None
    assert (len(kept.message.text), kept.flags) == (100, {"truncated"})
    assert rules.keep(a_message("x" * 100)).flags == set()
    with pytest.raises(InvalidInput, match="max_message_characters"):
        rules.keep(a_message("x" * 1001))


def test_no_half_secret_is_left_by_a_cut() -> None:
    """A secret that stands where the text is cut is redacted first."""
    for length in range(80, 100):
        kept = intake(max_message_characters=100).keep(a_message(f"{'x ' * (length // 2)}{CARD} y"))
        assert kept.message is not None
        assert "4111" not in kept.message.text
        assert kept.flags == {"redacted", "truncated"}


def test_data_urls_lose_their_data() -> None:
    """A file is kept by reference, never its bytes."""
    media = MediaBlock(media="image", reference="data:image/png;base64," + "A" * 5000)
    kept = intake().keep(Message(role="user", content=(media,)))
    assert kept.message is not None
    assert kept.message.content == (
        MediaBlock(media="image", reference="data:image/png;base64,..."),
    )
    assert kept.flags == {"truncated"}


def test_metadata_is_bounded() -> None:
    """Too much, and too deep, is refused: it is the caller's own."""
    with pytest.raises(InvalidInput, match="max_metadata_characters"):
        intake().keep({"role": "user", "content": "hi", "metadata": {"x": "y" * 20_000}})
    deep: object = "bottom"
    for _ in range(100):
        deep = [deep]
    with pytest.raises(InvalidInput, match="deep"):
        intake().keep({"role": "user", "content": "hi", "metadata": {"x": deep}})


def test_what_a_framework_adds_is_bounded() -> None:
    """A framework's extras beyond the limit are left out; the words are not lost for them."""
    block = TextBlock(text="hello there", extra={"logprobs": "x" * 20_000})
    kept = intake().keep(Message(role="assistant", content=(block,)))
    assert kept.message is not None
    assert kept.message.content == (TextBlock(text="hello there"),)
    assert kept.flags == {"truncated"}


@pytest.mark.parametrize("content", ["", "   ", []])
def test_nothing_said_is_nothing_kept(content: object) -> None:
    """A blank message is dropped."""
    assert intake().keep({"role": "user", "content": content}).message is None


def test_what_was_kept_is_handed_in_again_unchanged() -> None:
    """Stored messages that come back are the same messages: they align by digest."""
    message = a_message(f"{a_block()}\ncard {CARD}, nul \0, long " + "x" * 200)
    rules = intake(max_message_characters=150)
    once = rules.keep(message).message
    assert once is not None
    again = rules.keep(once)
    assert again.message is not None
    assert again.message.digest == once.digest
