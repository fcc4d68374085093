"""A store without transactions whose writes are seen late: what a remote service is like."""

from memkit.testing.eventual.service import Service
from memkit.testing.eventual.store import EventualStore
from memkit.testing.eventual.writes import Record

__all__ = ["EventualStore", "Record", "Service"]
