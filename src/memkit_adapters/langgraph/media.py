"""Images, sounds, videos and files in the shapes of LangChain and its providers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import JsonValue

from memkit.models import MediaBlock
from memkit_adapters.langgraph.plain import Body, body, is_data_url, plain, plain_mapping

Media = Literal["image", "audio", "video", "file"]
Path = tuple[str, ...]

_TYPES: Mapping[str, Media | None] = {
    "image": "image",
    "image_url": "image",
    "input_image": "image",
    "audio": "audio",
    "input_audio": "audio",
    "video": "video",
    "file": "file",
    "input_file": "file",
    "document": "file",
    "media": None,  # Google's: its MIME type decides
}
_LOCATIONS: tuple[Path, ...] = (
    ("url",),
    ("file_id",),
    ("file_uri",),
    ("image_url", "url"),
    ("image_url",),
    ("source", "url"),
    ("source", "file_id"),
    ("file", "file_id"),
    ("file_url",),
)
_BODIES: tuple[Path, ...] = (
    ("base64",),
    ("data",),
    ("source", "data"),
    ("input_audio", "data"),
    ("file", "file_data"),
    ("file_data",),
)
_MEDIA_TYPES: tuple[Path, ...] = (("mime_type",), ("source", "media_type"))
_NAMES: tuple[Path, ...] = (
    ("extras", "filename"),
    ("extras", "name"),
    ("filename",),
    ("name",),
    ("title",),
    ("file", "filename"),
)
_KEPT = ("id", "index")


def read_media(block: Mapping[str, object]) -> MediaBlock | None:
    """The block by reference, or None if it is no media or says nothing of where it is."""
    if block.get("type") not in _TYPES:
        return None
    media_type = _first_text(block, _MEDIA_TYPES)
    for path in _BODIES:
        content = _at(block, path)
        if isinstance(content, (str, bytes)):
            return _by_digest(block, body(content, media_type or _audio_type(block)))
    for path in _locations(block):
        location = _at(block, path)
        if isinstance(location, str):
            if is_data_url(location):
                return _by_digest(block, body(location, media_type))
            return _by_location(block, path, location, media_type)
    return None


def write_media(block: MediaBlock) -> dict[str, JsonValue]:
    """The block as LangChain had it; what came with its bytes is named by their digest."""
    form = block.extra.get("langchain")
    if not isinstance(form, dict):
        standard: dict[str, JsonValue] = {"type": block.media, "url": block.reference}
        return standard | ({"mime_type": block.media_type} if block.media_type else {})
    path = block.extra.get("at")
    keys = tuple(map(str, path)) if isinstance(path, list) else ("url",)
    return _placed(form, keys, block.reference)


def _locations(block: Mapping[str, object]) -> tuple[Path, ...]:
    """Where a reference may stand; `id` names a file only in LangChain's older blocks."""
    return (("id",), *_LOCATIONS) if block.get("source_type") == "id" else _LOCATIONS


def _by_location(
    block: Mapping[str, object], path: Path, location: str, media_type: str | None
) -> MediaBlock:
    return MediaBlock(
        media=_media(block, media_type),
        reference=location,
        media_type=media_type,
        extra={"langchain": _without(block, path), "at": list(path)},
    )


def _by_digest(block: Mapping[str, object], found: Body) -> MediaBlock:
    media = _media(block, found.media_type)
    form: dict[str, JsonValue] = {"type": media}
    form |= {key: plain(block[key]) for key in _KEPT if block.get(key) is not None}
    if found.media_type:
        form["mime_type"] = found.media_type
    extras = block.get("extras")
    described = plain_mapping(extras) if isinstance(extras, Mapping) else {}
    name = _first_text(block, _NAMES)
    form["extras"] = described | {"size": found.size} | ({"filename": name} if name else {})
    return MediaBlock(
        media=media,
        reference=found.reference,
        media_type=found.media_type,
        extra={"langchain": form, "at": ["url"]},
    )


def _media(block: Mapping[str, object], media_type: str | None) -> Media:
    stated = _TYPES.get(str(block.get("type")))
    if stated:
        return stated
    match (media_type or "").partition("/")[0]:
        case "image":
            return "image"
        case "audio":
            return "audio"
        case "video":
            return "video"
        case _:
            return "file"


def _audio_type(block: Mapping[str, object]) -> str | None:
    """OpenAI names the format of a sound instead of its MIME type."""
    stated = _at(block, ("input_audio", "format"))
    return f"audio/{stated}" if isinstance(stated, str) else None


def _first_text(block: Mapping[str, object], paths: tuple[Path, ...]) -> str | None:
    found = (_at(block, path) for path in paths)
    return next((each for each in found if isinstance(each, str) and each), None)


def _at(block: Mapping[str, object], path: Path) -> object:
    value: object = block
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _without(block: Mapping[str, object], path: Path) -> dict[str, JsonValue]:
    """A JSON-plain copy of the block that lacks the value at `path`."""
    key, *rest = path
    kept = plain_mapping({name: value for name, value in block.items() if name != key})
    inner = block.get(key)
    if rest and isinstance(inner, Mapping):
        kept[key] = _without(inner, tuple(rest))
    return kept


def _placed(form: Mapping[str, JsonValue], path: Path, reference: str) -> dict[str, JsonValue]:
    """A copy of `form` with the reference back at `path`."""
    key, *rest = path
    if not rest:
        return {**form, key: reference}
    inner = form.get(key)
    return {**form, key: _placed(inner if isinstance(inner, dict) else {}, tuple(rest), reference)}
