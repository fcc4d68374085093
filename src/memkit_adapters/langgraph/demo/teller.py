"""The eight steps of the demo, in order, each checked against what must come out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import timedelta

from pydantic import JsonValue

from memkit.cli.conversation import Conversation, Said, Sitting
from memkit.cli.story import Setting, Step, StoryEvent, StoryFailed
from memkit.cli.words import counted
from memkit.contracts import Maintains
from memkit.errors import MemkitError
from memkit.memory import Memory
from memkit.models import MemoryItem, Recalled, Scope, new_id
from memkit.sync import SyncMemory, open_memory_sync
from memkit_adapters.langgraph.demo import aging
from memkit_adapters.langgraph.demo.agent import PATH, Agent, Turn
from memkit_adapters.langgraph.demo.holding import Holding, make_room
from memkit_adapters.langgraph.demo.replay import Cast, Replay, consolidated

_REPLAY_BEFORE = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of a step."""

    result: str
    lines: tuple[str, ...] = ()
    facts: Mapping[str, JsonValue] = field(default_factory=dict)


def tell(setting: Setting) -> Iterator[StoryEvent]:
    """The story on `setting`, step by step; the error that ends it early follows its step."""
    with ExitStack() as stack:
        teller = Teller(setting, stack)
        steps: list[tuple[str, Callable[[], Outcome]]] = [
            ("Open the store", teller.open_store),
            ("Build the graph", teller.build_graph),
            ("First turn", teller.first_turn),
            ("Consolidate", teller.consolidate),
            ("New session", teller.second_turn),
            ("Verify the injected", teller.verify),
            ("Decay", teller.decay),
            ("Close and reopen", teller.reopen),
        ]
        for number, (title, step) in enumerate(steps, start=1):
            yield from teller.between(number)
            try:
                outcome = step()
            except MemkitError as exc:
                yield Step(number=number, title=title, ok=False, result=str(exc))
                raise
            yield Step(
                number=number,
                title=title,
                ok=True,
                result=outcome.result,
                lines=outcome.lines,
                facts=outcome.facts,
            )


class Teller:
    """What the steps share: the memory, the agent, and the first conversation."""

    memory: SyncMemory
    agent: Agent
    turn: Turn

    def __init__(self, setting: Setting, stack: ExitStack) -> None:
        self._setting = setting
        self._stack = stack
        self._clock = aging.MovedClock()
        self._cast = Cast(run=new_id())
        self._conversation = setting.conversations[0]
        self._scope = self._cast.scope(self._conversation)
        self._question = _question(self._conversation)

    def open_store(self) -> Outcome:
        """Open it, its schema migrated, nobody else's memory in it."""
        self._open()
        make_room(self.memory)
        store = self.memory.store.capabilities.name
        return Outcome(
            result=f"{store}, {self.memory.call(_schema)}",
            facts={"store": store, "extractor": self.memory.config.extractor.use},
        )

    def build_graph(self) -> Outcome:
        """Put memory around an agent."""
        self.agent = Agent(self.memory)
        return Outcome(result=" → ".join(PATH), facts={"nodes": list(PATH)})

    def first_turn(self) -> Outcome:
        """Nothing is remembered yet; the first session is recorded."""
        first = self._conversation.sessions[0]
        turns = self._cast.play(self.agent, self._conversation, first)
        if injected := sum(len(turn.injected) for turn in turns):
            raise StoryFailed(f"{injected} items were injected before anything was remembered")
        recorded = self.memory.stats(self._scope).messages
        if recorded != _spoken(first):
            raise StoryFailed(f"{recorded} of {_spoken(first)} messages were recorded")
        return Outcome(
            result="0 items injected",
            lines=(f"{counted(recorded, 'message')} of the first session recorded, each once",),
            facts={"injected": 0, "recorded": recorded},
        )

    def consolidate(self) -> Outcome:
        """What was said becomes what is remembered."""
        jobs = consolidated(self.memory, self._scope)
        items = self.memory.stats(self._scope).items
        if not items:
            raise StoryFailed("consolidation remembered nothing of the first session")
        return Outcome(
            result=f"{counted(items, 'item')} from {counted(len(jobs), 'job')}",
            facts={"items": items, "jobs": len(jobs), "calls": sum(j.usage.calls for j in jobs)},
        )

    def second_turn(self) -> Outcome:
        """In a new session the agent answers from the first one."""
        heard = [Said(id="question", role="user", text=self._question)]
        session_id = f"{self._conversation.conv_id}/again"
        self.turn = self.agent.turn(self._cast.user(self._conversation), session_id, heard)
        first = self._cast.session(self._conversation, self._conversation.sessions[0])
        injected = self.turn.injected
        if not any((item.source or "").startswith(f"{first}#") for item in injected):
            raise StoryFailed(f"of {len(injected)} injected items none is from the first session")
        if not any(item.content in self.turn.reply for item in injected):
            raise StoryFailed("the reply uses no injected item")
        return Outcome(
            result=f"{counted(len(injected), 'item')} injected, the reply uses one",
            lines=(f"user:  {self._question}", f"agent: {self.turn.reply}"),
            facts={"injected": len(injected), "question": self._question, "reply": self.turn.reply},
        )

    def between(self, number: int) -> Iterator[StoryEvent]:
        """Before it is verified: the rest of the conversations, and their questions."""
        if number == _REPLAY_BEFORE:
            replay = Replay(
                self.memory,
                self.agent,
                self._cast,
                self._setting.conversations,
                told=self._question,
            )
            yield from replay.run()

    def verify(self) -> Outcome:
        """Every injected item is in the store as it was shown, and nobody else sees it."""
        found = self.memory.inject(self._scope, query=self._question).items
        ids = [item.id for item in found]
        kept = {item.id: item for item in self.memory.get(self._scope, ids)}
        if wrong := [item.id for item in found if not self._is_as_shown(item, kept.get(item.id))]:
            raise StoryFailed(f"{len(wrong)} injected items differ from the store: {wrong[0]}")
        shown = [item.id for item in self.turn.injected]
        if lost := len(shown) - len(self.memory.get(self._scope, shown)):
            raise StoryFailed(f"{lost} items of the second session are not in the store")
        stranger = Scope(user_id=f"{self._scope.user_id}/stranger")
        leaked = self.memory.inject(stranger, query=self._question).items
        if leaked or self.memory.get(stranger, ids):
            raise StoryFailed("another user is shown these items")
        return Outcome(
            result=f"{counted(len(found), 'item')} equal to the store's, none for another user",
            facts={"verified": len(found), "leaked": 0},
        )

    def _is_as_shown(self, shown: Recalled, kept: MemoryItem | None) -> bool:
        """Same content and kind, active, alive, and as important as its dates say."""
        now = self.memory.clock()
        if kept is None or kept.status != "active" or kept.expires_at <= now:
            return False
        alike = abs(kept.importance_at(now) - shown.importance) < aging.PRECISION
        return alike and (kept.content, kept.kind) == (shown.content, shown.kind)

    def decay(self) -> Outcome:
        """Time goes by; what fades is deleted, and nothing else."""
        note = self.memory.remember(
            self._scope, "The demo was here on day 0.", importance=aging.IMPORTANCE
        )
        pin = self.memory.remember(self._scope, "The demo pinned this.", pinned=True)
        days = [self._day(day, note.id) for day in aging.DAYS]
        aging.check_curve(days, self.memory.config.decay.policy(note.kind))
        if not self.memory.get(self._scope, [pin.id]):
            raise StoryFailed("a pinned item was deleted")
        deleted = sum(day.deleted for day in days)
        return Outcome(
            result=f"{counted(deleted, 'item')} deleted, each past its date",
            lines=tuple(str(day) for day in days),
            facts={"deleted": deleted, "days": [day.facts() for day in days]},
        )

    def _day(self, number: int, note: str) -> aging.Day:
        self._clock.ahead = timedelta(days=number)
        deleted, left = aging.sweep(self.memory)
        importance = aging.importance_now(self.memory, self._scope, note)
        return aging.Day(number, importance, deleted, left)

    def reopen(self) -> Outcome:
        """Everything is there again."""
        capabilities = self.memory.store.capabilities
        before = Holding.of(self.memory)
        if not capabilities.durable:
            return Outcome(
                result=f"not possible: the {capabilities.name} store is not durable",
                facts={"durable": False},
            )
        self._stack.close()
        self._open()
        after = Holding.of(self.memory)
        if after != before:
            raise StoryFailed(f"before: {before}; after: {after}")
        return Outcome(
            result=f"all there: {after}",
            facts={"durable": True, "items": after.stats.items, "messages": after.stats.messages},
        )

    def _open(self) -> None:
        default = f"sqlite:///{(self._setting.folder / 'memory.db').as_posix()}"
        self.memory = self._stack.enter_context(
            open_memory_sync(
                self._setting.store or default,
                extractor=self._setting.extractor,
                scheduler="manual",
                clock=self._clock,
            )
        )


async def _schema(memory: Memory) -> str:
    """What there is to say of the schema; `StoryFailed` if it is not up to date."""
    if not isinstance(memory.store, Maintains):
        return "no schema to migrate"
    migrated = await memory.store.migrate(dry_run=True)
    if migrated.applied:
        raise StoryFailed(f"the schema lacks {', '.join(migrated.applied)}")
    return f"schema {migrated.now} in place"


def _spoken(session: Sitting) -> int:
    """How many turns say something."""
    return sum(bool(turn.shown.strip()) for turn in session.turns)


def _question(conversation: Conversation) -> str:
    """One whose answer is in the first session, or else the first thing said there."""
    said = conversation.sessions[0].turns
    known = {turn.id for turn in said}
    for question in conversation.questions:
        if question.evidence_turns and known.issuperset(question.evidence_turns):
            return question.question
    return next(turn.text for turn in said if turn.role == "user")
