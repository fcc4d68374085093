"""What every test shares."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

# A busy machine is not a slow example.
settings.register_profile("memkit", deadline=None)
settings.load_profile("memkit")


@pytest.fixture
def anyio_backend() -> str:
    """memkit runs on asyncio."""
    return "asyncio"


@pytest.fixture(scope="session")
def shared_folder() -> Path:
    """Where the published conversations lie; they are never part of the project."""
    place = os.environ.get("MEMKIT_SHARED")
    if place is None:
        pytest.skip("MEMKIT_SHARED does not name the folder of published conversations")
    return Path(place)


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The URL of a Postgres that tests may fill with schemas; each process has its own."""
    from tests.postgres.server import running

    with running() as url:
        yield url


@pytest.fixture(scope="session")
def postgres_place(postgres: str) -> Iterator[tuple[str, str]]:
    """Where the stores of all tests lie one after the other: the URL, and a schema."""
    from memkit_backends.postgres import ddl
    from tests.postgres.server import schema_at, tell

    with schema_at(postgres) as schema:
        asyncio.run(tell(postgres, ddl(schema)))
        yield postgres, schema


@pytest.fixture
def postgres_store(postgres_place: tuple[str, str]) -> Iterator[tuple[str, str]]:
    """The URL and the schema of a store as empty as a new one."""
    from tests.postgres.server import empty

    url, schema = postgres_place
    yield url, schema
    asyncio.run(empty(url, schema))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Under MEMKIT_REQUIRE_BACKENDS a skipped test has failed: nothing goes untested unseen.

    But for rules of the kit that a store states it does not offer.
    """
    report = yield
    excused = hasattr(report, "wasxfail") or "does not declare" in str(report.longrepr)
    if report.skipped and os.environ.get("MEMKIT_REQUIRE_BACKENDS") and not excused:
        report.outcome = "failed"
    return report
