"""For the tests of people who build on memkit: the kit, and fakes to hand in.

The conformance classes and the state machine need the extra `testing` (pytest and
hypothesis); the fakes do not.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memkit.testing.clock import ManualClock
    from memkit.testing.eventual import EventualStore
    from memkit.testing.extractors import ExtractorConformance
    from memkit.testing.faults import Failpoints, Faulty, faulty
    from memkit.testing.history import HistoryEvent, Violation, check
    from memkit.testing.ledgers import LedgerConformance
    from memkit.testing.maintenance import MaintainsConformance
    from memkit.testing.patience import eventually
    from memkit.testing.schedulers import SchedulerConformance
    from memkit.testing.scripted import ScriptedChatModel, ScriptedExtractor
    from memkit.testing.stateful import StoreMachine
    from memkit.testing.stores import StoreConformance
    from memkit.testing.values import an_episode, an_item
    from memkit.testing.verdicts import Verdict, judge

__all__ = [
    "EventualStore",
    "ExtractorConformance",
    "Failpoints",
    "Faulty",
    "HistoryEvent",
    "LedgerConformance",
    "MaintainsConformance",
    "ManualClock",
    "SchedulerConformance",
    "ScriptedChatModel",
    "ScriptedExtractor",
    "StoreConformance",
    "StoreMachine",
    "Verdict",
    "Violation",
    "an_episode",
    "an_item",
    "check",
    "eventually",
    "faulty",
    "judge",
]

_HOMES = {
    "EventualStore": "eventual",
    "ExtractorConformance": "extractors",
    "Failpoints": "faults",
    "Faulty": "faults",
    "HistoryEvent": "history",
    "LedgerConformance": "ledgers",
    "MaintainsConformance": "maintenance",
    "ManualClock": "clock",
    "SchedulerConformance": "schedulers",
    "ScriptedChatModel": "scripted",
    "ScriptedExtractor": "scripted",
    "StoreConformance": "stores",
    "StoreMachine": "stateful",
    "Verdict": "verdicts",
    "Violation": "history",
    "an_episode": "values",
    "an_item": "values",
    "check": "history",
    "eventually": "patience",
    "faulty": "faults",
    "judge": "verdicts",
}
"""Where each name is defined: what needs a test framework is imported when it is asked for."""

if pytest := sys.modules.get("pytest"):
    # Under pytest the kit's plain asserts shall explain themselves, as a test's own do.
    pytest.register_assert_rewrite(
        "memkit.testing.extractors",
        "memkit.testing.ledgers",
        "memkit.testing.maintenance",
        "memkit.testing.patience",
        "memkit.testing.schedulers",
        "memkit.testing.stateful",
        "memkit.testing.stores",
    )


def __getattr__(name: str) -> object:
    """A public name, from the module that defines it."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(f"{__name__}.{home}"), name)
    return value
