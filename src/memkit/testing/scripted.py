"""An extractor and a chat model that say what they were told to, and keep what they were asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from memkit.contracts import Reply
from memkit.models import Extraction, ExtractionRequest, Proposal

Asked = TypeVar("Asked")
Answer = TypeVar("Answer")


class Script(Generic[Asked, Answer]):
    """Answers in the order of its steps; `then` is every answer after the last of them.

    A step that is an exception is raised, and one that is a function is asked. Without
    `then`, a question too many is an AssertionError.
    """

    def __init__(
        self,
        steps: tuple[Answer | BaseException | Callable[[Asked], Answer], ...],
        then: Answer | BaseException | Callable[[Asked], Answer] | None,
    ) -> None:
        self._steps = list(steps)
        self._then = then
        self.asked: list[Asked] = []

    def answer(self, asked: Asked) -> Answer:
        """The next step's answer."""
        self.asked.append(asked)
        step = self._steps.pop(0) if self._steps else self._then
        if step is None:
            raise AssertionError(f"the script has no answer to question {len(self.asked)}")
        if isinstance(step, BaseException):
            raise step
        return step(asked) if callable(step) else step


ExtractionStep = Extraction | str | BaseException | Callable[[ExtractionRequest], Extraction | str]


class ScriptedExtractor:
    """An `Extractor` of prepared extractions. A text proposes itself, from all the turns.

    >>> from memkit import ExtractionError
    >>> extractor = ScriptedExtractor("Likes tea", ExtractionError("timeout"), then="Owns a dog")
    """

    def __init__(
        self,
        *steps: ExtractionStep,
        then: ExtractionStep | None = None,
        fingerprint: str = "scripted",
    ) -> None:
        self._script: Script[ExtractionRequest, Extraction | str] = Script(steps, then)
        self.fingerprint = fingerprint

    @property
    def requests(self) -> list[ExtractionRequest]:
        """What it was asked, in order."""
        return self._script.asked

    async def extract(self, request: ExtractionRequest) -> Extraction:
        """See `Extractor.extract`."""
        answer = self._script.answer(request)
        if isinstance(answer, Extraction):
            return answer
        return Extraction(proposals=(Proposal(content=answer),))


ReplyStep = Reply | str | BaseException | Callable[[tuple[str, str]], Reply | str]


class ScriptedChatModel:
    """A `ChatModel` of prepared replies.

    >>> from memkit import Reply
    >>> model = ScriptedChatModel('{"facts": []}', Reply(text="", finish="refusal"))
    """

    def __init__(
        self, *steps: ReplyStep, then: ReplyStep | None = None, name: str = "scripted:model"
    ) -> None:
        self._script: Script[tuple[str, str], Reply | str] = Script(steps, then)
        self.name = name

    @property
    def prompts(self) -> list[tuple[str, str]]:
        """The system and user messages it was given, in order."""
        return self._script.asked

    async def complete(self, system: str, user: str) -> Reply:
        """See `ChatModel.complete`."""
        answer = self._script.answer((system, user))
        return answer if isinstance(answer, Reply) else Reply(text=answer)
