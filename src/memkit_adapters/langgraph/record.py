"""The node that records what was said, each message once."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence

from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from pydantic import JsonValue

from memkit.errors import InvalidInput
from memkit.memory import Memory
from memkit.models import ContentBlock, Message, ReasoningBlock, Scope, TextBlock
from memkit.sync import SyncMemory
from memkit_adapters.langgraph.messages import as_langchain
from memkit_adapters.langgraph.node import MemoryNode, OnError, Update, Work
from memkit_adapters.langgraph.reading import FOREIGN, read_message
from memkit_adapters.langgraph.scope import Place, Run, ScopeResolver, state_schema
from memkit_adapters.langgraph.state import MESSAGES_KEY, value_of

logger = logging.getLogger(__name__)

_SHAPE = ("type", "role", "content")
"""What is needed to make the message again; providers add more, which nobody said."""

_PROVENANCE = "langgraph"


def is_said(message: BaseMessage) -> bool:
    """Whether a message belongs to the conversation: no prompt, removal or summary of it."""
    summary = message.additional_kwargs.get("lc_source") == "summarization"
    return message.type not in {"system", "remove"} and not summary


class RecordNode(MemoryNode):
    """Records the messages of the state that are not recorded yet. Changes nothing in it.

        graph.add_node("record_memory", RecordNode(memory))

    Stands behind the agent. Stand another before it, and a turn that fails, or waits for an
    interrupt, leaves the user's words recorded: each message is stored once, however often
    the thread is handed in. `keep` says which messages are recorded.
    """

    def __init__(  # noqa: PLR0913  # where, for whom, and what of it
        self,
        memory: SyncMemory,
        *,
        scope: Scope | ScopeResolver | None = None,
        keep: Callable[[BaseMessage], bool] = is_said,
        messages_key: str = MESSAGES_KEY,
        on_error: OnError = "log",
        name: str = "record_memory",
    ) -> None:
        super().__init__(memory, scope=scope, on_error=on_error, name=name)
        self._keep = keep
        self._messages_key = messages_key

    @property
    def state_schema(self) -> type:
        """What the node reads, for `add_node(..., input_schema=...)`."""
        return state_schema("RecordState", self._messages_key)

    def _located(self, state: object, config: RunnableConfig | None) -> tuple[Run, Place]:
        run, place = super()._located(state, config)
        # Said here, because no policy may pass over a graph that is put together wrongly.
        _ = place.session
        return run, place

    def _work(self, run: Run, place: Place) -> Work:
        rules = self._memory.config.record
        held = value_of(run.state, self._messages_key)
        said = self._said(held if isinstance(held, list | tuple) else ())
        messages = [
            _kept(each, rules.max_message_characters, run.provenance)
            for each in said[-rules.max_messages :]
        ]

        async def record(memory: Memory) -> Update:
            await memory.record(
                place.scope, messages, session_id=place.session, history=True, revise=True
            )
            return {}

        return record

    def _without_memory(self, place: Place) -> Update:  # noqa: ARG002  # nothing to change
        return {}

    def _said(self, messages: Sequence[object]) -> list[BaseMessage]:
        """The messages to record. What is no message is left out, and does not stop the rest."""
        said: list[BaseMessage] = []
        for each in messages:
            try:
                message = as_langchain(each)
            except InvalidInput as exc:
                logger.warning("%s left out an entry of %s: %s", self.name, self._messages_key, exc)
            else:
                said += [message] if self._keep(message) else []
        return said


def _kept(message: BaseMessage, most: int, provenance: dict[str, JsonValue]) -> Message:
    """The message without what nobody said, and short enough not to be refused."""
    read = read_message(message)
    metadata = {key: value for key, value in read.metadata.items() if key != FOREIGN}
    form = read.metadata.get(FOREIGN)
    shape = {key: form[key] for key in _SHAPE if key in form} if isinstance(form, dict) else {}
    model = message.response_metadata.get("model_name")
    if isinstance(model, str):
        shape["model"] = model
    metadata |= {FOREIGN: shape} if shape else {}
    metadata |= {_PROVENANCE: provenance} if provenance else {}
    content = tuple(_cut(read.content, most))
    return read.model_copy(update={"content": content, "metadata": metadata})


def _cut(blocks: Sequence[ContentBlock], most: int) -> Iterator[ContentBlock]:
    """The blocks, their texts together a little over `most` characters: then memory cuts and
    says so, where it would refuse a message of absurd length, and with it the whole history.
    """
    left = most + 1
    for block in blocks:
        if isinstance(block, TextBlock | ReasoningBlock) and len(block.text) > left:
            yield block.model_copy(update={"text": block.text[:left]})
            left = 0
            continue
        left -= len(block.text) if isinstance(block, TextBlock | ReasoningBlock) else 0
        yield block
