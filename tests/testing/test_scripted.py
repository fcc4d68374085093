"""The shipped fakes say what they were told to, and keep what they were asked."""

from __future__ import annotations

import subprocess
import sys

import pytest

import memkit.testing
from memkit.contracts import ChatModel, Extractor, Reply
from memkit.errors import ExtractionError
from memkit.models import Extraction, ExtractionRequest, Usage
from memkit.testing.extractors import a_request
from memkit.testing.scripted import ScriptedChatModel, ScriptedExtractor

pytestmark = pytest.mark.anyio


async def test_an_extractor_answers_step_by_step() -> None:
    """Extractions, texts, errors and functions, in their order, and then the last word."""

    def as_said(request: ExtractionRequest) -> str:
        return request.turns[0].message.text

    prepared = Extraction(usage=Usage(calls=3))
    extractor = ScriptedExtractor(
        prepared, "Likes tea", ExtractionError("timeout"), as_said, then="And so on"
    )
    port: Extractor = extractor
    requests = [a_request(f"turn {number}") for number in range(6)]
    assert await port.extract(requests[0]) == prepared
    assert [p.content for p in (await port.extract(requests[1])).proposals] == ["Likes tea"]
    with pytest.raises(ExtractionError, match="timeout"):
        await port.extract(requests[2])
    for request, expected in zip(requests[3:], ("turn 3", "And so on", "And so on"), strict=True):
        [proposal] = (await port.extract(request)).proposals
        assert (proposal.content, proposal.sources) == (expected, ())
    assert extractor.requests == requests
    assert extractor.fingerprint == "scripted"


async def test_a_question_too_many_is_a_failure_of_the_test() -> None:
    """A script that has ended answers nothing by itself."""
    extractor = ScriptedExtractor("Likes tea")
    await extractor.extract(a_request("one"))
    with pytest.raises(AssertionError, match="no answer to question 2"):
        await extractor.extract(a_request("two"))


async def test_a_chat_model_answers_step_by_step() -> None:
    """Texts become replies; prompts are kept."""
    model = ScriptedChatModel(
        "[]",
        Reply(text="No.", finish="refusal"),
        ExtractionError("rate_limited", retry_after=3),
        lambda prompt: prompt[1].upper(),
        name="scripted:echo",
    )
    port: ChatModel = model
    assert port.name == "scripted:echo"
    assert await port.complete("s", "one") == Reply(text="[]")
    assert (await port.complete("s", "two")).finish == "refusal"
    with pytest.raises(ExtractionError):
        await port.complete("s", "three")
    assert (await port.complete("s", "four")).text == "FOUR"
    assert model.prompts == [("s", each) for each in ("one", "two", "three", "four")]


def test_the_fakes_need_no_test_framework() -> None:
    """`memkit.testing` and its fakes load neither pytest nor hypothesis."""
    script = (
        "import sys\n"
        "from memkit.testing import ManualClock, ScriptedChatModel, ScriptedExtractor, faulty\n"
        "print([name for name in ('pytest', 'hypothesis') if name in sys.modules])\n"
    )
    answer = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert answer.stdout.strip() == "[]"


@pytest.mark.parametrize("name", memkit.testing.__all__)
def test_every_public_name_is_there(name: str) -> None:
    """What `__all__` lists can be had."""
    assert getattr(memkit.testing, name) is not None


def test_an_unknown_name_is_an_attribute_error() -> None:
    """As of any module."""
    with pytest.raises(AttributeError, match="Nothing"):
        _ = memkit.testing.Nothing  # type: ignore[attr-defined]  # that is the point
