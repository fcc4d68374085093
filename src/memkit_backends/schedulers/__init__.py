"""The schedulers that memkit comes with, as factories."""

from __future__ import annotations

from memkit.contracts import Scheduler
from memkit.registry import Options


async def open_manual(options: Options) -> Scheduler:
    """Nothing runs by itself. Takes no settings."""
    from memkit_backends.schedulers.manual import ManualScheduler  # noqa: PLC0415  # light

    options.expect()
    return ManualScheduler(clock=options.clock)


async def open_background(options: Options) -> Scheduler:
    """Jobs run in this process, beside everything else.

    Settings: `concurrency`, and `drain`, the seconds that running jobs are given at the end.
    """
    from memkit_backends.schedulers.background import BackgroundScheduler  # noqa: PLC0415  # light

    options.expect("concurrency", "drain")
    return BackgroundScheduler(
        clock=options.clock,
        concurrency=options.get("concurrency", int, 2),
        drain=options.get("drain", float, 10.0),
    )
