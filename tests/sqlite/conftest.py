"""A store on a file of its own for each test."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from memkit_backends.sqlite import open_store
from memkit_backends.sqlite.store import SQLiteStore


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the store's file is to be."""
    return tmp_path / "memory.db"


@pytest.fixture
async def store(path: Path) -> AsyncIterator[SQLiteStore]:
    """An empty store on that file, closed afterwards."""
    store = await open_store(path, synchronous="normal")
    yield store
    await store.aclose()
