"""The extractors that memkit comes with, as factories. Their code is imported when called."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeGuard

from memkit.contracts import ChatModel, Extractor
from memkit.errors import ConfigError
from memkit.extraction import SHOWN_ROLES
from memkit.models import Role

if TYPE_CHECKING:
    from memkit.registry import Options
    from memkit_backends.extractors.chat import Answer


async def open_verbatim(options: Options) -> Extractor:
    """Every statement as it was said, without a model. Takes no settings."""
    from memkit_backends.extractors.verbatim import VerbatimExtractor  # noqa: PLC0415  # light

    options.expect()
    return VerbatimExtractor()


async def open_llm(options: Options) -> Extractor:
    """What a language model finds.

    `model` is a `ChatModel`, or an async function of system and user message. The other
    settings are those of `LLMExtractor`: `instructions`, `roles`, `budget` in tokens and
    `timeout` in seconds. Strategies come with each request.
    """
    from memkit_backends.extractors.llm import LLMExtractor  # noqa: PLC0415  # light

    options.expect("model", "instructions", "roles", "budget", "timeout")
    return LLMExtractor(
        _model(options.settings.get("model")),
        instructions=options.get("instructions", str, ""),
        roles=options.get("roles", tuple[Role, ...], SHOWN_ROLES),
        budget=options.get("budget", int, 8000),
        timeout=options.get("timeout", float, 60.0),
    )


def _model(given: object) -> ChatModel:
    from memkit_backends.extractors.chat import callable_model  # noqa: PLC0415  # light

    if _is_chat_model(given):
        return given
    if _is_function(given):
        return callable_model(given)
    wanted = f"{given!r} names no model that is installed" if given else "model is missing"
    raise ConfigError(f"llm: {wanted}; give a ChatModel or an async function of (system, user)")


def _is_chat_model(given: object) -> TypeGuard[ChatModel]:
    return callable(getattr(given, "complete", None))


def _is_function(given: object) -> TypeGuard[Answer]:
    return callable(given)
