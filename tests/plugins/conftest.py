"""Distributions, installed for a test the way an installer does it: a module and its metadata."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

TOY = Path(__file__).parent / "toy"

Install = Callable[..., None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Installs a distribution of one module with entry points; gone when the test ends."""
    site = tmp_path / "site-packages"
    site.mkdir()
    monkeypatch.syspath_prepend(str(site))
    installed: list[str] = []

    def put(
        distribution: str, module: str, source: str, names: Mapping[str, str], version: str = "0.1"
    ) -> None:
        (site / f"{module}.py").write_text(source)
        metadata = site / f"{distribution.replace('-', '_')}-{version}.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n"
        )
        lines = (f"{name} = {value}" for name, value in names.items())
        (metadata / "entry_points.txt").write_text("\n".join(["[memkit]", *lines, ""]))
        installed.append(module)

    yield put
    for module in installed:
        sys.modules.pop(module, None)


@pytest.fixture
def toy(install: Install) -> None:
    """The toy plugin of the folder beside this file, installed."""
    project = tomllib.loads((TOY / "pyproject.toml").read_text())["project"]
    source = (TOY / "memkit_toy.py").read_text()
    install(
        project["name"],
        "memkit_toy",
        source,
        project["entry-points"]["memkit"],
        version=project["version"],
    )
