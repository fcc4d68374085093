"""What every test shares."""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path

import pytest


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
