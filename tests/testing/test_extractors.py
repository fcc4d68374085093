"""The extractors that memkit comes with keep every rule of the kit; wrong ones do not."""

from __future__ import annotations

import asyncio
import json

import pytest

from memkit.contracts import Extractor
from memkit.errors import ExtractionError
from memkit.models import Extraction, ExtractionRequest, Proposal
from memkit.testing.extractors import ExtractorConformance
from memkit.testing.scripted import ScriptedChatModel
from memkit.testing.suite import standard_tests
from memkit.testing.verdicts import judge
from memkit_backends.extractors.llm import LLMExtractor
from memkit_backends.extractors.verbatim import VerbatimExtractor


def facts_of_each_turn(prompt: tuple[str, str]) -> str:
    """What a model would find that takes every turn for a fact."""
    _, user = prompt
    lines = user.splitlines()
    if "<conversation>" not in lines:
        return '{"facts": []}'
    start, end = lines.index("<conversation>"), lines.index("</conversation>")
    turns = [json.loads(line) for line in lines[start + 1 : end]]
    facts = [{"content": turn["text"], "sources": [turn["turn"]]} for turn in turns]
    return json.dumps({"facts": facts})


class TestVerbatim(ExtractorConformance):
    """Without a model."""

    async def open_extractor(self) -> Extractor:
        """The default extractor."""
        return VerbatimExtractor()


class TestLLM(ExtractorConformance):
    """With a model that is scripted."""

    async def open_extractor(self) -> Extractor:
        """One whose model finds a fact in each turn."""
        return LLMExtractor(ScriptedChatModel(then=facts_of_each_turn))

    async def open_failing(self) -> Extractor:
        """One whose model cannot be reached."""
        return LLMExtractor(ScriptedChatModel(then=ExtractionError("unavailable")))


class Echo:
    """The simplest extractor: each turn is proposed as it stands."""

    breaks = ""
    fingerprint = "echo/1"

    async def extract(self, request: ExtractionRequest) -> Extraction:
        """A proposal for each turn."""
        return Extraction(proposals=tuple(self.proposals(request)))

    def proposals(self, request: ExtractionRequest) -> list[Proposal]:
        """What is proposed."""
        return [
            Proposal(content=turn.message.text, sources=(turn.number,))
            for turn in request.turns
            if turn.message.text.strip()
        ]


class CountsItsCalls(Echo):
    """A fingerprint that tells how often it was used."""

    breaks = "test_a_fingerprint_is_constant"

    async def extract(self, request: ExtractionRequest) -> Extraction:
        """Takes another name each time."""
        self.fingerprint += "+"
        return await super().extract(request)


class ProposesBlanks(Echo):
    """Proposals that say nothing."""

    breaks = "test_what_is_worth_keeping_is_proposed"

    def proposals(self, request: ExtractionRequest) -> list[Proposal]:
        """A blank one among them."""
        found = super().proposals(request)
        return [*found, Proposal(content=" ")] if found else []


class CitesFromZero(Echo):
    """Turns numbered as a list is."""

    breaks = "test_proposals_cite_turns_of_the_request"

    def proposals(self, request: ExtractionRequest) -> list[Proposal]:
        """One too low."""
        return [
            each.model_copy(update={"sources": (each.sources[0] - 1,)})
            for each in super().proposals(request)
        ]


class UpdatesTheUnknown(Echo):
    """An update of an item that nobody mentioned."""

    breaks = "test_proposals_target_known_items"

    def proposals(self, request: ExtractionRequest) -> list[Proposal]:
        """Always of the first."""
        found = super().proposals(request)
        update = Proposal(action="update", target=1, content="Else", sources=(1,))
        return [*found, update] if found else []


class ExtractsTheContext(Echo):
    """What is settled is proposed once more."""

    breaks = "test_context_is_not_extracted"

    def proposals(self, request: ExtractionRequest) -> list[Proposal]:
        """Context counts as turns where there are turns."""
        said = [Proposal(content=each.text) for each in request.context]
        return [*super().proposals(request), *(said if request.turns else [])]


class FillsTheSilence(Echo):
    """Something is always found."""

    breaks = "test_nothing_comes_of_nothing"

    def proposals(self, request: ExtractionRequest) -> list[Proposal]:
        """Even in nothing."""
        return super().proposals(request) or [Proposal(content="Was silent")]


class StumblesOverQuotes(Echo):
    """A parser that is no parser."""

    breaks = "test_any_text_is_taken"

    def proposals(self, request: ExtractionRequest) -> list[Proposal]:
        """Raises what nobody expects."""
        for turn in request.turns:
            if turn.message.text.startswith('"'):
                raise ValueError("unterminated string")
        return super().proposals(request)


class RemembersOthers(Echo):
    """State that belongs to one request is shared by all."""

    breaks = "test_requests_do_not_mix"

    def __init__(self) -> None:
        self._before: list[Proposal] = []

    def proposals(self, request: ExtractionRequest) -> list[Proposal]:
        """What was found before is found again."""
        found = super().proposals(request)
        shared = [each for each in self._before if "Zebedee" in each.content]
        self._before = found
        return [*found, *shared]


class WritesIntoTheRequest(Echo):
    """Notes are made in what was given."""

    breaks = "test_a_request_is_left_as_it_is"

    def proposals(self, request: ExtractionRequest) -> list[Proposal]:
        """In the metadata of the turns."""
        for turn in request.turns:
            turn.message.metadata["seen"] = True
        return super().proposals(request)


class BreaksWhenCancelled(Echo):
    """One cancelled call spoils all that follow."""

    breaks = "test_a_cancelled_extraction_harms_no_other"

    def __init__(self) -> None:
        self._broken = False

    async def extract(self, request: ExtractionRequest) -> Extraction:
        """Does not put back what it took."""
        try:
            await asyncio.sleep(0)
        except asyncio.CancelledError:
            self._broken = True
            raise
        return Extraction() if self._broken else await super().extract(request)


class CallsFailureNothing(Echo):
    """A provider that fails looks like a conversation without facts."""

    breaks = "test_a_failure_is_no_empty_answer"


WRONG = [each for each in Echo.__subclasses__() if each.__module__ == __name__]


class OfAWrongExtractor(ExtractorConformance):
    """The contract, asked of `wrong`."""

    wrong: type[Echo] = Echo

    async def open_extractor(self) -> Extractor:
        """The wrong extractor."""
        return self.wrong()

    async def open_failing(self) -> Extractor | None:
        """One that says that it found nothing."""
        return Echo() if self.wrong is CallsFailureNothing else None


@pytest.mark.anyio
@pytest.mark.parametrize("wrong", [Echo, *WRONG], ids=lambda wrong: wrong.__name__)
async def test_a_wrong_extractor_fails_the_rule_it_breaks(wrong: type[Echo]) -> None:
    """And no other; one that is right fails none."""
    suite = type(wrong.__name__, (OfAWrongExtractor,), {"wrong": wrong})
    verdicts = await judge(suite)
    broken = {each.rule: each.why for each in verdicts if each.outcome == "broken"}
    assert broken.keys() == ({wrong.breaks} - {""}), broken


def test_every_rule_has_an_extractor_that_breaks_it() -> None:
    """No rule is there that nothing was seen to fail."""
    rules = {name for name, _ in standard_tests(OfAWrongExtractor)}
    assert rules == {each.breaks for each in WRONG}
