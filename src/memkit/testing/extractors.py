"""`ExtractorConformance`: what every extractor must do, as tests.

A whole test file:

    from memkit.testing import ExtractorConformance
    from memkit_backends.extractors.verbatim import VerbatimExtractor

    class TestMyExtractor(ExtractorConformance):
        async def open_extractor(self):
            return VerbatimExtractor()
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import ClassVar, get_args

import pytest

from memkit.contracts import Extractor
from memkit.errors import ExtractionError, ExtractionReason
from memkit.models import Extraction, ExtractionRequest, Known, Message, Scope, new_id
from memkit.testing.clock import ManualClock
from memkit.testing.hostile import TEXTS
from memkit.testing.suite import Suite, only_where
from memkit.testing.values import HERE, NOW, THERE, a_message, an_episode


class ExtractorConformance(Suite):
    """The contract `Extractor`, rule by rule.

    `statement` is something that the extractor finds worth keeping. One that asks a provider
    also defines `open_failing`: the same with a provider that fails.
    """

    subject = "extractor"

    statement: ClassVar[str] = "I moved to Lisbon in May, and I am allergic to peanuts."

    async def open_extractor(self) -> Extractor:
        """A fresh extractor."""
        raise NotImplementedError(f"{type(self).__name__} must define open_extractor()")

    async def open_failing(self) -> Extractor | None:
        """One whose provider fails, if it has a provider."""
        return None

    @asynccontextmanager
    async def opened(self, clock: ManualClock) -> AsyncIterator[Extractor]:  # noqa: ARG002  # time is in the request
        """The extractor as tests use it."""
        yield await self.open_extractor()

    @pytest.fixture
    async def extractor(self, clock: ManualClock) -> AsyncIterator[Extractor]:
        """What every test is given."""
        async with self.opened(clock) as extractor:
            yield extractor

    async def test_a_fingerprint_is_constant(self, extractor: Extractor) -> None:
        """It is not empty, does not change by use, and is the same for two that are alike."""
        before = extractor.fingerprint
        await extractor.extract(a_request(self.statement))
        assert before
        assert extractor.fingerprint == before == (await self.open_extractor()).fingerprint

    async def test_what_is_worth_keeping_is_proposed(self, extractor: Extractor) -> None:
        """A statement comes back as a proposal that says something."""
        found = await extractor.extract(a_request("Hello!", self.statement))
        added = [each for each in found.proposals if each.action == "add"]
        assert added
        assert all(each.content.strip() for each in added)

    async def test_proposals_cite_turns_of_the_request(self, extractor: Extractor) -> None:
        """Every source is the number of a turn that was given."""
        request = a_request("Hello!", self.statement, "Thank you.")
        found = await extractor.extract(request)
        numbers = {turn.number for turn in request.turns}
        assert found.proposals
        assert {source for each in found.proposals for source in each.sources} <= numbers

    async def test_proposals_target_known_items(self, extractor: Extractor) -> None:
        """An update or a removal names a known item by its number; an addition names none."""
        known = Known(number=1, item_id=new_id(), content="Lives in Oslo", kind="semantic")
        for request in (a_request(self.statement), a_request(self.statement, known=[known])):
            numbers = {each.number for each in request.known}
            found = await extractor.extract(request)
            assert {each.target for each in found.proposals if each.action != "add"} <= numbers
            assert {each.target for each in found.proposals if each.action == "add"} <= {None}

    async def test_nothing_comes_of_nothing(self, extractor: Extractor) -> None:
        """Without turns there are no proposals, whatever the context; it is no failure either."""
        request = a_request(self.statement)
        silent = request.model_copy(update={"turns": (), "context": _as_context(request)})
        assert (await extractor.extract(silent)).proposals == ()

    async def test_context_is_not_extracted(self, extractor: Extractor) -> None:
        """What was settled before is there to be understood, and is proposed by nobody."""
        canary = a_message(f"My canary Zebedee sings. {self.statement}")
        found = await extractor.extract(a_request(self.statement, context=[canary]))
        assert found.proposals
        assert not any("Zebedee" in each.content for each in found.proposals)

    async def test_any_text_is_taken(self, extractor: Extractor) -> None:
        """Whatever people write ends in an extraction or an `ExtractionError`, nothing else."""
        for text in TEXTS:
            try:
                found = await extractor.extract(a_request(text, "", " \n"))
            except ExtractionError:
                continue
            assert isinstance(found, Extraction)

    async def test_requests_do_not_mix(self, extractor: Extractor) -> None:
        """Several at once, of several users: each is answered from its own words alone."""
        words = [f"Zebedee{number}" for number in range(6)]
        requests = [
            a_request(f"My friend is called {word}. {self.statement}", scope=scope)
            for word, scope in zip(words, (HERE, THERE) * 3, strict=True)
        ]
        answers = await asyncio.gather(*(extractor.extract(each) for each in requests))
        for word, answer in zip(words, answers, strict=True):
            said = " ".join(each.content for each in answer.proposals)
            assert said
            assert [each for each in words if each in said and each != word] == []

    async def test_a_request_is_left_as_it_is(self, extractor: Extractor) -> None:
        """An extractor changes nothing of what it is given."""
        request = a_request(self.statement, context=[a_message("Before")])
        before = request.model_dump_json()
        await extractor.extract(request)
        assert request.model_dump_json() == before

    async def test_a_cancelled_extraction_harms_no_other(self, extractor: Extractor) -> None:
        """Cancelled at any moment, the next request is answered as ever."""
        for ticks in range(6):
            call = asyncio.ensure_future(extractor.extract(a_request(self.statement)))
            for _ in range(ticks):
                await asyncio.sleep(0)
            call.cancel()
            await asyncio.wait([call])
        assert (await extractor.extract(a_request(self.statement))).proposals

    async def test_a_failure_is_no_empty_answer(self, extractor: Extractor) -> None:  # noqa: ARG002  # another is asked
        """When the provider fails, `ExtractionError` says why: nothing may look like nothing."""
        failing = await self.open_failing()
        only_where(failing, "a provider that can fail")
        assert failing is not None
        with pytest.raises(ExtractionError) as caught:
            await failing.extract(a_request(self.statement))
        assert caught.value.reason in get_args(ExtractionReason)
        assert self.statement not in str(caught.value)


def a_request(
    *said: str,
    scope: Scope = HERE,
    context: Sequence[Message] = (),
    known: Sequence[Known] = (),
) -> ExtractionRequest:
    """One call of an extractor, about these messages."""
    request = ExtractionRequest.from_episodes(
        (an_episode(*said, scope=scope),), known=tuple(known), now=NOW
    )
    return request.model_copy(update={"context": tuple(context)})


def _as_context(request: ExtractionRequest) -> tuple[Message, ...]:
    """The turns of `request`, as they would be its context."""
    return tuple(turn.message for turn in request.turns)
