"""Which messages of a history are recorded already. Pure: digests and keys in, places out.

A history is what a caller holds of a conversation now. It may begin later than the session
did (a window), begin with something new (a summary), be edited in the middle, end earlier (a
resumed run), and carry stable keys, keys minted anew on every call, or none. In doubt a
message counts as new: recorded twice is mended later, lost is not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Protocol

from memkit.models import Tail, key_hash

_SURE = 2
"""So many messages in a row are hardly a coincidence; one "ok" may be."""
_CERTAIN = 4
"""Nobody says so many messages in a row over again."""


class Comparable(Protocol):
    """What is known of a message of the history: a `Message`, or less."""

    @property
    def digest(self) -> str: ...
    @property
    def key(self) -> str | None: ...


def unrecorded(tail: Tail, history: Sequence[Comparable]) -> list[int]:
    """The places in `history` of what has to be stored, in order.

    A key that is recorded decides: equal content is known, other content is a revision and
    has to be stored. Everything else is known if it stands where equal content stands in the
    tail, unless a message of the history bears that content's own key.
    """
    recorded, places = _conversation(tail)
    keyed = dict(_known_keys(places, history)) if places else {}
    digests = [message.digest for message in history]
    # An edited message stands for what it was, so that it does not part its neighbors.
    before = [*digests]
    for place, at in keyed.items():
        before[place] = recorded[at]
    comparison = _Comparison(
        recorded=recorded,
        history=before,
        keyed=keyed,
        owned=frozenset(keyed.values()),
        said=history,
        whole=tail.head == len(tail.digests),
    )
    known = comparison.matches()
    if isinstance(known, range) and not keyed:
        # As it usually is, and many times as fast.
        return [*range(known.stop, len(digests))]
    return [
        place
        for place, digest in enumerate(digests)
        if (digest != recorded[keyed[place]] if place in keyed else place not in known)
    ]


def _known_keys(
    places: Mapping[str, int], history: Sequence[Comparable]
) -> Iterator[tuple[int, int]]:
    """Where in the history a recorded key stands, and where it was recorded."""
    for at, message in enumerate(history):
        if message.key is not None:
            place = places.get(message.key)
            # What has lost its body is listed by the hash of its key.
            place = places.get(key_hash(message.key)) if place is None else place
            if place is not None:
                yield at, place


def _conversation(tail: Tail) -> tuple[list[str], dict[str, int]]:
    """The digests in the order in which the conversation goes, and the places of its keys.

    A revision was recorded at the end and stands in the conversation where its key first did.
    """
    if not any(tail.keys):
        return [*tail.digests], {}
    said: list[str] = []
    places: dict[str, int] = {}
    for digest, key in zip(tail.digests, tail.keys, strict=True):
        if key in places:
            said[places[key]] = digest
            continue
        if key is not None:
            places[key] = len(said)
        said.append(digest)
    return said, places


@dataclass(frozen=True, slots=True, kw_only=True)
class _Comparison:
    """A recorded conversation and a history of it, as digests.

    `keyed` are the places in the history whose key is recorded, and where (`owned`); `said` is
    what stands there. `whole` says that nothing was said before `recorded`.
    """

    recorded: Sequence[str]
    history: Sequence[str]
    keyed: Mapping[int, int]
    owned: AbstractSet[int]
    said: Sequence[Comparable]
    whole: bool

    def matches(self) -> Container[int]:
        """The places in the history that are recorded."""
        if not self.recorded or not self.history:
            return ()
        return self._continued() or self._resumed() or self._shortened()

    def _continued(self) -> Container[int] | None:
        """The history begins within the session and goes on beyond it: the usual case."""
        for length in range(min(len(self.recorded), len(self.history)), 0, -1):
            start = len(self.recorded) - length
            if (
                self.recorded[start] == self.history[0]
                and self.recorded[start:] == self.history[:length]
                and self._is_consistent(start, length)
                and self._is_evidence(start, length)
            ):
                return range(length)
        return None

    def _resumed(self) -> AbstractSet[int]:
        """The session's end stands behind something else: a summary, or an edited message."""
        last = len(self.recorded) - 1
        best: tuple[int, AbstractSet[int]] = 0, frozenset()
        for end in range(len(self.history)):
            length = self._length_back(end, last)
            # Of short runs the first: what comes behind it is then new rather than lost.
            if length > best[0] and (length >= _CERTAIN or not best[0]):
                first = end - length + 1
                before = self._scattered(first, last - length + 1)
                # A key that nobody knows speaks against its message having been recorded.
                if length >= _SURE or length + len(before) >= _SURE + self._is_minted(end):
                    best = length, before | frozenset(range(first, end + 1))
        return best[1]

    def _shortened(self) -> Container[int]:
        """The history leaves the session before its end: an older state, or another answer."""
        start = max(range(len(self.recorded)), key=self._length_on)
        length = self._length_on(start)
        begins = self.whole and start == 0
        if length >= _SURE or (length and begins and self._is_evidence(start, length)):
            return range(length)
        return frozenset()

    def _is_consistent(self, start: int, length: int) -> bool:
        """Whether every key within a run of equal contents stands where it should."""
        if not self.keyed:
            return True
        places, recorded = self.keyed, range(start, start + length)
        return all(
            places[offset] == place if offset in places else place not in self.owned
            for offset, place in enumerate(recorded)
        )

    def _is_evidence(self, start: int, length: int) -> bool:
        """Whether a run shows that its messages are the recorded ones.

        A single one whose key nobody knows does not, unless it is all that was recorded.
        """
        if length >= _SURE or not self._is_minted(0):
            return True
        return self.whole and start == 0 and len(self.recorded) == 1

    def _is_minted(self, place: int) -> bool:
        """Whether the message at `place` has a key that nobody knows."""
        return self.said[place].key is not None and place not in self.keyed

    def _is_same(self, place: int, recorded: int) -> bool:
        """Whether the message at `place` may be the one recorded there."""
        if place in self.keyed:
            return self.keyed[place] == recorded
        return self.history[place] == self.recorded[recorded] and recorded not in self.owned

    def _length_back(self, place: int, recorded: int) -> int:
        """How many messages up to `place` are those up to `recorded`."""
        length = 0
        while length <= min(place, recorded) and self._is_same(place - length, recorded - length):
            length += 1
        return length

    def _length_on(self, start: int) -> int:
        """How many messages from the history's first on are those recorded from `start` on."""
        length = 0
        most = min(len(self.history), len(self.recorded) - start)
        while length < most and self._is_same(length, start + length):
            length += 1
        return length

    def _scattered(self, end: int, recorded_end: int) -> AbstractSet[int]:
        """What before `end` was recorded somewhere before, each recorded message once."""
        left = Counter(
            digest
            for place, digest in enumerate(self.recorded[:recorded_end])
            if place not in self.owned
        )
        known: set[int] = set()
        for place in range(end):
            if place in self.keyed:
                known.add(place)
            elif left[self.history[place]] > 0:
                left[self.history[place]] -= 1
                known.add(place)
        return known
