"""What both nodes have in common: they find their scope, run on memkit's thread, and survive."""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections.abc import Awaitable, Callable
from typing import Literal

from langchain_core.runnables import Runnable, RunnableConfig

from memkit.errors import MemkitError
from memkit.memory import Memory
from memkit.models import Scope
from memkit.sync import SyncMemory
from memkit_adapters.langgraph.scope import Place, Run, ScopeResolver

logger = logging.getLogger(__name__)

OnError = Literal["log", "raise"]
"""What a node does when memory fails: log it and let the turn go on, or raise."""

Update = dict[str, object]
"""The keys of the graph's state that a node changes; no others."""

Work = Callable[[Memory], Awaitable[Update]]
"""What a node asks of memory; carried out on memkit's thread."""


class MemoryNode(Runnable[object, Update]):
    """A node that asks something of memory, for sync and async graphs alike.

    A run that does not say whose memory it is raises `ScopeError`, whatever `on_error` says:
    the graph is put together wrongly, and every guess would be unsafe.
    """

    def __init__(
        self,
        memory: SyncMemory,
        *,
        scope: Scope | ScopeResolver | None,
        on_error: OnError,
        name: str,
    ) -> None:
        if not isinstance(memory, SyncMemory):
            raise TypeError(
                "a node needs the memory of open_memory_sync(): it serves sync and async "
                "graphs alike, from a thread of its own"
            )
        self.name = name
        self._memory = memory
        self._scope = scope
        self._on_error = on_error

    def invoke(self, input: object, config: RunnableConfig | None = None, **_: object) -> Update:  # noqa: A002  # LangChain's name
        """The update of the state, blocking."""
        run, place = self._located(input, config)
        try:
            return self._memory.call(self._work(run, place))
        except Exception as exc:  # noqa: BLE001  # a turn outlives its memory
            return self._survived(exc, place)

    async def ainvoke(
        self,
        input: object,  # noqa: A002  # LangChain's name
        config: RunnableConfig | None = None,
        **_: object,
    ) -> Update:
        """The update of the state, awaited."""
        run, place = self._located(input, config)
        try:
            return await self._memory.acall(self._work(run, place))
        except Exception as exc:  # noqa: BLE001  # a turn outlives its memory
            return self._survived(exc, place)

    def _located(self, state: object, config: RunnableConfig | None) -> tuple[Run, Place]:
        run = Run.of(state, config)
        return run, run.place(self._scope)

    @abstractmethod
    def _work(self, run: Run, place: Place) -> Work:
        """What to ask of memory, prepared from the state."""

    @abstractmethod
    def _without_memory(self, place: Place) -> Update:
        """The update when memory failed."""

    def _survived(self, error: Exception, place: Place) -> Update:
        if self._on_error == "raise":
            raise error
        # memkit's own errors carry no content; of others only the name is safe to log.
        said = f": {error}" if isinstance(error, MemkitError) else ""
        logger.error("%s went on without memory: %s%s", self.name, type(error).__name__, said)
        return self._without_memory(place)
