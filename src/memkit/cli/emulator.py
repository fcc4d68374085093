"""The AgentCore emulator, for tests and for work without an account."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from memkit.errors import PluginError


class Profile(StrEnum):
    """How the emulator behaves: at once, or with the lags and limits of the service."""

    QUICK = "quick"
    LIVE = "live"


def agentcore_emulator(
    *,
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes a free one.")] = 8990,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    profile: Annotated[
        Profile, typer.Option(help="quick, or live: with the service's lags and throttles.")
    ] = Profile.QUICK,
    frozen: Annotated[
        bool, typer.Option("--frozen", help="Time moves only when a test advances it.")
    ] = False,
    seed: Annotated[int, typer.Option(help="For ids and lags that repeat.")] = 0,
) -> None:
    """Serve an emulator of Amazon Bedrock AgentCore Memory until it is interrupted.

    \b
    memkit agentcore-emulator
    memkit agentcore-emulator --port 0 --profile live
    """
    try:
        from memkit.testing.agentcore.command import serve  # noqa: PLC0415  # needs an extra
    except ModuleNotFoundError as exc:
        raise PluginError(
            "the emulator needs the AWS SDK; install it with: pip install 'agent-memkit[agentcore]'"
        ) from exc
    raise typer.Exit(serve(port, host, profile=profile.value, frozen=frozen, seed=seed))
