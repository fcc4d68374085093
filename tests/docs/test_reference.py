"""The reference page is complete and true to the docstrings."""

from __future__ import annotations

from tests.docs.reference import PAGE, SECTIONS, page


def test_the_page_is_fresh() -> None:
    """The committed page is what the docstrings say now."""
    assert PAGE.read_text(encoding="utf-8") == page(), "run: python -m tests.docs.reference"


def test_every_entry_says_something() -> None:
    """No public name stands there without a word."""
    silent = [line for line in page().splitlines() if line.rstrip().endswith("`:")]
    assert silent == []
    assert all(f"## {module}" in page() for module in SECTIONS)
