"""The command: serves the emulator until it is interrupted."""

from __future__ import annotations

import argparse
import signal
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal, get_args

from memkit.testing.agentcore.clock import VirtualClock
from memkit.testing.agentcore.emulator import Emulator
from memkit.testing.agentcore.members import new_members
from memkit.testing.agentcore.switches import Switches

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

DEFAULT_PORT = 8990
LAST_PORT = 65_535
DESCRIPTION = """\
Serve an emulator of Amazon Bedrock AgentCore Memory until it is interrupted.

  memkit agentcore-emulator
  memkit agentcore-emulator --port 0 --profile live
"""
STOPPING_SIGNALS = (signal.SIGINT, signal.SIGTERM)

WAKE_SECONDS = 0.2
Profile = Literal["quick", "live"]


def serve(
    port: int = DEFAULT_PORT,
    host: str = "127.0.0.1",
    *,
    profile: Profile = "quick",
    frozen: bool = False,
    seed: int = 0,
) -> int:
    """Serve until SIGINT or SIGTERM; return the exit status.

    Port 0 takes a free one. The profile "live" has the lags and throttles of the service. Time
    passes with real time unless `frozen`; it can be advanced in either case.
    """
    switches = Switches.live_like() if profile == "live" else Switches()
    clock = VirtualClock(running=not frozen)
    try:
        emulator = Emulator(host=host, port=port, switches=switches, clock=clock, seed=seed)
    except (OSError, OverflowError) as exc:
        sys.stderr.write(f"cannot listen on {host}:{port}: {exc}; choose another --port\n")
        return 1
    except RuntimeError as exc:
        sys.stderr.write(f"{exc}\n")
        return 1
    with _stopping() as stop, emulator:
        sys.stdout.write(greeting(emulator.endpoint_url))
        sys.stdout.flush()
        # A wait without end would sleep through a signal that another thread took.
        while not stop.wait(WAKE_SECONDS):
            pass
    return 0


def greeting(url: str) -> str:
    """Return what is printed first: the address, and how to point boto3 at it."""
    unknown = new_members()
    note = f"This botocore has members unknown here: {', '.join(unknown)}\n" if unknown else ""
    return (
        f"AgentCore Memory emulator on {url}\n"
        f'boto3.client("bedrock-agentcore", region_name="us-east-1", endpoint_url="{url}")\n'
        f"export AWS_ENDPOINT_URL_BEDROCK_AGENTCORE={url}"
        f" AWS_ENDPOINT_URL_BEDROCK_AGENTCORE_CONTROL={url}\n{note}"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the command line and serve."""
    given = _parser().parse_args(arguments)
    return serve(
        given.port, given.host, profile=given.profile, frozen=given.frozen, seed=given.seed
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="memkit agentcore-emulator",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--port", type=port, default=DEFAULT_PORT, help="0 takes a free port")
    parser.add_argument("--host", default="127.0.0.1", help="where it listens")
    parser.add_argument(
        "--profile",
        choices=get_args(Profile),
        default="quick",
        help="live has the lags and throttles of the service",
    )
    parser.add_argument("--frozen", action="store_true", help="time moves only when advanced")
    parser.add_argument("--seed", type=int, default=0, help="the same one makes the same ids")
    return parser


def port(text: str) -> int:
    """Read a port; argparse tells of an error by this function's name."""
    number = int(text)
    if not 0 <= number <= LAST_PORT:
        raise ValueError(number)
    return number


@contextmanager
def _stopping() -> Iterator[threading.Event]:
    """Yield an event that a signal sets; the former handlers come back afterwards."""
    stop = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    former = {one: signal.signal(one, lambda *_: stop.set()) for one in STOPPING_SIGNALS}
    try:
        yield stop
    finally:
        for one, handler in former.items():
            signal.signal(one, handler)
