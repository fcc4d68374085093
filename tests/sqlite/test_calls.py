"""The mailbox of the threads: each call once, to one thread, the warm one first."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from memkit_backends.sqlite.calls import Call, Mailbox

pytestmark = pytest.mark.anyio

CALLS = 3_000


def waiting(mailbox: Mailbox, count: int) -> None:
    """Return when so many threads wait at the mailbox."""
    tick = threading.Event()
    while len(mailbox._waiting) < count:
        tick.wait(0.001)


async def test_every_call_is_taken_once_whoever_leaves_it_and_whoever_takes_it() -> None:
    """Three leave calls and three take them at once: none is lost, doubled or left lying."""
    mailbox = Mailbox()
    calls = [Call.here(print) for _ in range(3 * CALLS)]

    def take() -> list[Call]:
        taken = []
        while (call := mailbox.get()) is not None:
            taken.append(call)
        mailbox.put(None)
        return taken

    def leave(share: list[Call]) -> None:
        for call in share:
            mailbox.put(call)

    with ThreadPoolExecutor(6) as threads:
        takers = [threads.submit(take) for _ in range(3)]
        leavers = [threads.submit(leave, calls[first::3]) for first in range(3)]
        for leaver in leavers:
            await asyncio.wrap_future(leaver)
        mailbox.put(None)
        taken = Counter(id(call) for taker in takers for call in taker.result())
    assert taken == Counter(map(id, calls))


class Interrupted(list[Any]):
    """Those that wait, where a call comes just before one is known to."""

    def __init__(self, mailbox: Mailbox, call: Call) -> None:
        super().__init__()
        self._mailbox, self._call = mailbox, call

    def append(self, turn: Any) -> None:
        self._mailbox.put(self._call)
        super().append(turn)


async def test_a_call_that_comes_before_a_thread_is_known_to_wait_is_taken() -> None:
    """Between the look that finds nothing and the wait, no call is missed."""
    mailbox, call = Mailbox(), Call.here(print)
    mailbox._waiting = waiting = Interrupted(mailbox, call)
    taken = asyncio.to_thread(mailbox.get)
    assert await asyncio.wait_for(taken, 20) is call
    assert waiting == []


async def test_the_thread_that_came_last_is_woken_and_no_other() -> None:
    """Calls that come one by one all go to one thread, though three wait."""
    mailbox = Mailbox()
    takers: list[str] = []

    def take() -> None:
        while mailbox.get() is not None:
            takers.append(threading.current_thread().name)
        mailbox.put(None)

    threads = [threading.Thread(target=take, name=str(number)) for number in range(3)]
    for number, thread in enumerate(threads, start=1):
        thread.start()
        await asyncio.to_thread(waiting, mailbox, number)
    for _ in range(50):
        mailbox.put(Call.here(print))
        await asyncio.to_thread(waiting, mailbox, 3)
    mailbox.put(None)
    for thread in threads:
        await asyncio.to_thread(thread.join, 20)
    assert takers == ["2"] * 50


async def test_calls_that_wait_wake_further_threads() -> None:
    """What is left while one thread works is not kept waiting for it."""
    mailbox, release = Mailbox(), threading.Event()
    begun = threading.Semaphore(0)

    def take() -> None:
        while mailbox.get() is not None:
            begun.release()
            release.wait(20)
        mailbox.put(None)

    threads = [threading.Thread(target=take) for _ in range(2)]
    for thread in threads:
        thread.start()
    for _ in range(2):
        mailbox.put(Call.here(print))
    assert begun.acquire(timeout=20)
    assert begun.acquire(timeout=20)
    release.set()
    mailbox.put(None)
    for thread in threads:
        await asyncio.to_thread(thread.join, 20)
