"""Pages and their tokens. A token is the last key seen, so deleting while paging skips nothing."""

from __future__ import annotations

import bisect
import hashlib
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeAlias, TypeVar

from memkit.testing.agentcore.errors import invalid_field
from memkit.testing.agentcore.values import by_id, canonical

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from memkit.testing.agentcore.values import Members

Key: TypeAlias = "tuple[float | str, ...]"
Element = TypeVar("Element")
UNTOUCHED = ("nextToken", "maxResults")


@dataclass(frozen=True)
class Page(Generic[Element]):
    """Some elements in order, and the token of the next page if there is one."""

    elements: Sequence[Element]
    next_token: str | None

    def members(self) -> Members:
        """Return the token as the member of an answer."""
        return {} if self.next_token is None else {"nextToken": self.next_token}


@dataclass(frozen=True)
class Pager:
    """Cuts pages for one request."""

    request: str
    token: str | None
    size: int

    def cut(self, ordered: Sequence[Element], key: Callable[[Element], Key]) -> Page[Element]:
        """Return the page after the token; `ordered` ascends by `key`."""
        start = self._start(ordered, key)
        chosen = ordered[start : start + self.size]
        is_last = start + self.size >= len(ordered)
        return Page(chosen, None if is_last or not chosen else self.token_after(key(chosen[-1])))

    def token_after(self, key: Key) -> str:
        """Make the token that continues after a key."""
        plain = json.dumps([self.request, list(key)])
        return urlsafe_b64encode(plain.encode()).decode()

    def _start(self, ordered: Sequence[Element], key: Callable[[Element], Key]) -> int:
        if self.token is None:
            return 0
        try:
            return bisect.bisect_right(ordered, self._last_seen(self.token), key=key)
        except TypeError as exc:
            raise invalid_field("nextToken", "is not a token of this service") from exc

    def _last_seen(self, token: str) -> Key:
        try:
            request, key = json.loads(urlsafe_b64decode(token.encode()))
            belongs = request == self.request and all(isinstance(k, int | float | str) for k in key)
        except (ValueError, TypeError, RecursionError) as exc:
            raise invalid_field("nextToken", "is not a token of this service") from exc
        if not belongs:
            raise invalid_field("nextToken", "is not a token of this request")
        return tuple(key)


def pager(operation: str, members: Members, size: int, *, short: bool) -> Pager:
    """Make the pager of a request; tokens only fit requests that ask for the same."""
    asked = {name: value for name, value in by_id(members).items() if name not in UNTOUCHED}
    request = hashlib.sha256(f"{operation}{canonical(asked)}".encode()).hexdigest()[:16]
    token = members.get("nextToken")
    return Pager(request, token if isinstance(token, str) else None, _size(size, short=short))


def _size(size: int, *, short: bool) -> int:
    return max(1, size // 2) if short else size
