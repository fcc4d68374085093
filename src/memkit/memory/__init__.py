"""The memory of an agent: inject, record, consolidate, decay."""

from memkit.memory.face import Memory
from memkit.memory.recording import Recorded, Said

__all__ = ["Memory", "Recorded", "Said"]
