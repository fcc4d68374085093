"""The kit without pytest's runner: each rule tried on a fresh subject, and a verdict given."""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import anyio
import pytest

from memkit.testing.clock import ManualClock
from memkit.testing.suite import Suite, given_reason
from memkit.testing.values import NOW

PATIENCE = 60.0
"""Seconds that one rule may take."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What became of one rule.

    `excused` is a rule that is not kept and says so (`xfail` with its reason); `not offered`
    one of a capability that is not declared. `why` is the reason, or where it failed.
    """

    rule: str
    says: str
    outcome: Literal["kept", "broken", "excused", "not offered"]
    why: str = ""


async def judge(suite: type[Suite]) -> list[Verdict]:
    """Try every rule of `suite`, each by itself. Suites that define fixtures need pytest."""
    return [await _tried(suite, name, test) for name, test in _tests(suite)]


def _tests(suite: type[Suite]) -> Iterator[tuple[str, Callable[..., Awaitable[None]]]]:
    members = inspect.getmembers(suite, inspect.iscoroutinefunction)
    return ((name, test) for name, test in members if name.startswith("test_"))


async def _tried(suite: type[Suite], name: str, test: Callable[..., Awaitable[None]]) -> Verdict:
    says = " ".join((test.__doc__ or "").split())
    excuse = given_reason(test)
    try:
        with anyio.fail_after(PATIENCE):
            await _run(suite(), test)
    except pytest.skip.Exception as undeclared:
        return Verdict(rule=name, says=says, outcome="not offered", why=str(undeclared))
    except (Exception, pytest.fail.Exception) as failure:  # noqa: BLE001  # not kept is not kept
        if excuse is not None:
            return Verdict(rule=name, says=says, outcome="excused", why=excuse)
        return Verdict(rule=name, says=says, outcome="broken", why=_place(failure))
    return Verdict(rule=name, says=says, outcome="kept")


async def _run(suite: Suite, test: Callable[..., Awaitable[None]]) -> None:
    clock = ManualClock(NOW)
    async with suite.opened(clock) as subject:
        given = {suite.subject: subject, "clock": clock}
        wanted = inspect.signature(test).parameters.keys() - {"self"}
        await test(suite, **{name: given[name] for name in wanted})


def _place(failure: BaseException) -> str:
    """The kit's own line that failed, and with what."""
    frames = [each for each in traceback.extract_tb(failure.__traceback__) if each.line]
    line = next((each for each in reversed(frames) if "test_" in each.name), frames[-1])
    said = next(iter(str(failure).splitlines()), "")
    return f"{type(failure).__name__}: {said} ({line.name}, line {line.lineno}: {line.line})"
