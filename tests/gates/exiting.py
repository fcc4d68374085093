"""Runs one program that ends: `python -m tests.gates.exiting NAME LOCATION [--bug]`."""

from __future__ import annotations

import signal
import sys

from tests.gates import endings_async, endings_sync

if __name__ == "__main__":
    # Shells let what they run in the background ignore Ctrl-C, and children inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    home = endings_async if hasattr(endings_async, sys.argv[1]) else endings_sync
    getattr(home, sys.argv[1])(sys.argv[2])
