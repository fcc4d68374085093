"""Extraction by a language model, whichever it is."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Sequence

from memkit.contracts import ChatModel, Reply
from memkit.errors import ConfigError, ExtractionError
from memkit.extraction import PROMPT_VERSION, SHOWN_ROLES, build_prompt, read_reply
from memkit.models import Extraction, ExtractionRequest, Proposal, Role, Strategy, Usage
from memkit_backends.extractors.batches import batches

_SMALLEST_BUDGET = 200


class LLMExtractor:
    """Asks a `ChatModel` for facts, in as many calls as the conversation needs.

    `budget` is how many tokens of conversation one call is shown, by estimate (see
    `batches`). `timeout` is for each call, in seconds. Only turns of `roles` are shown to
    the model. `strategies` stand in where a request has none.

    A request is answered whole or not at all. Every failure is an `ExtractionError`, whose
    `spent` is what the attempt cost.
    """

    def __init__(  # noqa: PLR0913  # one parameter for each setting
        self,
        model: ChatModel,
        *,
        strategies: Sequence[Strategy] = (),
        instructions: str = "",
        roles: Sequence[Role] = SHOWN_ROLES,
        budget: int = 8000,
        timeout: float = 60.0,
    ) -> None:
        if budget < _SMALLEST_BUDGET:
            raise ConfigError(f"llm: budget must be at least {_SMALLEST_BUDGET} tokens")
        if timeout <= 0:
            raise ConfigError("llm: timeout must be above 0 seconds")
        self._model = model
        self._strategies = tuple(strategies)
        self._instructions = instructions
        self._roles = tuple(roles)
        self._budget = budget
        self._timeout = timeout

    @property
    def fingerprint(self) -> str:
        """Model, prompt version, and a digest of what else is asked for."""
        strategies = [strategy.model_dump(mode="json") for strategy in self._strategies]
        asked = json.dumps([strategies, self._instructions, self._roles], sort_keys=True)
        digest = hashlib.sha256(asked.encode()).hexdigest()[:12]
        return f"llm/{self._model.name}/{PROMPT_VERSION}/{digest}"

    async def extract(self, request: ExtractionRequest) -> Extraction:
        """The model's proposals for all of `request.turns`."""
        if not request.strategies:
            request = request.model_copy(update={"strategies": self._strategies})
        parts = list(batches(request, budget=self._budget, roles=self._roles))
        proposals: list[Proposal] = []
        usage = Usage()
        dropped = 0
        for number, part in enumerate(parts, start=1):
            try:
                reply = await self._ask(part)
                usage += reply.usage
                found = read_reply(reply.text, request=part, finish=reply.finish)
            except ExtractionError as error:
                error.spent = (max(usage.calls, number), usage.input_tokens, usage.output_tokens)
                raise
            proposals += found.proposals if len(parts) == 1 else _placed(found, part)
            dropped += found.dropped
        return Extraction(
            proposals=tuple(proposals), usage=usage, model=self._model.name, dropped=dropped
        )

    async def _ask(self, part: ExtractionRequest) -> Reply:
        system, user = build_prompt(part, instructions=self._instructions, roles=self._roles)
        try:
            async with asyncio.timeout(self._timeout):
                return await self._model.complete(system, user)
        except TimeoutError as error:
            late = f"{self._model.name} gave no reply within {self._timeout:g} s"
            raise ExtractionError("timeout", late) from error


def _placed(found: Extraction, part: ExtractionRequest) -> list[Proposal]:
    """The proposals of one part of several: what cites nothing rests on this part alone."""
    everything = {
        "sources": tuple(dict.fromkeys(turn.number for turn in part.turns)),
        # As for a whole request: it may have been the least trusted who said it.
        "origin": "tool" if any(turn.message.role == "tool" for turn in part.turns) else None,
    }
    return [
        proposal if proposal.sources else proposal.model_copy(update=everything)
        for proposal in found.proposals
    ]
