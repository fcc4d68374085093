"""Messages of a history that come back."""

from __future__ import annotations

import gc

import pytest

from memkit.config import RecordRules
from memkit.errors import InvalidInput
from memkit.memory.intake import Intake, Said
from memkit.memory.recognition import Recognition
from memkit.models import Message
from memkit.redact import PatternRedactor, Where
from memkit.testing.values import a_message

CARD = "4111 1111 1111 1111"


class Counting:
    """A redactor that knows how often it was asked."""

    def __init__(self) -> None:
        self.asked = 0

    def redact(self, text: str, *, where: Where) -> tuple[str, int]:
        """As the usual one does."""
        self.asked += 1
        return PatternRedactor().redact(text, where=where)


def recognition(redactor: Counting | None = None) -> Recognition:
    """A recognition over the usual rules."""
    return Recognition(Intake(RecordRules(), redactor or Counting()))


HISTORIES: dict[str, list[Said]] = {
    "messages": [a_message("I like tea.", key="k"), a_message(f"card {CARD}"), a_message(" ")],
    "mappings": [
        {"role": "user", "content": "I like tea.", "key": "k"},
        {"role": "user", "content": f"card {CARD}"},
        {"role": "user", "content": " "},
    ],
}


@pytest.mark.parametrize("history", HISTORIES.values(), ids=HISTORIES)
def test_what_was_seen_is_known_without_another_look(history: list[Said]) -> None:
    """The second time nothing is redacted, and digest and key are those of what was kept."""
    redactor = Counting()
    seeing = recognition(redactor)
    first = seeing.see(history)
    asked = redactor.asked
    again = seeing.see(history)
    assert redactor.asked == asked
    assert [each[:2] for each in again] == [each[:2] for each in first]
    assert [each.key for each in first] == ["k", None, None]
    kept = [each.kept.message if each.kept else None for each in first]
    assert [each.digest for each in first] == [each.digest if each else "" for each in kept]


def test_a_message_made_anew_is_known_by_what_it_says() -> None:
    """Adapters make theirs for every call; time and metadata are none of its words."""
    redactor = Counting()
    seeing = recognition(redactor)
    [first] = seeing.see([a_message("hello", key="k")])
    again = Message(role="user", content="hello", key="k", metadata={"trace": 1})
    others = [{"key": "j"}, {"name": "Ann"}, {"role": "tool"}, {"content": ()}]
    assert seeing.see([again]) == [(*first[:2], None)]
    assert redactor.asked == 1
    assert all(seeing.see([again.model_copy(update=each)])[0].kept for each in others)


def test_what_differs_is_looked_at() -> None:
    """Another role, text, key or name is another message, equal texts of it are one."""
    plain = {"role": "user", "content": "hello"}
    others = [{"role": "tool"}, {"content": "hello!"}, {"key": "k"}, {"name": "Ann"}]
    mappings: list[Said] = [plain, *({**plain, **each} for each in others)]
    seeing = recognition()
    assert len({each[:2] for each in seeing.see(mappings)}) == len(mappings)
    assert all(each.kept is None for each in seeing.see(mappings))
    assert all(each.kept is None for each in seeing.see([dict(plain)]))


def test_a_mapping_that_was_changed_is_another_one() -> None:
    """A mapping goes by what it says now, for its owner may write to it."""
    said: dict[str, object] = {"role": "user", "content": "hello"}
    seeing = recognition()
    [before] = seeing.see([said])
    said["content"] = "goodbye"
    [after] = seeing.see([said])
    assert before.digest != after.digest == a_message("goodbye").digest


def test_what_holds_more_than_text_is_looked_at_every_time() -> None:
    """Lists and tables may change within, so that nothing tells them from what they were."""
    block = {"type": "text", "text": "hello"}
    said: dict[str, object] = {"role": "user", "content": [block]}
    seeing = recognition()
    [before] = seeing.see([said])
    block["text"] = "goodbye"
    [after] = seeing.see([said])
    assert (before.digest, after.digest) == (
        a_message("hello").digest,
        a_message("goodbye").digest,
    )


def test_the_wrong_is_refused_every_time() -> None:
    """What is no message is not remembered as one."""
    seeing = recognition()
    for _ in range(2):
        with pytest.raises(InvalidInput):
            seeing.see([{"role": "nobody", "content": "hello"}])


def test_messages_are_not_kept_alive() -> None:
    """What is remembered of a message goes with the message, and holds none of its words."""
    seeing = recognition()
    seeing.see([a_message(f"message {number}") for number in range(100)])
    seeing.see([a_message(f"card {CARD}, {number}") for number in range(100)])
    gc.collect()
    assert not seeing._objects


def test_mappings_are_remembered_within_bounds() -> None:
    """However many are handed in, so many are remembered; the others are looked at again."""
    seeing = Recognition(Intake(RecordRules(), None), remembered=10)
    said: list[Said] = [{"role": "user", "content": str(number)} for number in range(25)]
    assert [each.digest for each in seeing.see(said)] == [
        Message.model_validate(each).digest for each in said
    ]
    assert len(seeing._said) <= 10


class AnyCase(str):
    """Text whose hash is that of other text."""

    __slots__ = ()

    def __hash__(self) -> int:
        """The same in lower case."""
        return hash(self.lower())


def test_text_is_known_by_what_it_says_not_by_its_own_hash() -> None:
    """A subclass of text with a hash of its own is not taken for another message."""
    seeing = recognition()
    [shouted] = seeing.see([{"role": "user", "content": AnyCase("YES")}])
    [said] = seeing.see([{"role": "user", "content": "yes"}])
    assert shouted.digest == a_message("YES").digest
    assert said.digest == a_message("yes").digest
