"""A store in an empty schema for each test, and a schema that is not there yet."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from memkit_backends.postgres import open_store
from memkit_backends.postgres.store import PostgresStore
from tests.postgres.server import drop, new_schema


@pytest.fixture
def url(postgres_store: tuple[str, str]) -> str:
    """Where the server is."""
    return postgres_store[0]


@pytest.fixture
def schema(postgres_store: tuple[str, str]) -> str:
    """The name of an empty schema, its tables made."""
    return postgres_store[1]


@pytest.fixture
async def store(url: str, schema: str) -> AsyncIterator[PostgresStore]:
    """An empty store, closed afterwards."""
    store = await open_store(url, schema=schema)
    yield store
    await store.aclose()


@pytest.fixture
async def fresh(postgres: str) -> AsyncIterator[str]:
    """The name of a schema that is not there, and is gone afterwards."""
    name = new_schema()
    yield name
    await drop(postgres, name)


@pytest.fixture(scope="session")
def password() -> str:
    """A secret that must never be seen."""
    return "hunter2-must-not-be-seen"
