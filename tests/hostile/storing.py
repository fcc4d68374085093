"""D02: whatever a text is made of, it is kept, mended in the open, or refused by name."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import partial

from memkit.errors import InvalidInput, MemkitError, ScopeError
from memkit.models import Message
from memkit.testing.reading import all_episodes
from memkit.testing.values import NOW
from tests.hostile.place import SCOPE, Place, cases, must, refused, same

MENDED: dict[str, tuple[str, str]] = {
    "U+0000": ("W\0s\0l\0 failed", "W\ufffds\ufffdl\ufffd failed"),
    "only U+0000": ("\0", "\ufffd"),
    "a high surrogate": ("wave \ud83d", "wave \ufffd"),
    "a low surrogate": ("wave \udc4b", "wave \ufffd"),
    "a pair the wrong way round": ("\udc4b\ud83d", "\ufffd\ufffd"),
    "a pair in two halves": ("\ud83d" + "\udc4b", "\U0001f44b"),
    "U+0000 amid a pair": ("\ud83d\0\udc4b", "\ufffd\ufffd\ufffd"),
    "a thousand U+0000": ("\0" * 1000, "\ufffd" * 1000),
}
"""What no database can hold, and what is kept in its place, flagged."""

KEPT: dict[str, str] = {
    "line ends": "a\r\nb\rc\nd\u2028e\u2029f\x85g",
    "blanks at both ends": "  \t two  words \n",
    "controls": "bell \x07, escape \x1b[31m, delete \x7f, \x1f",
    "bidirectional marks": "\u202eabc\u202c \u2066x\u2069 \u061c",
    "what nobody sees": "a\u200bb\u200cc\u200dd\ufeffe\u2060f\u00adg",
    "characters that are none": "\ufffe\uffff \ufdd0 \U0001ffff \U0010fffe",
    "the last plane": "\U0010ffff \U000e0041\U000e007f",
    "both normal forms": "caf\u00e9 cafe\u0301 \ufb01 fi",
    "marks without end": "e" + "\u0301" * 10_000,
    "families of emoji": "\U0001f469\u200d\U0001f469\u200d\U0001f467 \U0001f3f3\ufe0f\u200d!",
    "SQL": "'); DROP TABLE item; -- \" OR 1=1 /* */ $1 :name ?1",
    "escapes that are none": "\\0 \\x00 \\u0000 \\ud83d &#0; %00",
    "JSON": '{"a": [1, 2, {"b": null}]} \\"',
    "as many letters as are taken": "x" * 100_000,
    "words without end": "ab " * 33_000,
    "apostrophes": "'" * 50,
}
"""Odd, but text: kept to the letter."""


async def kept_text(place: Place) -> tuple[str, tuple[str, ...]]:
    """The one message that is kept, and the flags of its episode."""
    [episode] = await all_episodes(place.store)
    [message] = episode.messages
    return message.text, episode.flags


async def record(text: str, stored: str, place: Place, *, mended: bool = False) -> object:
    """`stored` is kept of `text`, once, and a change is flagged; as a history it is known."""
    async with place.memory() as memory:
        recorded = await memory.record(SCOPE, [{"role": "user", "content": text}], session_id="s")
        same((recorded.new, recorded.flags), (1, ("sanitized",) if mended else ()))
        same(await kept_text(place), (stored, recorded.flags))
        again = await memory.record(
            SCOPE, [{"role": "user", "content": text}], session_id="s", history=True
        )
        same((again.new, again.skipped), (0, 1))
        await memory.consolidate()
        return len((await memory.scan("items", scope=SCOPE, limit=1000)).rows)


async def remember(text: str, stored: str, place: Place) -> object:
    """Tell `text` as content, as metadata and as value; each is kept as it can be."""
    async with place.memory() as memory:
        item = await memory.remember(
            SCOPE, text[:10_000], metadata={text[:50]: [text], "same": {"deep": text}}
        )
        [kept] = await memory.get(SCOPE, [item.id])
        same(kept.content, stored[:10_000])
        same(kept.metadata, {stored[:50]: [stored], "same": {"deep": stored}})
        edited = await memory.update(SCOPE, item.id, content=f"{text[:9_000]}!")
        same(edited.content, f"{stored[:9_000]}!")
        return edited.tokens


async def metadata(text: str, stored: str, place: Place) -> object:
    """What a message carries beside its text is mended like text."""
    async with place.memory(record={"keep_tool_traffic": True}) as memory:
        said = {
            "role": "tool",
            "name": f"n{text}",
            "metadata": {"raw": text, text: 1},
            "content": [
                {"type": "text", "text": "hello there"},
                {"type": "reasoning", "text": f"r{text}"},
                {"type": "tool_result", "call_id": "c", "content": {"out": [text]}},
                {"type": "tool_call", "id": "c", "name": "f", "arguments": {text: text}},
                {"type": "media", "media": "image", "reference": f"file:{text}"},
            ],
        }
        recorded = await memory.record(SCOPE, [said], session_id="s")
        same(recorded.flags, ("sanitized",))
        [episode] = await all_episodes(place.store)
        [message] = episode.messages
        must("\0" not in repr(message), "U+0000 was kept")
        same(message.name, f"n{stored}")
        same(message.metadata, {"raw": stored, stored: 1})
        return message.model_dump_json()


def nested(depth: int) -> dict[str, object]:
    """JSON of this depth."""
    table: dict[str, object] = {}
    for _ in range(depth):
        table = {"a": [table]}
    return table


REFUSED: dict[str, object] = {
    "text": "hello",
    "nothing": None,
    "bytes": b"hello",
    "a message and not several": {"role": "user", "content": "hello"},
    "numbers": [1, 2],
    "texts": ["hello"],
    "no content": [{"role": "user"}],
    "content that is a number": [{"role": "user", "content": 5}],
    "content that is bytes": [{"role": "user", "content": b"hello"}],
    "a role that is none": [{"role": "root", "content": "hello"}],
    "a role that is code": [{"role": "user'; --", "content": "hello"}],
    "a block that is none": [{"role": "user", "content": [{"type": "exec", "text": "x"}]}],
    "a field too many": [{"role": "user", "content": "x", "scope": "bob"}],
    "a blank key": [{"role": "user", "content": "x", "key": "  "}],
    "a key with U+0000": [{"role": "user", "content": "x", "key": "a\0b"}],
    "a key with half a pair": [{"role": "user", "content": "x", "key": "a\ud83d"}],
    "a key too long": [{"role": "user", "content": "x", "key": "k" * 513}],
    "a key that is a number": [{"role": "user", "content": "x", "key": 7}],
    "a time without zone": [{"role": "user", "content": "x", "time": datetime(2026, 1, 1)}],  # noqa: DTZ001  # the point
    "a time that is none": [{"role": "user", "content": "x", "time": "soon"}],
    "metadata that is no table": [{"role": "user", "content": "x", "metadata": [1]}],
    "metadata of objects": [{"role": "user", "content": "x", "metadata": {"a": object()}}],
    "metadata of NaN": [{"role": "user", "content": "x", "metadata": {"a": float("nan")}}],
    "metadata without end": [{"role": "user", "content": "x", "metadata": {"a": float("inf")}}],
    "metadata of 5,000 digits": [{"role": "user", "content": "x", "metadata": {"a": 10**5000}}],
    "metadata without bottom": [{"role": "user", "content": "x", "metadata": nested(5_000)}],
    "metadata too large": [{"role": "user", "content": "x", "metadata": {"a": "x" * 16_001}}],
    "a message of a million": [{"role": "user", "content": "x" * 1_000_001}],
    "too many messages": [{"role": "user", "content": "x"}] * 10_001,
}


async def refuse(messages: object, place: Place) -> object:
    """What is no message is refused by name, whatever comes with it, and nothing is stored."""
    sound = {"role": "user", "content": "a sound one"}
    whole = [sound, *messages] if isinstance(messages, list) else messages
    async with place.memory() as memory:
        name = await refused(
            memory.record(SCOPE, whole, session_id="s"),
            InvalidInput,
            ScopeError,
        )
        same(await all_episodes(place.store), [])
        return name


TOLD: dict[str, Mapping[str, object]] = {
    "blank": {"content": " \n\t"},
    "empty": {"content": ""},
    "bytes": {"content": b"tea"},
    "nothing": {"content": None},
    "too long": {"content": "x" * 10_001},
    "importance of NaN": {"importance": float("nan")},
    "importance without end": {"importance": float("inf")},
    "importance below nothing": {"importance": -0.1},
    "importance above all": {"importance": 1.1},
    "importance in words": {"importance": "0.5"},
    "importance that is a truth": {"importance": True},
    "a kind nobody declared": {"kind": "semantic'; --"},
    "a blank key": {"key": "\t"},
    "a key with U+0000": {"key": "a\0"},
    "a key with half a pair": {"key": "\udc00"},
    "a key too long": {"key": "\u00e9" * 257},
    "metadata of NaN": {"metadata": {"a": [float("nan")]}},
    "metadata of objects": {"metadata": {"a": object()}},
    "metadata of 5,000 digits": {"metadata": {"a": 10**5000}},
    "metadata without names": {"metadata": {1: "a"}},
    "metadata without bottom": {"metadata": nested(5_000)},
    "a value of NaN": {"value": float("nan")},
    "a value of 5,000 digits": {"value": [10**5000]},
    "a value without bottom": {"value": nested(5_000)},
    "a value of half a pair": {"value": {"a": "\ud83d"}},
    "a value that is no JSON": {"value": {1, 2}},
}


async def refuse_told(fields: Mapping[str, object], place: Place) -> object:
    """What cannot be an item is refused by name, told or edited, and nothing is stored."""
    async with place.memory() as memory:
        tea = await memory.remember(SCOPE, "likes tea")
        whole = {"content": "owns a dog", **fields}
        name = await refused(memory.remember(SCOPE, **whole), InvalidInput, ScopeError)
        if "key" not in fields and fields.get("content", "") is not None:
            await refused(memory.update(SCOPE, tea.id, **fields), InvalidInput)
        same(await memory.get(SCOPE, [tea.id]), [tea])
        same((await memory.stats(SCOPE)).items, 1)
        return name


DATES = {
    "before all time": "0001-01-01T00:00:00+14:00",
    "the first moment": "0001-01-01T00:00:00+00:00",
    "the last moment": "9999-12-31T23:59:59.999999+00:00",
    "after all time": "9999-12-31T23:59:59.999999-12:00",
    "before the epoch": "1969-12-31T23:59:59.999999+00:00",
    "an odd zone": "2026-01-01T09:00:00.000001+05:53:28",
}


async def date(time: str, place: Place) -> object:
    """A message of any time is kept or refused, consolidated, recalled and shown."""
    said = {"role": "user", "content": "I was born in Bergen", "time": datetime.fromisoformat(time)}
    async with place.memory() as memory:
        try:
            await memory.record(SCOPE, [said], session_id="s")
        except MemkitError as exc:
            return type(exc).__name__
        [job] = await memory.consolidate()
        same((job.status, job.added), ("completed", 1))
        shown = (await memory.inject(SCOPE, query="born in Bergen")).render()
        must("Bergen" in shown, "not recalled")
        return shown


JSON: dict[str, object] = {
    "null": None,
    "a truth": True,
    "an empty text": "",
    "U+0000": {"a\0": "b\0"},
    "a large whole number": 2**63,
    "a huge whole number": 10**400,
    "a small number": 5e-324,
    "minus nothing": -0.0,
    "sixty levels": nested(30),
    "a long list": list(range(5_000)),
    "names that look alike": {"a": 1, "A": 2, "\uff41": 3, "a ": 4},
    "line separators": "\u2028\u2029\x85",
}


async def value(given: object, place: Place) -> object:
    """A caller's value is kept exactly."""
    async with place.memory() as memory:
        item = await memory.remember(SCOPE, "likes tea", value=given)
        [kept] = await memory.get(SCOPE, [item.id])
        same(repr(kept.value), repr(given))
        edited = await memory.update(SCOPE, item.id, value=[given])
        same(repr(edited.value), repr([given]))
        return repr(edited.value)


async def given_case(turns: list[dict[str, str]], extra: dict[str, str], place: Place) -> object:
    """The case as it was handed to us: a tool's output in UTF-16 taken for UTF-8."""
    messages = [Message(role="tool", content=each["text"], metadata=extra) for each in turns]
    async with place.memory() as memory:
        recorded = await memory.record(SCOPE, messages, session_id="s")
        same((recorded.new, recorded.flags), (len(turns), ("sanitized",)))
        [episode] = await all_episodes(place.store, SCOPE)
        same(
            [each.text for each in episode.messages],
            [each["text"].replace("\0", "\ufffd") for each in turns],
        )
        wanted = {name: each.replace("\0", "\ufffd") for name, each in extra.items()}
        same([each.metadata for each in episode.messages], [wanted] * len(turns))
        return episode.recorded_at == NOW


CASES = (
    *cases(
        "record",
        (
            (name, partial(record, text, stored, mended=True))
            for name, (text, stored) in MENDED.items()
        ),
    ),
    *cases("record", ((name, partial(record, text, text)) for name, text in KEPT.items())),
    *cases(
        "remember",
        ((name, partial(remember, text, stored)) for name, (text, stored) in MENDED.items()),
    ),
    *cases("remember", ((name, partial(remember, text, text)) for name, text in KEPT.items())),
    *cases(
        "metadata",
        ((name, partial(metadata, text, stored)) for name, (text, stored) in MENDED.items()),
    ),
    *cases("not a message", ((name, partial(refuse, given)) for name, given in REFUSED.items())),
    *cases("not an item", ((name, partial(refuse_told, each)) for name, each in TOLD.items())),
    *cases("date", ((name, partial(date, time)) for name, time in DATES.items())),
    *cases("value", ((name, partial(value, each)) for name, each in JSON.items())),
)
