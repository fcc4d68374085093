"""What memkit uses of asyncpg, which ships no types."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from typing import Any, Protocol


class Connection(Protocol):
    """A connection, taken from a pool."""

    async def execute(self, query: str, *args: object, timeout: float | None = None) -> str:  # noqa: ASYNC109  # asyncpg's signature, here and below
        """Run one statement, or without arguments several; the last one's command tag."""
        ...

    async def executemany(
        self,
        command: str,
        args: Iterable[Sequence[object]],
        *,
        timeout: float | None = None,  # noqa: ASYNC109
    ) -> None:
        """Run one statement once for each row of arguments."""
        ...

    async def fetch(self, query: str, *args: object, timeout: float | None = None) -> list[Any]:  # noqa: ASYNC109
        """Run one statement and return its rows."""
        ...

    def is_closed(self) -> bool:
        """Whether it is of no use any more."""
        ...

    def terminate(self) -> None:
        """Cut it, without a word to the server."""
        ...


class Pool(Protocol):
    """A pool of connections: what `asyncpg.create_pool` makes."""

    def __await__(self) -> Generator[Any, None, Any]:
        """Make its first connections."""
        ...

    async def acquire(self) -> Any:
        """Take a connection."""
        ...

    async def release(self, connection: Any, *, timeout: float | None = None) -> None:  # noqa: ASYNC109
        """Give it back."""
        ...

    async def expire_connections(self) -> None:
        """Replace every connection when it is next taken."""
        ...

    async def close(self) -> None:
        """Wait until all connections are back, and close them."""
        ...

    def terminate(self) -> None:
        """Cut all connections."""
        ...
