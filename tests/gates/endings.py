"""What programs have at hand that end in one way or another: a store, a voice, a way to wait."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import time

import aiosqlite

from memkit.memory import Memory
from memkit.models import Extraction, ExtractionRequest, Scope
from memkit.sync import SyncMemory
from memkit.testing.around import LedgerStore, LedgerStoreAround
from memkit_backends.sqlite import open_store
from tests.gates.backends import file_of

ANN = Scope("ann")
SAID = [{"role": "user", "content": "I drink tea", "key": "tea"}]
LEFT: list[object] = []
"""What nobody closes: a program's global."""


class OnAiosqlite(LedgerStoreAround):
    """The bug global-connection: one of aiosqlite, whose thread ends when it is closed."""

    connection: aiosqlite.Connection

    @classmethod
    async def over(cls, store: LedgerStore, location: str) -> OnAiosqlite:
        """The store, with that connection beside it."""
        around = cls(store)
        around.connection = await aiosqlite.connect(file_of(location))
        return around

    async def aclose(self) -> None:
        """Close both."""
        await self.inner.aclose()
        await self.connection.close()


class OnAThread(LedgerStoreAround):
    """The bug own-thread: one that waits for work until the store is closed."""

    def __init__(self, inner: LedgerStore) -> None:
        super().__init__(inner)
        self._closed = threading.Event()
        threading.Thread(target=self._closed.wait).start()

    async def aclose(self) -> None:
        """Close the store, and end the thread."""
        await self.inner.aclose()
        self._closed.set()


async def opened(location: str) -> LedgerStore:
    """The store of the scenario."""
    if location.startswith("sqlite:"):
        file = await open_store(location)
        return await OnAiosqlite.over(file, location) if "--bug" in sys.argv else file
    from tests.gates.postgres import open_at  # its driver is loaded only where it is used

    server = await open_at(location)
    return OnAThread(server) if "--bug" in sys.argv else server


def say(line: str) -> None:
    """Tell the gate."""
    os.write(1, f"{line}\n".encode())


async def keep(memory: Memory) -> None:
    """Record something."""
    await memory.record(ANN, SAID, session_id="s")
    say("kept")


def keep_sync(memory: SyncMemory) -> None:
    """Record something, blocking."""
    memory.record(ANN, SAID, session_id="s")
    say("kept")


class Slow:
    """An extractor that takes its time."""

    fingerprint = "slow"

    async def extract(self, _: ExtractionRequest) -> Extraction:
        """Nothing, late."""
        say("extracting")
        await asyncio.sleep(30)
        return Extraction()


def wait_for_a_signal() -> None:
    """Do nothing until one comes."""
    say("signal me")
    while True:
        time.sleep(0.01)
