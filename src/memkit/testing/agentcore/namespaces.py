"""Namespaces: their one normal form, and what lies in them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from memkit.testing.agentcore.errors import invalid_field

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from memkit.testing.agentcore.values import Params

Mode = Literal["normalized", "exact_raw", "legacy_prefix"]
PLACEHOLDER = re.compile(r"\{([a-zA-Z][a-zA-Z0-9]*)\}")
LONGEST = 1_024


@dataclass(frozen=True)
class Place:
    """Where a list or a search looks: one namespace, or everything below a path."""

    wanted: str
    below: bool
    mode: Mode

    def holds(self, namespaces: Sequence[str]) -> bool:
        """Tell whether a record with these namespaces lies here."""
        if not namespaces:
            return self.below and self.wanted == "/"
        return any(self._matches(namespace) for namespace in namespaces)

    def _matches(self, namespace: str) -> bool:
        if self.mode == "legacy_prefix":
            return namespace.startswith(self.wanted)
        if not self.below:
            return namespace == self.wanted
        return f"{namespace.rstrip('/')}/".startswith(f"{self.wanted.rstrip('/')}/")


def place_of(params: Params, mode: Mode) -> Place:
    """Read the one namespace or path of a request."""
    exact, path = params.text_or_none("namespace"), params.text_or_none("namespacePath")
    if (exact is None) == (path is None):
        msg = "exactly one of namespace and namespacePath must be given"
        raise invalid_field("namespace", msg)
    return Place(stored_form(exact or path or "", mode), below=path is not None, mode=mode)


def stored_form(namespace: str, mode: Mode) -> str:
    """Return the form in which the service keeps a namespace."""
    return normalize(namespace) if mode == "normalized" else namespace


def normalize(namespace: str) -> str:
    """Give a namespace exactly one leading and one trailing slash, and single ones between."""
    parts = [part for part in namespace.split("/") if part]
    return f"/{'/'.join(parts)}/" if parts else "/"


def kept_form(namespace: str, mode: Mode) -> str:
    """Return the form of a namespace that a record is to lie in.

    `ValueError` where that is longer than an answer may show it: slashes can have come to it.
    """
    form = stored_form(namespace, mode)
    if len(form) > LONGEST:
        msg = f"a namespace of {len(form)} characters; at most {LONGEST}"
        raise ValueError(msg)
    return form


def expand(template: str, values: Mapping[str, str]) -> str:
    """Fill the placeholders of a template; a `LookupError` names one that has no value."""
    return PLACEHOLDER.sub(lambda match: values[match[1]], template)


def placeholders(template: str) -> list[str]:
    """List the placeholders of a template."""
    return PLACEHOLDER.findall(template)
