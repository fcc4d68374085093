"""A model's reply, read: proposals, nothing worth keeping, or a failure with its reason."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from memkit.errors import ExtractionError
from memkit.extraction.validation import LONGEST_CONTENT, to_importance, validate
from memkit.models import Extraction, ExtractionRequest, Proposal, Turn
from memkit.text import fold

_CONTENT_FIELDS = ("content", "text", "fact")

# Bounds on the work that a reply can cause, far above any reply worth reading.
_MARKS = 120_000
_STARTS = 50
_ENTRIES = 400
_NEAR = 20
_BACKSLASHES = 20_000
_QUOTED = 300
_LARGEST_NUMBER = 1_000_000

_OPENING = re.compile(r'\{\s*["}]|\[\s*[{\]]')
_COUNT = re.compile(r"[0-9]{1,7}")
_CUT_SHORT = re.compile(r"[\w.+-]{0,9}\Z")
_FIELD = re.compile(r'"\s*:\s*\Z')
_END_OF_LINE = re.compile(r"[ \t\r.!*`]*(?:\n|\Z)")
_STRAY_BACKSLASH = re.compile(r'(?<!\\)((?:\\\\)*)\\(?!["\\/bfnrt]|u[0-9a-fA-F]{4})')
_REFUSAL = re.compile(
    r"\W*(?:as an ai (?:language )?(?:model|assistant)\b|"
    r"(?:i['\u2019]?m |i am |i )?(?:really |very |so )?"
    r"(?:sorry|afraid|unable|not able|can\s?not|can['\u2019]?t|won['\u2019]?t|must decline)\b"
    r".{0,80}?\b(?:(?:assist|help)(?: you)? with (?:that|this|your)|"
    r"(?:that|this|your) request|comply))",
    re.IGNORECASE | re.DOTALL,
)


def read_reply(
    text: str,
    *,
    request: ExtractionRequest,
    finish: Literal["stop", "length", "refusal"] = "stop",
) -> Extraction:
    """The proposals in a model's reply to `build_prompt(request)`.

    Accepted are `{"facts": [...]}` and a bare array of facts, fenced or not, amid chat. A
    fact is an object with `content` (or `text`, or `fact`) and, if the model pleased,
    `importance`, `kind`, `sources`, `quote`, `action` and `target`. No facts in one of the
    two shapes: there was nothing worth keeping.

    Everything else is `ExtractionError`: `truncated` (cut short by the provider, or JSON
    that does not end; nothing of it is believed), `refused`, `invalid` (JSON of another
    shape, or facts of which none is usable), `unreadable` (no JSON).

    Left out and counted in `dropped` are facts that are no such object, that name a field
    twice, whose quote is in none of the turns, that are too long, or too many.
    """
    if finish == "length":
        raise ExtractionError("truncated", "the reply reached its limit; give it fewer turns")
    if finish == "refusal":
        raise ExtractionError("refused")
    entries = _entries(text)
    proposals = tuple(_proposals(entries, _Evidence(request.turns)))
    if entries and not proposals:
        refused = any(_is_refusal(entry) for entry in entries[:_ENTRIES])
        raise ExtractionError(
            "refused" if refused else "invalid", f"none of {len(entries)} facts is usable"
        )
    found = Extraction(proposals=proposals, dropped=len(entries) - len(proposals))
    return validate(found, request)


def _entries(text: str) -> list[object]:
    """The first list of facts in `text`."""
    text = _spoken(text).rstrip()
    if sum(map(text.count, "{[,")) > _MARKS:
        raise ExtractionError("invalid", "the reply holds too many values")
    try:
        return _search(text)
    except json.JSONDecodeError:
        pass
    try:
        return _search(_with_escapes_mended(text))
    except json.JSONDecodeError:
        raise ExtractionError("unreadable", "the reply holds an escape that is none") from None


def _with_escapes_mended(text: str) -> str:
    """`text` in which a backslash that escapes nothing stands for itself."""
    if text.count("\\") > _BACKSLASHES:
        return text
    return _STRAY_BACKSLASH.sub(r"\1\\\\", text.replace("\\'", "'"))


def _spoken(text: str) -> str:
    """`text` without what a model thought aloud first: a draft is no answer."""
    if text.lstrip().startswith("<think>"):
        return text.partition("</think>")[2]
    return text


def _search(text: str) -> list[object]:
    """The first value of an accepted shape, or the reason why there is none.

    Once something that began as JSON has broken off, only a full envelope with facts is
    believed: an array, or nothing, might be a piece of the wreck.
    """
    is_broken = is_foreign = is_nothing = False
    for found in _values(text):
        if found is None:
            is_broken = True
            continue
        facts = _facts(found.value)
        if facts is not None and (not is_broken or (facts and found.value is not facts)):
            return facts
        if found.value == []:
            is_nothing |= found.stands_alone
        else:
            is_foreign = True
    if is_nothing and not (is_broken or is_foreign):
        return []
    if is_foreign and not is_broken:
        raise ExtractionError("invalid", "the reply has another shape than was asked for")
    if _REFUSAL.match(text):
        raise ExtractionError("refused")
    raise ExtractionError("unreadable", "the reply holds no facts as JSON")


@dataclass(frozen=True, slots=True)
class _Found:
    """A JSON value amid a reply. "[]" is common in prose: it counts if it ends its line."""

    value: object
    stands_alone: bool


def _values(text: str) -> Iterator[_Found | None]:
    """Every outermost object and array in `text`, or None for what only began like one.

    Reading goes on behind what was read, good or bad, so the work is linear.
    """
    decoder = json.JSONDecoder(strict=False, object_pairs_hook=_unambiguous)
    end = 0
    for _ in range(_STARTS):
        opening = _OPENING.search(text, end)
        if opening is None:
            return
        start = opening.start()
        try:
            value, end = decoder.raw_decode(text, start)
        except json.JSONDecodeError as error:
            _give_up_if_cut_short(text, error)
            end = max(error.pos, start + 1)
            yield None
        except RecursionError:
            raise ExtractionError("invalid", "the reply is nested too deeply") from None
        except ValueError:
            raise ExtractionError("invalid", "the reply holds an endless number") from None
        else:
            before = text[max(start - _NEAR, 0) : start]
            if _FIELD.search(before):
                yield None  # the value of a field: what held it cannot be read
            else:
                alone = not before[-1:].isalnum() and _END_OF_LINE.match(text, end)
                yield _Found(value, stands_alone=bool(alone))


def _give_up_if_cut_short(text: str, error: json.JSONDecodeError) -> None:
    if error.msg.startswith("Invalid \\"):
        raise error
    if error.msg.startswith("Unterminated") or _CUT_SHORT.match(text, error.pos):
        raise ExtractionError("truncated", "the reply ends amid its JSON")


def _unambiguous(pairs: list[tuple[str, object]]) -> dict[str, object] | None:
    """An object, or None if it names a field twice: which of the two was meant?"""
    read = dict(pairs)
    return read if len(read) == len(pairs) else None


def _facts(value: object) -> list[object] | None:
    """The facts of an accepted shape; None for any other. An empty array is not decided here."""
    if isinstance(value, dict):
        facts = value.get("facts")
        return facts if isinstance(facts, list) else None
    if isinstance(value, list) and any(map(_is_fact, value)):
        return value
    return None


def _is_fact(entry: object) -> bool:
    return isinstance(entry, dict) and any(field in entry for field in _CONTENT_FIELDS)


class _Evidence:
    """The turns of a request, to hold citations and quotes against."""

    def __init__(self, turns: tuple[Turn, ...]) -> None:
        self._turns = turns
        self._numbers = {turn.number for turn in turns}

    @cached_property
    def _texts(self) -> dict[int, str]:
        texts: dict[int, str] = {}
        for turn in self._turns:
            texts[turn.number] = texts.get(turn.number, "") + _squeezed(turn.message.text)
        return texts

    def sources(self, cited: object, quote: object) -> tuple[int, ...] | None:
        """The turns that bear a fact out; none if it does not say; None if its quote is made up."""
        listed = cited if isinstance(cited, list) else [cited]
        found = [each for each in map(_whole, listed[:_ENTRIES]) if each in self._numbers]
        if isinstance(quote, str) and quote.strip():
            wording = _squeezed(quote[:_QUOTED])
            bearing = [number for number, text in self._texts.items() if wording in text]
            if not bearing:
                return None
            if not set(bearing) & set(found):
                found.append(bearing[0])
        return tuple(dict.fromkeys(found))


def _squeezed(text: str) -> str:
    """Letters and digits alone: models are careless with the rest of a quote."""
    return "".join(filter(str.isalnum, fold(text)))


def _whole(value: object) -> int | None:
    """A number that counts something, given as a number or as text."""
    if isinstance(value, str) and _COUNT.fullmatch(value):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return int(value) if 0 < value < _LARGEST_NUMBER and value == int(value) else None


def _proposals(entries: list[object], evidence: _Evidence) -> Iterator[Proposal]:
    read = (_proposal(entry, evidence) for entry in entries[:_ENTRIES])
    return filter(None, read)


def _proposal(entry: object, evidence: _Evidence) -> Proposal | None:
    """The proposal that one entry of a reply makes, or None if it is not a usable one."""
    if not isinstance(entry, dict):
        return None
    content = _content(entry)
    action = entry.get("action") or "add"
    if not isinstance(content, str) or len(content) > LONGEST_CONTENT or _REFUSAL.match(content):
        return None
    sources = evidence.sources(entry.get("sources"), entry.get("quote"))
    if action not in ("add", "update", "remove") or sources is None:
        return None
    kind = entry.get("kind")
    return Proposal(
        action=action,
        content=content,
        kind=kind if isinstance(kind, str) else "",
        importance=to_importance(entry.get("importance")),
        target=_whole(entry.get("target")),
        sources=sources,
    )


def _content(entry: dict[str, object]) -> object:
    given = (entry[field] for field in _CONTENT_FIELDS if entry.get(field) is not None)
    return next(given, "")


def _is_refusal(entry: object) -> bool:
    content = _content(entry) if isinstance(entry, dict) else entry
    return isinstance(content, str) and _REFUSAL.match(content) is not None
