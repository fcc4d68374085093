"""The maker of every id and of every random choice, repeatable by its seed."""

from __future__ import annotations

import random
import string
import uuid


class Mint:
    """Makes ids in the forms the service uses."""

    def __init__(self, seed: int = 0) -> None:
        self._random = random.Random(seed)  # noqa: S311 - ids of a test double, repeatable
        self._arrivals = 0

    def suffixed(self, name: str) -> str:
        """Return an id of a memory or strategy: its name and ten random characters."""
        letters = string.ascii_letters + string.digits
        return f"{name}-{''.join(self._random.choices(letters, k=10))}"

    def uuid(self) -> str:
        """Return a random UUID."""
        return str(uuid.UUID(int=self._random.getrandbits(128), version=4))

    def record_id(self) -> str:
        """Return the id of a record."""
        return f"mem-{self.uuid()}"

    def event_order(self, how: str) -> int:
        """Return the hex part of an event id, which orders events of one millisecond."""
        self._arrivals += 1
        if how == "random":
            return self._random.getrandbits(32)
        return self._arrivals if how == "arrival" else 0xFFFFFFFF - self._arrivals
