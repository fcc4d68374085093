"""Runs the emulator: `python -m memkit.testing.agentcore --port 8990`."""

from __future__ import annotations

import sys

from memkit.testing.agentcore.command import main

sys.exit(main())
