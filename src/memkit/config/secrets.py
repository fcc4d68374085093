"""What is secret in a configuration: refused in files, masked when shown."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta

from pydantic import BaseModel

from memkit.config.duration import format_duration
from memkit.errors import ConfigError

MASK = "***"

_SECRET = re.compile(
    r"(^|_)(password|passwd|pwd|secret|token|api_?key|access_key|private_key|credentials?)$"
)
_REFERENCE = "_env"


def is_secret(name: str) -> bool:
    """Whether a setting of this name holds a secret: `api_key`, `client_secret`, `password`."""
    return _SECRET.search(name.lower()) is not None


def mask_url(text: str) -> str:
    """`text` without the password or secret parameters that it carries if it is a URL."""
    scheme, mark, rest = text.partition("://")
    if not mark:
        return text
    # Up to the last "@": a password may hold one, and whatever else a URL should escape.
    login, at, place = rest.rpartition("@")
    user, colon, _ = login.partition(":")
    if at and colon:
        rest = f"{user}:{MASK}@{place}"
    head, question, query = rest.partition("?")
    pairs = [pair.partition("=") for pair in query.split("&")] if question else []
    shown = "&".join(
        f"{name}={MASK}" if is_secret(name) else f"{name}{equals}{value}"
        for name, equals, value in pairs
    )
    return f"{scheme}://{head}{question}{shown}"


def masked(value: object, name: str = "") -> object:  # noqa: PLR0911  # one for each sort
    """`value` as plain JSON for people to read, its secrets replaced by `***`."""
    if value is not None and is_secret(name):
        return MASK
    if isinstance(value, BaseModel):
        value = dict(value)
    match value:
        case Mapping():
            return {str(key): masked(each, str(key)) for key, each in value.items()}
        case list() | tuple():
            return [masked(each, name) for each in value]
        case str():
            return mask_url(value)
        case timedelta():
            return format_duration(value)
        case None | bool() | int() | float():
            return value
    return f"<{type(value).__name__}>"


def resolved(value: object, environ: Mapping[str, str], path: str = "") -> object:
    """`value` from a file, with what it takes from the environment filled in.

    `{ env = "NAME" }` stands for that variable anywhere, `api_key_env = "NAME"` for
    `api_key`. A secret written out is refused: files are copied, committed and shared.
    """
    name = path.rpartition(".")[2]
    match value:
        case {"env": str() as variable, **rest} if not rest:
            return _variable(variable, environ, path)
        case Mapping():
            pairs = (_resolved_pair(key, each, environ, path) for key, each in value.items())
            return dict(pairs)
        case list():
            return [resolved(each, environ, path) for each in value]
        case str() if value and (is_secret(name) or mask_url(value) != value):
            raise ConfigError(
                f"{path} holds a secret, which a file must not; "
                f'write {name} = {{ env = "NAME_OF_A_VARIABLE" }}'
            )
        case _:
            return value


def _resolved_pair(
    key: str, value: object, environ: Mapping[str, str], path: str
) -> tuple[str, object]:
    stem = key.removesuffix(_REFERENCE)
    if stem != key and is_secret(stem) and isinstance(value, str):
        return stem, _variable(value, environ, f"{path}.{key}")
    return key, resolved(value, environ, f"{path}.{key}" if path else key)


def _variable(name: str, environ: Mapping[str, str], path: str) -> str:
    try:
        return environ[name]
    except KeyError:
        raise ConfigError(f"{path}: the environment variable {name} is not set") from None
