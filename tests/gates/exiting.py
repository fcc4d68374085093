"""Runs one program that ends: `python -m tests.gates.exiting NAME LOCATION [--bug]`."""

from __future__ import annotations

import sys

from tests.gates import endings_async, endings_sync

if __name__ == "__main__":
    home = endings_async if hasattr(endings_async, sys.argv[1]) else endings_sync
    getattr(home, sys.argv[1])(sys.argv[2])
