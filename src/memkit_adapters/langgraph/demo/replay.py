"""Whole conversations played to the agent, and the questions about them asked of memory."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from memkit.cli.conversation import Conversation, Question, Sitting
from memkit.cli.story import Advance, Answer, Recall, StoryFailed
from memkit.models import ConsolidationJob, Recalled, Scope
from memkit.sync import SyncMemory
from memkit_adapters.langgraph.demo.agent import Agent, Turn, exchanges

USERS = "memkit-demo/"
"""How the users begin to whom everything in the demo belongs."""

FIRST = 10
EXAMPLES = 3


@dataclass(frozen=True, slots=True)
class Cast:
    """Who takes part in one run of the demo. Every run has users of its own."""

    run: str

    def user(self, conversation: Conversation) -> str:
        """The user of the conversation."""
        return f"{USERS}{self.run}/{conversation.conv_id}"

    def scope(self, conversation: Conversation) -> Scope:
        """Whose memory of the conversation it is."""
        return Scope(user_id=self.user(conversation))

    def session(self, conversation: Conversation, session: Sitting) -> str:
        """The name of a session, which is that of its thread."""
        return f"{conversation.conv_id}/{session.id}"

    def play(self, agent: Agent, conversation: Conversation, session: Sitting) -> list[Turn]:
        """Play a session to the agent, turn by turn."""
        user, thread = self.user(conversation), self.session(conversation, session)
        turns = [
            agent.turn(user, thread, heard, answered)
            for heard, answered in exchanges(session.turns)
        ]
        agent.close(thread)
        return turns


def consolidated(memory: SyncMemory, scope: Scope) -> list[ConsolidationJob]:
    """Consolidate a scope; `StoryFailed` if anything of it failed."""
    jobs = memory.consolidate(scope)
    for job in jobs:
        if job.status not in {"completed", "skipped"}:
            raise StoryFailed(f"a consolidation job ended {job.status}: {job.error}")
    return jobs


@dataclass(slots=True)
class Replay:
    """What remains of the conversations after the first session, and their questions.

    `told` is the question that the story itself has asked.
    """

    memory: SyncMemory
    agent: Agent
    cast: Cast
    conversations: Sequence[Conversation]
    told: str
    _answers: list[tuple[Question, Answer, float]] = field(default_factory=list)
    _seconds: float = 0.0

    def run(self) -> Iterator[Advance | Recall]:
        """Play and ask, session by session, and say how far it is; at the end, the outcome."""
        sessions = [
            (conversation, place, session)
            for conversation in self.conversations
            for place, session in enumerate(conversation.sessions)
        ]
        for done, (conversation, place, session) in enumerate(sessions):
            yield Advance(what="playing sessions", done=done, total=len(sessions))
            self._ask(conversation, conversation.due(place))
            if (conversation, place) != (self.conversations[0], 0):
                self.cast.play(self.agent, conversation, session)
                consolidated(self.memory, self.cast.scope(conversation))
        yield Advance(what="playing sessions", done=len(sessions), total=len(sessions))
        yield from self._ask_last()
        yield self._outcome()

    def _ask_last(self) -> Iterator[Advance]:
        for done, conversation in enumerate(self.conversations):
            yield Advance(what="asking questions", done=done, total=len(self.conversations))
            self._ask(conversation, conversation.due(None))
        total = len(self.conversations)
        yield Advance(what="asking questions", done=total, total=total)

    def _ask(self, conversation: Conversation, questions: Iterable[Question]) -> None:
        turns = self._turns_by_source(conversation)
        for question in questions:
            started = time.perf_counter()
            found = self.memory.search(
                self.cast.scope(conversation), question.question, limit=FIRST
            )
            self._seconds += time.perf_counter() - started
            self._answers.append((question, *_judged(question, found, turns)))

    def _examples(self) -> tuple[Answer, ...]:
        """A few from all over, but not the one that the story has asked already."""
        answers = [answer for _, answer, _ in self._answers if answer.question != self.told]
        step = max(1, len(answers) // EXAMPLES)
        return tuple(answers[step // 2 :: step][:EXAMPLES])

    def _turns_by_source(self, conversation: Conversation) -> dict[str, str]:
        """From an item's source (session and position) to the id of the turn that stands there."""
        return {
            f"{self.cast.session(conversation, session)}#{position}": turn.id
            for session in conversation.sessions
            for position, turn in enumerate(turn for turn in session.turns if turn.shown.strip())
        }

    def _outcome(self) -> Recall:
        judged = [
            (answer, share) for question, answer, share in self._answers if question.evidence_turns
        ]
        asked = len(self._answers)
        return Recall(
            sessions=sum(len(each.sessions) for each in self.conversations),
            turns=sum(each.size for each in self.conversations),
            asked=asked,
            judged=len(judged),
            answered=sum(answer.place is not None for answer, _ in judged),
            evidence=sum(share for _, share in judged) / len(judged) if judged else 0.0,
            milliseconds=1000 * self._seconds / asked if asked else 0.0,
            examples=self._examples(),
        )


def _judged(
    question: Question, found: Sequence[Recalled], turns: dict[str, str]
) -> tuple[Answer, float]:
    """The answer for people to read, and the share of the evidence that it holds."""
    recalled = [turns.get(item.source or "") for item in found]
    evidence = set(question.evidence_turns)
    places = [place for place, turn in enumerate(recalled, start=1) if turn in evidence]
    answer = Answer(
        question=question.question,
        expected=question.answer,
        place=places[0] if places else None,
        recalled={
            place: found[place - 1].content
            for place in dict.fromkeys([1, *places[:1]])
            if place <= len(found)
        },
    )
    return answer, len(evidence & set(recalled)) / len(evidence) if evidence else 0.0
