"""Everything memkit raises on purpose.

    MemkitError
    ├── ConfigError            the configuration cannot be used
    ├── PluginError            a plugin is missing, broken or named twice
    ├── CapabilityError        the store does not offer what was asked
    ├── ScopeError             whose memory? (also a ValueError)
    ├── InvalidInput           a value memkit cannot keep
    ├── MessageConflict        the same key, another content
    ├── WrongLoop              called on another event loop than it was opened on
    ├── Closed                 called after aclose()
    ├── Forked                 called in a child process with the parent's handles
    ├── ExtractionError        the extractor failed; see `.reason`
    └── StoreError
        ├── StoreUnavailable   cannot be reached now
        ├── StoreBusy          somebody else holds it for too long
        ├── StoreFull          no space left
        ├── StoreReadOnly      may not be written
        ├── StoreCorrupt       not a memkit store, or a damaged one
        ├── SchemaTooNew       written by a newer memkit
        ├── LeaseLost          another worker took the scope over
        ├── Forgotten          the scope was forgotten meanwhile
        └── OutcomeUnknown     sent, but the answer was lost

Messages carry ids, counts and names, never what was remembered, never a password.
"""

from __future__ import annotations

from typing import Literal

Outcome = Literal["done", "not_done", "unknown"]
"""What is known of the effect of the call that failed."""

ExtractionReason = Literal[
    "unreadable", "truncated", "refused", "invalid", "rate_limited", "timeout", "unavailable"
]
"""Why an extraction failed. `rate_limited` does not use up an episode's attempts."""


class MemkitError(Exception):
    """The root of everything memkit raises.

    `outcome` says what is known of the effect, `retryable` whether the same call may
    succeed later without a change.
    """

    outcome: Outcome = "not_done"
    retryable: bool = False


class ConfigError(MemkitError):
    """The configuration cannot be used; the message names the key and the remedy."""


class PluginError(MemkitError):
    """A plugin is missing, broken, or named like another one."""


class CapabilityError(MemkitError):
    """The store does not declare the capability that the call needs."""

    def __init__(self, capability: str, *, store: str) -> None:
        self.capability = capability
        self.store = store
        super().__init__(f"the {store} store does not offer {capability}; choose one that does")


class ScopeError(MemkitError, ValueError):
    """A scope or an id that names nobody, or cannot be kept verbatim."""


class InvalidInput(MemkitError):
    """A value memkit cannot keep.

    Not a ValueError on purpose: pydantic would swallow it and answer with its own error.
    """


class MessageConflict(MemkitError):
    """A message key was recorded before with another content; nothing was stored.

    Record with `revise=True` to keep the new content as a revision.
    """

    def __init__(self, key: str, *, session_id: str) -> None:
        self.key = key
        self.session_id = session_id
        super().__init__(
            f"message key {key!r} of session {session_id!r} was recorded with other content; "
            "nothing was stored (pass revise=True to keep a revision)"
        )


class WrongLoop(MemkitError):
    """A memory was used on another event loop than the one it was opened on."""

    def __init__(
        self,
        message: str = "this memory belongs to another event loop; open it in this one, "
        "or use open_memory_sync(), which works from any thread",
    ) -> None:
        super().__init__(message)


class Closed(MemkitError):
    """A part was used after it had been closed."""

    def __init__(self, what: str) -> None:
        self.what = what
        super().__init__(f"this {what} is closed; open a new one")


class Forked(MemkitError):
    """Handles opened before a fork were used in the child; it must open its own."""

    def __init__(self, what: str) -> None:
        self.what = what
        super().__init__(f"this {what} was opened before fork(); open a new one in the child")


class ExtractionError(MemkitError):
    """An extractor gave nothing that can be trusted.

    `retry_after` is the provider's wish in seconds, if it stated one. `spent` is what the
    attempt had cost until it failed: model calls, input tokens, output tokens.
    """

    retryable = True
    spent: tuple[int, int, int] = (0, 0, 0)

    def __init__(
        self, reason: ExtractionReason, message: str = "", *, retry_after: float | None = None
    ) -> None:
        self.reason: ExtractionReason = reason
        self.retry_after = retry_after
        super().__init__(f"{reason}: {message}" if message else reason)


class StoreError(MemkitError):
    """A store failed."""


class StoreUnavailable(StoreError):
    """The store cannot be reached now; nothing was done."""

    retryable = True


class StoreBusy(StoreError):
    """The store was held by others until the deadline; nothing was done."""

    retryable = True


class StoreFull(StoreError):
    """No space is left; what was acknowledged before is safe, nothing was added."""


class StoreReadOnly(StoreError):
    """The store may be read but not written."""


class StoreCorrupt(StoreError):
    """The file is damaged, or is not a memkit store. memkit leaves it as it is."""


class SchemaTooNew(StoreError):
    """The store was written by a newer memkit; nothing was touched."""

    def __init__(self, found: int, *, supported: int) -> None:
        self.found = found
        self.supported = supported
        super().__init__(
            f"the store has schema {found}, this memkit knows {supported}; upgrade agent-memkit"
        )


class LeaseLost(StoreError):
    """The claim is no longer held: its lease ran out and its fence is behind."""

    def __init__(self, job_id: str) -> None:
        self.job_id = job_id
        super().__init__(f"job {job_id} lost its lease; whoever holds it now will finish")


class Forgotten(StoreError):
    """The scope was forgotten, in whole or in part, after the work had begun."""

    def __init__(self, subject: str) -> None:
        self.subject = subject
        super().__init__(f"{subject} was overtaken by a forget; its result was dropped")


class OutcomeUnknown(StoreError):
    """The request was sent and the answer lost. Repeat only what is idempotent."""

    outcome: Outcome = "unknown"
