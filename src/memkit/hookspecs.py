"""The two places where a plugin is called. A hook registers or observes; it changes nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import pluggy

from memkit.models import Scope
from memkit.registry import Registry

GROUP = "memkit"
"""The entry-point group, and the name of the pluggy project."""

hookspec = pluggy.HookspecMarker(GROUP)
hookimpl = pluggy.HookimplMarker(GROUP)


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """A stage has ended. Names, ids and counts; never what was said or remembered.

    `error` is the name of the exception's class if the stage failed.
    """

    stage: Literal["inject", "record", "consolidate", "decay", "forget"]
    scope: Scope | None = None
    seconds: float = 0.0
    counts: Mapping[str, int] = field(default_factory=dict)
    error: str | None = None


@hookspec
def memkit_register(registry: Registry) -> None:
    """Add factories to the registry. Called once, when the plugin has been named.

    Do no I/O here and import no driver: the factory does, when it is called.
    """


@hookspec
def memkit_observe(event: Event) -> None:
    """A stage has ended.

    Called on the loop that the memory lives on: return at once. Exceptions are logged, not raised.
    """
