"""Which messages of a history are recorded already. Pure: digests and keys in, places out.

A history is what a caller holds of a conversation now. It may begin later than the session
did (a window), begin with something new (a summary), be edited in the middle, end earlier (a
resumed run), and carry stable keys, keys minted anew on every call, or none. In doubt a
message counts as new: recorded twice is mended later, lost is not.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from memkit.models import Message, Tail, key_hash

_SURE = 2
"""So many messages in a row are no coincidence; one "ok" may be."""


def unrecorded(tail: Tail, history: Sequence[Message]) -> list[int]:
    """The places in `history` of what has to be stored, in order.

    A key that is recorded decides: equal content is known, other content is a revision and
    has to be stored. Everything else is known if it stands where equal content stands in the
    tail, unless a message of the history bears that content's own key.
    """
    keyed = _keyed(tail, history)
    comparison = _Comparison(
        recorded=tail.digests,
        # An edited message stands for what it was, so that it does not part its neighbors.
        history=tuple(
            tail.digests[keyed[place]] if place in keyed else message.digest
            for place, message in enumerate(history)
        ),
        minted=frozenset(
            place
            for place, message in enumerate(history)
            if message.key is not None and place not in keyed
        ),
        owned=frozenset(keyed.values()),
        whole=tail.head == len(tail.digests),
    )
    matches = comparison.matches()
    return [
        place
        for place, message in enumerate(history)
        if (
            message.digest != tail.digests[keyed[place]]
            if place in keyed
            else matches.get(place) is None or matches[place] in comparison.owned
        )
    ]


def _keyed(tail: Tail, history: Sequence[Message]) -> dict[int, int]:
    """Where the newest content of each recorded key stands, by place in the history."""
    places = {key: place for place, key in enumerate(tail.keys) if key is not None}
    found = (
        (place, places.get(message.key, places.get(key_hash(message.key))))
        for place, message in enumerate(history)
        if places and message.key is not None
    )
    return {place: recorded for place, recorded in found if recorded is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Comparison:
    """A recorded sequence and a history of it, as digests.

    `minted` are the places of keys that nobody knows, `owned` the recorded places that a key
    of the history names, `whole` says that nothing was recorded before `recorded`.
    """

    recorded: Sequence[str]
    history: Sequence[str]
    minted: AbstractSet[int]
    owned: AbstractSet[int]
    whole: bool

    def matches(self) -> Mapping[int, int]:
        """From places in the history to recorded places; what is missing is new."""
        if not self.recorded or not self.history:
            return {}
        return self._continued() or self._resumed() or self._shortened()

    def _continued(self) -> Mapping[int, int]:
        """The history begins within the session and goes on beyond it: the usual case."""
        for length in range(min(len(self.recorded), len(self.history)), 0, -1):
            start = len(self.recorded) - length
            if (
                self.recorded[start] == self.history[0]
                and self.recorded[start:] == self.history[:length]
                and self._is_evidence(0, start, length)
            ):
                return _run(0, start, length)
        return {}

    def _resumed(self) -> Mapping[int, int]:
        """The session's end stands behind something else: a summary, or an edited message."""
        lengths = {
            place: self._length_back(place)
            for place, digest in enumerate(self.history)
            if digest == self.recorded[-1]
        }
        if not lengths:
            return {}
        end = max(lengths, key=lambda place: (lengths[place], -place))
        length = lengths[end]
        anchored = self.history[0] in self.recorded and end not in self.minted
        if length < _SURE and not anchored:
            return {}
        start = len(self.recorded) - length
        return {
            **self._scattered(end - length + 1, start),
            **_run(end - length + 1, start, length),
        }

    def _shortened(self) -> Mapping[int, int]:
        """The history leaves the session before its end: an older state, or another answer."""
        best = max(
            (place for place, digest in enumerate(self.recorded) if digest == self.history[0]),
            key=self._length_on,
            default=None,
        )
        if best is None or not self._is_evidence(0, best, self._length_on(best), sure=_SURE):
            return {}
        return _run(0, best, self._length_on(best))

    def _is_evidence(self, place: int, start: int, length: int, *, sure: int = 1) -> bool:
        """Whether a run of equal messages shows that they are the same ones.

        Always, if it is long, or begins the session itself. A single one whose key is
        unknown speaks against itself, unless it is all that was recorded.
        """
        if length >= _SURE:
            return True
        begins = self.whole and start == 0
        if place in self.minted:
            return begins and len(self.recorded) == 1
        return begins or length >= sure

    def _length_back(self, place: int) -> int:
        """How many messages up to `place` are those that the session ends with."""
        length = 0
        while (
            length <= place
            and length < len(self.recorded)
            and self.history[place - length] == self.recorded[-1 - length]
        ):
            length += 1
        return length

    def _length_on(self, start: int) -> int:
        """How many messages from the history's first on are those recorded from `start` on."""
        pairs = zip(self.history, self.recorded[start:], strict=False)
        return next(
            (length for length, (one, other) in enumerate(pairs) if one != other),
            min(len(self.history), len(self.recorded) - start),
        )

    def _scattered(self, end: int, recorded_end: int) -> Mapping[int, int]:
        """What stands before the matched run, wherever it was recorded; each place once."""
        places: dict[str, deque[int]] = {}
        for place in range(recorded_end):
            if place not in self.owned:
                places.setdefault(self.recorded[place], deque()).append(place)
        return {
            place: places[self.history[place]].popleft()
            for place in range(end)
            if places.get(self.history[place])
        }


def _run(place: int, start: int, length: int) -> Mapping[int, int]:
    return {place + offset: start + offset for offset in range(length)}
