"""How long, and how often, a call is tried again."""

from __future__ import annotations

import asyncio
import random
from typing import assert_never

from memkit_backends.postgres.failures import Sort
from memkit_backends.postgres.transaction import Deadline

CONFLICTS = 5
"""How often a call that others were in the way of is made again."""

FIRST_PAUSE = 0.02
LONGEST_PAUSE = 0.5


class Patience:
    """Of one call."""

    __slots__ = ("_conflicts", "_deadline", "_pause", "_was_standby")

    def __init__(self, deadline: Deadline) -> None:
        self._deadline = deadline
        self._conflicts = 0
        self._was_standby = False
        self._pause = FIRST_PAUSE

    async def lasts(self, sort: Sort) -> bool:
        """Wait until it is time for another attempt; False if there is to be none."""
        if not self._may_try_again(sort):
            return False
        # Jittered, so that those who met do not meet again.
        pause = self._pause * (0.5 + random.random())  # noqa: S311  # no secret
        self._pause = min(self._pause * 2, LONGEST_PAUSE)
        if pause >= self._deadline.left:
            return False
        await asyncio.sleep(pause)
        return True

    def _may_try_again(self, sort: Sort) -> bool:
        match sort:
            case "final":
                return False
            case "conflict":
                self._conflicts += 1
                return self._conflicts <= CONFLICTS
            case "standby":
                # Once, on new connections: a server that only reads now may do so for long.
                self._was_standby, again = True, not self._was_standby
                return again
            case "lost":
                # A server that restarts or fails over may be back before the deadline is.
                return True
            case _:
                assert_never(sort)
