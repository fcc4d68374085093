"""Scopes, ids, messages: what the values promise on their own."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
import unicodedata
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from memkit.decay import Policy
from memkit.errors import InvalidInput, MemkitError, ScopeError
from memkit.models import (
    ID_BYTES,
    Episode,
    MemoryItem,
    Message,
    Model,
    Proposal,
    Scope,
    TextBlock,
    ToolCallBlock,
    check_id,
    content_hash,
    new_id,
)
from memkit.testing.values import an_item

NOW = datetime(2026, 6, 1, tzinfo=UTC)
SECRET = "the cat is called Miso"  # noqa: S105  # content, to be looked for in messages

usable = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1
).filter(lambda text: bool(text.strip()) and len(text.encode()) <= ID_BYTES)
ids = st.none() | st.one_of(
    st.sampled_from(["a", "b", "a,b", "a|b", "a:b", 'a","b', "null", "None", "[", "\\", "%", "_"]),
    usable,
)
scopes = st.builds(Scope, ids, ids, ids)


@pytest.mark.parametrize(
    "value",
    [
        "", " ", "\t\n", "\u3000", "a\0b", "\ud800", "x\udfff", "x" * (ID_BYTES + 1),
        "\u00e9" * (ID_BYTES // 2 + 1), 7, True, b"ann", ["ann"],
    ],
)  # fmt: skip
def test_ids_that_cannot_be_kept_are_refused(value: object) -> None:
    """Blank, broken, overlong ids and other types than text raise a typed ValueError."""
    for make in (
        lambda: check_id("user_id", value),
        lambda: Scope(user_id=value),
        lambda: Scope(agent_id=value),
        lambda: Scope(workflow_id=value),
    ):
        with pytest.raises(ScopeError) as caught:
            make()
        assert isinstance(caught.value, ValueError)
        assert isinstance(caught.value, MemkitError)
        assert not isinstance(value, str) or len(value) < 2 or value not in str(caught.value)


@given(usable)
def test_ids_are_kept_verbatim(value: str) -> None:
    """What can be kept is kept to the code point: no trimming, folding or normal form."""
    assert check_id("user_id", value) == value
    assert Scope(user_id=value).user_id == value


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Ann", "ann"),
        ("ann", "ann "),
        ("\u00e9", "e\u0301"),
        ("a_b", "axb"),
        ("a%", "a"),
        ("ß", "ss"),
        ("a", "\u0430"),
        ("x", "x\u200b"),
    ],
)
def test_ids_that_look_alike_are_different(one: str, other: str) -> None:
    """Ids equal to the eye or to a database's collation are different scopes."""
    assert Scope(user_id=one) != Scope(user_id=other)
    assert Scope(user_id=one).key != Scope(user_id=other).key


@given(scopes, scopes)
def test_scope_keys_are_injective(one: Scope, other: Scope) -> None:
    """Two scopes have the same key only if they are the same."""
    assert (one.key == other.key) == (one == other)


@given(scopes)
def test_a_scope_can_be_read_from_its_key(scope: Scope) -> None:
    """The key says all, and is JSON that a database can hold."""
    assert Scope.from_key(scope.key) == scope
    assert json.loads(scope.key) == [scope.user_id, scope.agent_id, scope.workflow_id]
    assert scope.key.encode()
    assert "\0" not in scope.key


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Scope("a", "b,c"), Scope("a,b", "c")),
        (Scope("a|b", "c"), Scope("a", "b|c")),
        (Scope("a/b"), Scope("a", "b")),
        (Scope('a","b'), Scope("a", "b")),
        (Scope("a"), Scope(None, "a")),
        (Scope("a", None, "b"), Scope("a", "b")),
        (Scope(None), Scope("null")),
        (Scope(None), Scope("None")),
        (Scope("a\\"), Scope("a\\\\")),
    ],
)
def test_joined_ids_do_not_collide(one: Scope, other: Scope) -> None:
    """Ids that would make the same text when joined are different scopes."""
    assert one.key != other.key


@given(scopes)
def test_projections_unset_and_never_widen(scope: Scope) -> None:
    """A projection keeps the fields it names and unsets the others, once and for all."""
    assert scope.project("full") == scope
    assert scope.project("user") == Scope(user_id=scope.user_id)
    assert scope.project("agent") == Scope(agent_id=scope.agent_id)
    assert scope.project("user+agent") == Scope(scope.user_id, scope.agent_id)
    for projection in ("user", "agent", "user+agent"):
        assert scope.project(projection).project(projection) == scope.project(projection)
    assert Scope().is_unset
    assert scope.is_unset == (scope == Scope())


@pytest.mark.parametrize("field", ["key", "session_id", "item key"])
@pytest.mark.parametrize("value", ["", "  ", "a\0", "\ud800", "x" * (ID_BYTES + 1)])
def test_other_ids_obey_the_same_rule(field: str, value: str) -> None:
    """Message keys, session ids and item keys are refused as the ids of a scope are."""
    makers = {
        "key": lambda: Message(role="user", content="x", key=value),
        "session_id": lambda: Episode(
            id="e",
            scope=Scope("a"),
            home=Scope("a"),
            session_id=value,
            messages=(),
            recorded_at=NOW,
        ),
        "item key": lambda: item(key=value),
    }
    with pytest.raises((ScopeError, InvalidInput)):
        makers[field]()


def item(**changed: object) -> MemoryItem:
    """A memory item with `changed` values."""
    values: dict[str, object] = {
        "id": "i1",
        "scope": Scope("a"),
        "content": SECRET,
        "created_at": NOW,
        "observed_at": NOW,
        "reinforced_at": NOW,
        "policy": "never",
        "fades_at": NOW,
    }
    return MemoryItem(**{**values, **changed})


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2)
    ),
    max_leaves=4,
)
texts = st.text(st.characters(exclude_categories=()), max_size=20)
blocks = st.one_of(
    st.builds(TextBlock, text=texts),
    st.builds(ToolCallBlock, id=usable, name=usable, arguments=json_values),
)
messages = st.builds(
    Message,
    role=st.sampled_from(["user", "assistant", "system", "tool"]),
    content=st.lists(blocks, max_size=3).map(tuple),
    name=st.none() | st.sampled_from(["Ann", "Bob"]),
)


@given(messages, usable, json_values)
def test_digests_ignore_what_frameworks_mint_anew(
    message: Message, key: str, value: object
) -> None:
    """Key, time and metadata take no part in the digest: the same words, the same message."""
    again = message.model_copy(update={"key": key, "time": NOW, "metadata": {"x": value}})
    fresh = Message(**{**dict(again), "content": message.content})
    assert fresh.digest == message.digest
    assert re.fullmatch("[0-9a-f]{16}", message.digest)


@given(messages, messages)
def test_digests_tell_messages_apart(one: Message, other: Message) -> None:
    """Another role, name, order, kind or content of blocks is another message."""
    said = [(each.role, each.name, repr(each.content)) for each in (one, other)]
    assert (one.digest == other.digest) == (said[0] == said[1])


def test_text_and_one_text_block_are_the_same_message() -> None:
    """Content given as text is a text block, and a message reads as its text blocks do."""
    message = Message(role="user", content="hello")
    assert message == Message(role="user", content=(TextBlock(text="hello"),))
    called = ToolCallBlock(id="1", name="look", arguments={"at": "it"})
    mixed = Message(role="assistant", content=(TextBlock(text="a"), called, TextBlock(text="b")))
    assert mixed.text == "a\nb"


def every_model() -> list[type[Model]]:
    """Model, and what derives from it."""
    found = [Model]
    for each in found:
        found.extend(each.__subclasses__())
    return [each for each in found[1:] if each.__module__.startswith("memkit.models")]


@pytest.mark.parametrize("model", every_model(), ids=lambda model: model.__name__)
def test_a_bad_value_never_quotes_content(model: type[Model]) -> None:
    """Refusals are InvalidInput, name the fields, and hold nothing of what was given."""
    wrong = {name: {"type": SECRET, SECRET: [SECRET]} for name in model.model_fields}
    for values in ({**wrong, SECRET: 1}, {"surplus": SECRET}, {SECRET: 1}):
        with pytest.raises(InvalidInput, match="not a valid") as caught:
            model(**values)
        assert SECRET not in f"{caught.value!r} {caught.value}"
        assert caught.value.__cause__ is None
        assert caught.value.__suppress_context__


@pytest.mark.parametrize(
    "values",
    [
        {"role": SECRET, "content": "x"},
        {"role": "user", "content": [{"type": SECRET}]},
        {"role": "user", "content": [{"type": "text", "text": "x", SECRET: 1}]},
        {"role": "user", "content": "x", "time": SECRET},
        {"role": "user", "content": "x", "metadata": {SECRET: object()}},
        {"role": "user", "content": "x", "metadata": {SECRET: float("nan")}},
        {"role": "user", "content": "x", "key": f"{SECRET}\0"},
    ],
)
def test_a_bad_message_never_quotes_content(values: dict[str, object]) -> None:
    """Not even the tag of a block, or a key that the caller made up, gets into the refusal."""
    with pytest.raises((InvalidInput, ScopeError)) as caught:
        Message(**values)
    assert SECRET not in f"{caught.value!r} {caught.value}"


@pytest.mark.parametrize("importance", [float("nan"), float("inf"), -0.1, 1.1, "high", None])
def test_importance_is_a_number_in_range(importance: object) -> None:
    """An item's importance is finite and from 0 to 1, and the refusal does not quote it."""
    with pytest.raises(InvalidInput, match="importance"):
        item(importance=importance)


def test_a_proposal_need_not_know_its_importance() -> None:
    """A proposal without importance takes the default later; a wrong one is refused."""
    assert Proposal(content="x").importance is None
    with pytest.raises(InvalidInput):
        Proposal(content="x", importance=float("nan"))


def test_values_are_frozen_and_dates_aware() -> None:
    """A value cannot be changed after it was made, nor hold a date without a zone."""
    with pytest.raises(ValidationError):
        item().content = "other"
    with pytest.raises(InvalidInput, match="created_at"):
        item(created_at=datetime(2026, 6, 1))  # noqa: DTZ001  # the point
    with pytest.raises(InvalidInput, match="content"):
        item(content="")


@given(texts)
def test_equal_contents_have_equal_hashes(text: str) -> None:
    """Case, blanks and normal form do not make another memory."""
    assert content_hash(text) == content_hash(f"  {text.upper().lower()} ".casefold()) or (
        text.upper().lower().casefold() != text.casefold()
    )
    assert content_hash(unicodedata.normalize("NFD", text)) == content_hash(text)
    assert content_hash(text.replace(" ", "\n\t ")) == content_hash(text)


def test_new_ids_are_version_7_and_in_order() -> None:
    """Ids are UUIDv7: those of a later millisecond sort later, as text too."""
    made: list[str] = []
    for _ in range(20):
        made.append(new_id())
        time.sleep(0.002)
    assert made == sorted(made)
    for each in made:
        assert UUID(each).version == 7
        assert UUID(each).variant == "specified in RFC 4122"
        assert str(UUID(each)) == each


def test_new_ids_are_unique_across_a_fork() -> None:
    """A child does not go on with what its parent would have drawn next."""
    code = (
        "import os\n"
        "from memkit.models import new_id\n"
        "new_id()\n"
        "child = os.fork()\n"
        "os.write(1, (new_id()[19:] + ' ').encode())\n"
        "if child: os.waitpid(child, 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, timeout=30)
    assert len(set(done.stdout.split())) == 2


def test_new_ids_are_unique_across_threads() -> None:
    """Forty thousand ids from eight threads are all different."""
    with ThreadPoolExecutor(8) as pool:
        made = [
            each
            for some in pool.map(lambda _: [new_id() for _ in range(5000)], range(8))
            for each in some
        ]
    assert len(set(made)) == 40_000


@given(st.floats(0.051, 1.0), st.sampled_from([Policy(), Policy(0.5, 0.2), Policy(0.999, 0.01)]))
def test_to_be_reinforced_by_what_it_has_adds_nothing(importance: float, policy: Policy) -> None:
    """An importance that is read and written again is the same, however often."""
    importance = round(importance, 9)
    item = an_item("tea", at=NOW, importance=importance, policy=policy)
    assert item.importance_at(NOW) == importance
    again = an_item("tea", at=NOW, importance=item.importance_at(NOW), policy=policy)
    assert again.fades_at == item.fades_at
