"""A chat model made of a plain function."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable

from memkit.contracts import Reply
from memkit.errors import ConfigError, ExtractionError, MemkitError

Answer = Callable[[str, str], Awaitable[str | Reply]]
"""`async def answer(system, user)`: the model's words, or a `Reply` that says more."""


class CallableModel:
    """The `ChatModel` of a function. See `callable_model`."""

    def __init__(self, answer: Answer, name: str) -> None:
        self._answer = answer
        self._name = name

    @property
    def name(self) -> str:
        """The name it was given."""
        return self._name

    async def complete(self, system: str, user: str) -> Reply:
        """One call of the function; what it raises becomes an `ExtractionError`, chained."""
        try:
            said = await _awaited(self._answer(system, user), self._name)
        except MemkitError:
            raise
        except TimeoutError as error:
            raise ExtractionError("timeout", f"{self._name} ran out of time") from error
        except Exception as error:  # whatever a provider's SDK may raise
            reason = f"{self._name} raised {type(error).__name__}"
            raise ExtractionError("unavailable", reason) from error
        return _reply(said, self._name)


def callable_model(answer: Answer, *, name: str | None = None) -> CallableModel:
    """A `ChatModel` for `answer`, so that any model can extract that a function can reach.

    `name` should say which model it is: it goes into fingerprints and provenance. `answer`
    may raise `ExtractionError` itself, to tell a rate limit and when to try again.
    """
    return CallableModel(answer, name or f"callable:{getattr(answer, '__name__', 'model')}")


async def _awaited(pending: object, name: str) -> object:
    # A function that is not async would have held up the loop; say so at once.
    if not inspect.isawaitable(pending):
        raise ConfigError(f"{name}: the function of a model must be async")
    return await pending


def _reply(said: object, name: str) -> Reply:
    if isinstance(said, Reply):
        return said
    if isinstance(said, str):
        return Reply(text=said)
    raise ExtractionError("invalid", f"{name} answered with {type(said).__name__}, not with text")
