"""What has been said by a better candidate already."""

from __future__ import annotations

from collections import defaultdict

from memkit.models import Candidate

_COMPARED = 64
"""With so many of those who share one of its words a candidate is compared at most."""

_ROUNDING = 1e-9


class Said:
    """The words of the candidates chosen so far.

    Two say the same when the words they share are at least `duplicate` of all their words.
    """

    def __init__(self, duplicate: float) -> None:
        self._duplicate = duplicate
        self._may_differ = 1 - duplicate
        self._known: set[str] = set()
        self._unsigned: list[list[str]] = []
        self._by_sign: defaultdict[str, list[frozenset[str]]] = defaultdict(list)

    def first(self, row: Candidate) -> bool:
        """Take `row` in, unless its words were taken in before."""
        words = (row.tokens or row.content.casefold()).split()
        known = len(self._known)
        self._known.update(words)
        new = len(self._known) - known
        # Most bring in more new words than what repeats another may have.
        if new <= self._may_differ * len(words) + _ROUNDING and self._repeats(frozenset(words)):
            return False
        self._unsigned.append(words)
        return True

    def _repeats(self, words: frozenset[str]) -> bool:
        for earlier in map(frozenset, self._unsigned):
            for sign in self._signs(earlier):
                self._by_sign[sign].append(earlier)
        self._unsigned.clear()
        # Of a crowd that shares a word, the best: comparing with all would be quadratic.
        return any(
            self._alike(words, other)
            for sign in self._signs(words)
            for other in self._by_sign[sign][:_COMPARED]
        )

    def _signs(self, words: frozenset[str]) -> list[str]:
        """So many of the words that every set that is like this one has one of them, too.

        That holds in any fixed order; long words first, since few other texts have them.
        """
        may_differ = int(self._may_differ * len(words) + _ROUNDING)
        return sorted(sorted(words), key=len, reverse=True)[: may_differ + 1]

    def _alike(self, one: frozenset[str], other: frozenset[str]) -> bool:
        common = len(one & other)
        return common >= self._duplicate * (len(one) + len(other) - common)


class Answered:
    """Which words of the query the messages chosen so far have brought in."""

    def __init__(self) -> None:
        self._by_message: dict[tuple[str, int, int], int] = {}

    def adds(self, row: Candidate, matched: int) -> bool:
        """Take `row` in, unless its message has brought in all that it matches."""
        if row.session_id is None or row.position is None:
            return True
        # Sessions of two scopes may share a name, hence the time.
        message = (row.session_id, row.position, row.observed_at)
        before = self._by_message.get(message)
        if before is not None and not matched & ~before:
            return False
        self._by_message[message] = matched | (before or 0)
        return True
