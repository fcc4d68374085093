"""A network between memkit and Postgres that fails at a chosen moment."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Literal

Fault = Literal["cut", "half", "unanswered", "uncommitted", "delay", "hole"]
"""cut: before anything is sent. half: in the middle of a message. unanswered: the server
answered, nobody hears it. uncommitted: the same, to a COMMIT. delay: late, but whole. hole:
nothing passes any more, and nobody is told."""

DELAY = 0.05
ANSWERED = 0.2
"""Seconds in which the server answers."""

READY = b"Z\x00\x00\x00\x05"
"""How the server ends an answer."""

Pipe = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@dataclass
class Proxy:
    """Listens on loopback and passes on to a socket. A fault that is armed happens once."""

    path: str
    fault: Fault | None = None
    happened: int = 0
    _server: asyncio.Server | None = None
    _pipes: list[Pipe] = field(default_factory=list)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    async def start(self) -> str:
        """Listen; the URL to connect to."""
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        port = self._server.sockets[0].getsockname()[1]
        return f"postgresql://postgres@127.0.0.1:{port}/postgres?sslmode=disable"

    def cut_all(self) -> None:
        """Cut every connection there is, as a network does to idle ones."""
        for _, writer in self._pipes:
            writer.transport.abort()
        self._pipes.clear()

    async def aclose(self) -> None:
        """Stop listening and cut everything."""
        assert self._server is not None
        self._server.close()
        self.cut_all()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        client: Pipe = (reader, writer)
        server: Pipe = await asyncio.open_unix_connection(self.path)
        self._pipes += [client, server]
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        answers = asyncio.create_task(_pump(server, client))
        self._tasks.add(answers)
        try:
            await self._requests(client, server, answers)
        except (OSError, EOFError, asyncio.CancelledError):
            pass  # one side is gone, or the proxy is closed
        finally:
            answers.cancel()
            for _, each in (client, server):
                each.transport.abort()
            self._tasks -= {task, answers}

    async def _requests(self, client: Pipe, server: Pipe, answers: asyncio.Task[None]) -> None:
        while data := await client[0].read(1 << 16):
            fault = self._take(data)
            if fault is None:
                server[1].write(data)
            elif not await _failing(fault, data, server, answers):
                return

    def _take(self, data: bytes) -> Fault | None:
        fault = self.fault
        if fault is None or (fault == "uncommitted" and b"COMMIT\0" not in data):
            return None
        self.fault = None
        self.happened += 1
        return fault


async def _failing(fault: Fault, data: bytes, server: Pipe, answers: asyncio.Task[None]) -> bool:
    """Let it happen; whether the connection goes on."""
    match fault:
        case "cut":
            return False
        case "half":
            server[1].write(data[: len(data) // 2])
            await server[1].drain()
            return False
        case "delay":
            await asyncio.sleep(DELAY)
            server[1].write(data)
            return True
        case "hole":
            answers.cancel()
            await asyncio.Event().wait()
            return False
        case "unanswered" | "uncommitted":
            answers.cancel()
            await asyncio.gather(answers, return_exceptions=True)
            server[1].write(data)
            # What is asked for the form of a statement has no end that could be waited for.
            with suppress(TimeoutError):
                async with asyncio.timeout(ANSWERED):
                    await _heard(server)
            return False


async def _heard(server: Pipe) -> None:
    heard = b""
    while READY not in heard and (piece := await server[0].read(1 << 16)):
        heard += piece


async def _pump(source: Pipe, target: Pipe) -> None:
    while data := await source[0].read(1 << 16):
        target[1].write(data)
    target[1].transport.abort()
