"""Extractors that do as a test says."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from memkit import Extraction, ExtractionError, ExtractionRequest, Proposal, Usage

Answer = Extraction | Exception | Callable[[ExtractionRequest], Awaitable[Extraction]]


def fact(content: str, *, importance: float | None = 0.8, target: int | None = None) -> Proposal:
    """One proposal."""
    return Proposal.model_validate(
        {
            "content": content,
            "importance": importance,
            "target": target,
            "action": "add" if target is None else "update",
        }
    )


def found(*contents: str) -> Extraction:
    """What a model says that finds these facts."""
    return Extraction(
        proposals=tuple(fact(each) for each in contents),
        usage=Usage(calls=1, input_tokens=10, output_tokens=5),
        model="test:model",
    )


class Scripted:
    """Answers in the given order, the last for ever; remembers what it was asked."""

    fingerprint = "scripted/1"

    def __init__(self, *answers: Answer) -> None:
        self._answers: Sequence[Answer] = answers or (found(),)
        self.requests: list[ExtractionRequest] = []

    async def extract(self, request: ExtractionRequest) -> Extraction:
        """The next answer."""
        answer = self._answers[min(len(self.requests), len(self._answers) - 1)]
        self.requests.append(request)
        if isinstance(answer, Exception):
            raise answer
        return answer if isinstance(answer, Extraction) else await answer(request)


class Held:
    """Waits until it is let go; tells when it was reached."""

    fingerprint = "held/1"

    def __init__(self, *contents: str) -> None:
        self._contents = contents
        self.reached = asyncio.Event()
        self.released = asyncio.Event()

    async def extract(self, request: ExtractionRequest) -> Extraction:
        """The facts, once released."""
        del request
        self.reached.set()
        await self.released.wait()
        return found(*self._contents)


RATE_LIMITED = ExtractionError("rate_limited", retry_after=90.0)
UNREADABLE = ExtractionError("unreadable")
