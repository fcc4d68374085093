"""Whose memory: the scope, and the ids that may stand in it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Literal

from memkit.errors import ScopeError

ID_BYTES = 512
"""The longest id, in UTF-8 bytes."""

Projection = Literal["user", "agent", "user+agent", "full"]
"""Which fields of a scope are kept; the others become unset."""

_FIELDS: dict[Projection, tuple[str, ...]] = {
    "user": ("user_id",),
    "agent": ("agent_id",),
    "user+agent": ("user_id", "agent_id"),
    "full": ("user_id", "agent_id", "workflow_id"),
}

_TO_JSON = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def check_id(name: str, value: object) -> str:
    """Return `value` verbatim, or raise `ScopeError`: ids are opaque, never cleaned."""
    if not isinstance(value, str):
        raise ScopeError(f"{name} must be text, not {type(value).__name__}")
    if not value.strip():
        raise ScopeError(f"{name} is blank; leave it unset (None) or give a real id")
    if "\0" in value:
        raise ScopeError(f"{name} contains U+0000")
    try:
        size = len(value.encode())
    except UnicodeEncodeError:
        raise ScopeError(f"{name} contains half of a surrogate pair") from None
    if size > ID_BYTES:
        raise ScopeError(f"{name} has {size} bytes of UTF-8; at most {ID_BYTES} are kept")
    return value


@dataclass(frozen=True, slots=True)
class Scope:
    """Whose memory. `None` means exactly unset, never "any".

    Raises `ScopeError` for an id that cannot be kept verbatim. All three unset is a valid
    value; `Memory` refuses it unless `allow_unscoped` is configured.
    """

    user_id: str | None = None
    agent_id: str | None = None
    workflow_id: str | None = None

    def __post_init__(self) -> None:
        for name in _FIELDS["full"]:
            value = getattr(self, name)
            if value is not None:
                check_id(name, value)

    @property
    def key(self) -> str:
        """The injective text under which stores keep this scope: a JSON array."""
        ids = (self.user_id, self.agent_id, self.workflow_id)
        # One by one: the encoder is several times as fast with a text as with a list.
        return f"[{','.join(['null' if each is None else _TO_JSON.encode(each) for each in ids])}]"

    @classmethod
    def from_key(cls, key: str) -> Scope:
        """The scope whose `key` this is."""
        return cls(*json.loads(key))

    @property
    def is_unset(self) -> bool:
        """True when no field is set."""
        return self.user_id is self.agent_id is self.workflow_id is None

    def project(self, projection: Projection) -> Scope:
        """This scope with only the fields that `projection` names."""
        if projection == "full":
            return self
        return Scope(**{name: getattr(self, name) for name in _FIELDS[projection]})
