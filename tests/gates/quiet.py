"""Every stage and every way to fail, and all that can be heard: `python -m tests.gates.quiet`.

A word as content and a password are given on stdin; nothing that is printed may hold either.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
import traceback
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from memkit.app import open_memory
from memkit.config import Config
from memkit.contracts import Reply
from memkit.errors import ExtractionError
from memkit.hookspecs import Event
from memkit.memory import Memory
from memkit.models import Episode, Extraction, ExtractionRequest, Scope
from memkit.testing.around import LedgerStoreAround
from memkit.testing.clock import ManualClock
from memkit.testing.scripted import ScriptedChatModel
from memkit_backends.extractors.llm import LLMExtractor

logger = logging.getLogger("memkit.gate")

SCOPE = Scope("ann")

Call = Callable[[], Awaitable[object]]


@dataclass(frozen=True, kw_only=True)
class Secrets:
    """What must not be heard, and where the store is; `bug` lets it be heard."""

    word: str
    password: str
    location: str
    backend: str
    bug: str | None = None
    folder: str = ""


@dataclass
class Heard:
    """Everything that was done, by name, printed with all that it shows of itself."""

    paths: list[str] = field(default_factory=list)

    async def tell(self, name: str, call: Call) -> Any:
        """Make a call and print its answer's repr, or the whole of its exception."""
        try:
            answer = await call()
        except Exception as exc:  # noqa: BLE001  # whatever it is, it is printed
            self._fail(name, exc)
            return None
        self.paths.append(f"{name}: done")
        return answer

    def show(self, *values: object) -> None:
        """Print values that carry counts and ids."""
        for value in values:
            say(repr(value), str(value))

    def _fail(self, name: str, exc: BaseException) -> None:
        self.paths.append(f"{name}: {type(exc).__name__}")
        say(*traceback.format_exception(exc))
        for each in chain(exc):
            say(repr(each), str(each), repr(each.args), repr(vars(each)))
        # As a host would that logs what it catches.
        logger.error("%s failed: %s", name, exc, exc_info=exc)


def chain(exc: BaseException | None) -> Iterator[BaseException]:
    """An exception and everything that it is said to come of."""
    while exc is not None:
        yield exc
        exc = exc.__cause__ or (None if exc.__suppress_context__ else exc.__context__)


def say(*lines: str) -> None:
    """Print to stdout."""
    sys.stdout.writelines(f"{line}\n" for line in lines)


class Logs(LedgerStoreAround):
    """The bug: what is written is logged, for whoever wants to follow it."""

    async def append(self, episodes: Sequence[Episode], **how: Any) -> Any:
        """See `Store.append`."""
        logger.debug("appending %s", episodes)
        return await self.inner.append(episodes, **how)


class Indiscreet:
    """An extractor whose failures quote what was said."""

    fingerprint = "indiscreet"

    def __init__(self, *failures: Exception) -> None:
        self._failures = list(failures)

    async def extract(self, request: ExtractionRequest) -> Extraction:
        """See `Extractor.extract`."""
        raise self._failures.pop(0) if self._failures else ValueError(request.turns[0].message.text)


def indiscreet(event: Event) -> None:
    """An observer that fails with what it saw."""
    raise ValueError(event)


async def stages(memory: Memory, heard: Heard, secrets: Secrets) -> None:
    """Each verb once, going well. Only what carries no content is shown."""
    word, tell = secrets.word, heard.tell
    said = [
        {"role": role, "content": f"I live in {word}, {role}"} for role in ("user", "assistant")
    ]
    keyed = [{**each, "key": f"k-{at}"} for at, each in enumerate(said)]
    heard.show(
        await tell("record", lambda: memory.record(SCOPE, keyed, session_id="s")),
        await tell("record again", lambda: memory.record(SCOPE, keyed, session_id="s")),
        await tell("history", lambda: memory.record(SCOPE, said, session_id="t", history=True)),
        await tell("consolidate", memory.consolidate),
    )
    item = await tell("remember", lambda: memory.remember(SCOPE, f"{word} is told", key="home"))
    for name, call in {
        "update": lambda: memory.update(SCOPE, item.id, content=f"{word} anew", value=word),
        "pin": lambda: memory.pin(SCOPE, item.id),
        "reinforce": lambda: memory.reinforce(SCOPE, item.id),
        "get": lambda: memory.get(SCOPE, [item.id]),
        "inject": lambda: memory.inject(SCOPE, query=word, deadline=5.0),
        "search": lambda: memory.search(SCOPE, f"where is {word}?"),
        "scan": lambda: memory.scan("items"),
    }.items():
        await tell(name, call)
    heard.show(
        await tell("stats", memory.stats),
        await tell("jobs", memory.jobs),
        await tell("decay", lambda: memory.decay(dry_run=True)),
        await tell("rebuild", memory.rebuild),
        await tell("check", memory.check),
        await tell("forget a message", lambda: memory.forget(
            SCOPE, session_id="s", message_keys=["k-0"], replacement="[gone]")),
        await tell("forget an item", lambda: memory.forget(SCOPE, items=[item.id])),
        await tell("tombstones", lambda: memory.scan("tombstones")),
        *(memory, memory.store, memory.store.capabilities, memory.config, memory.scheduler),
        *(memory.config.store, memory.extractor, memory.clock, json.dumps(memory.config.masked())),
    )  # fmt: skip


async def misuse(memory: Memory, heard: Heard, secrets: Secrets) -> None:
    """What a caller may get wrong, each time with the word in hand."""
    word = secrets.word
    keyed = {"role": "user", "content": f"{word} first", "key": "k"}
    await heard.tell("a first content", lambda: memory.record(SCOPE, [keyed], session_id="c"))
    wrong: dict[str, Call] = {
        "a conflict": lambda: memory.record(
            SCOPE, [{**keyed, "content": f"{word} 2"}], session_id="c"),
        "a bad role": lambda: memory.record(SCOPE, [{**keyed, "role": word}], session_id="c"),
        "a bad field": lambda: memory.record(SCOPE, [{**keyed, "metadata": word}], session_id="c"),
        "a bad message": lambda: memory.record(SCOPE, [word], session_id="c"),
        "a text as messages": lambda: memory.record(SCOPE, word, session_id="c"),
        "too long a message": lambda: memory.record(
            SCOPE, [{**keyed, "content": word * 100_000}], session_id="c"),
        "too deep metadata": lambda: memory.remember(SCOPE, word, metadata=nested(word, 300)),
        "too long an item": lambda: memory.remember(SCOPE, word * 1_000),
        "a bad value": lambda: memory.remember(SCOPE, word, value={word}),
        "half a pair": lambda: memory.remember(SCOPE, word, value=f"{word}\ud83d"),
        "a bad kind": lambda: memory.remember(SCOPE, word, kind="kinds"),
        "a bad importance": lambda: memory.remember(SCOPE, word, importance=7),
        "a missing item": lambda: memory.update(SCOPE, "nothing", content=word),
        "a bad query": lambda: memory.search(SCOPE, [word]),
        "a bad scope": lambda: memory.remember({"user_id": word}, word),
        "an unset scope": lambda: memory.remember(Scope(), word),
        "a bad replacement": lambda: memory.forget(SCOPE, replacement=word),
        "two targets": lambda: memory.forget(SCOPE, items=["a"], session_id="s"),
    }  # fmt: skip
    for name, call in wrong.items():
        await heard.tell(name, call)


def nested(word: str, depth: int) -> dict[str, Any]:
    """A table with a word at its bottom."""
    table: dict[str, Any] = {"at": word}
    for _ in range(depth):
        table = {"in": table}
    return table


async def extractions(heard: Heard, secrets: Secrets) -> None:
    """Extractors and models that fail, or answer so that core has to refuse it."""
    word = secrets.word
    facts = json.dumps({"facts": [{"content": f"{word} is a fact", "importance": word}]})
    models = {
        "prose": f"The user lives in {word}.",
        "a cut reply": Reply(text=f'{{"facts": [{{"content": "{word}', finish="length"),
        "a refusal": f"I'm sorry, I can't help with that request about {word}.",
        "another shape": json.dumps([word]),
        "a model that raises": RuntimeError(word),
        "a model that is limited": ExtractionError("rate_limited", word, retry_after=1),
        "a fact": facts,
    }
    extractors: dict[str, Any] = {
        name: LLMExtractor(ScriptedChatModel(step, then=step)) for name, step in models.items()
    }
    extractors["an extractor that raises"] = Indiscreet()
    extractors["an extractor that fails"] = Indiscreet(ExtractionError("unavailable", word))
    clock = ManualClock()
    for name, extractor in extractors.items():
        async with open_memory(
            Config.model_validate({"store": "memory://"}),
            extractor=extractor,
            clock=clock,
            observe=indiscreet,
        ) as memory:
            said = [{"role": "user", "content": f"I live in {word}"}]
            await memory.record(SCOPE, said, session_id="s")
            jobs = await heard.tell(name, memory.consolidate)
            heard.show(jobs, await memory.jobs(), extractor, await memory.stats())


async def going_well(heard: Heard, secrets: Secrets) -> None:
    """The stages, and what a caller may get wrong."""
    config = Config.model_validate({"store": secrets.location})
    async with open_memory(config) as opened:
        store: Any = Logs(opened.store) if secrets.bug == "log-content" else opened.store
        async with open_memory(config, store=store, observe=heard.show) as memory:
            await stages(memory, heard, secrets)
            await misuse(memory, heard, secrets)
    await heard.tell("after closing", lambda: memory.search(SCOPE, secrets.word))


async def going_wrong(heard: Heard, secrets: Secrets) -> None:
    """What others may get wrong: models, places, databases."""
    # Imported here, because it needs this module.
    from tests.gates.failures import breakdowns, locations

    await extractions(heard, secrets)
    await locations(heard, secrets)
    await breakdowns(heard, secrets)


def main() -> None:
    """Tell the whole story, then what was done. With a bug, its beginning."""
    from tests.gates.failures import commands, nodes

    secrets = Secrets(**json.load(sys.stdin))
    logging.basicConfig(level=logging.DEBUG, stream=sys.stderr)
    heard = Heard()
    if secrets.bug == "log-dsn":
        logger.debug("opening postgresql://ann:%s@localhost/memory", secrets.password)
    asyncio.run(going_well(heard, secrets), debug=True)
    if secrets.bug is None:
        asyncio.run(going_wrong(heard, secrets), debug=True)
        nodes(heard, secrets)
        commands(heard, secrets)
    say(json.dumps(heard.paths))


if __name__ == "__main__":
    main()
