"""How a command ends that cannot do what it was asked: one line on stderr, and an exit code."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from functools import wraps
from typing import ParamSpec

import typer

from memkit.errors import (
    CapabilityError,
    ConfigError,
    InvalidInput,
    MemkitError,
    PluginError,
    ScopeError,
    StoreBusy,
    StoreUnavailable,
)

Options = ParamSpec("Options")


class ExitCode(IntEnum):
    """What the shell is told."""

    OK = 0
    FAILED = 1
    USAGE = 2
    PARTIAL = 3
    UNAVAILABLE = 4
    INTERRUPTED = 130


_MISUSED = (ConfigError, PluginError, CapabilityError, ScopeError, InvalidInput)
_AWAY = (StoreUnavailable, StoreBusy)


def exit_code(error: MemkitError) -> ExitCode:
    """The code for an error: whose fault it is, and whether waiting may help."""
    if isinstance(error, _MISUSED):
        return ExitCode.USAGE
    return ExitCode.UNAVAILABLE if isinstance(error, _AWAY) else ExitCode.FAILED


def in_one_line(error: MemkitError) -> str:
    """What went wrong and what to do, for stderr. Behind a semicolon it says so itself."""
    said = " ".join(str(error).split()) or type(error).__name__
    return f"memkit: {said}{'; try again' if error.retryable and ';' not in said else ''}"


def reported(command: Callable[Options, None]) -> Callable[Options, None]:
    """The command, ending with one line and an exit code where it fails, never a traceback."""

    @wraps(command)
    def run(*args: Options.args, **kwargs: Options.kwargs) -> None:
        try:
            command(*args, **kwargs)
        except MemkitError as exc:
            typer.echo(in_one_line(exc), err=True)
            raise typer.Exit(exit_code(exc)) from exc
        except BrokenPipeError:
            raise  # whoever reads us has had enough; the host of the command line knows
        except OSError as exc:
            said = [str(each) for each in (exc.strerror or exc, exc.filename) if each]
            typer.echo(f"memkit: {': '.join(said)}", err=True)
            raise typer.Exit(ExitCode.FAILED) from exc
        except KeyboardInterrupt:
            raise typer.Exit(ExitCode.INTERRUPTED) from None

    return run
