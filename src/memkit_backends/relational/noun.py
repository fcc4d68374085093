"""What every noun of the store has at hand."""

from __future__ import annotations

from memkit_backends.relational.dialect import Dialect
from memkit_backends.relational.driver import Driver


class Noun:
    """A part of the store's contract over a driver and a dialect.

    The public method opens the transaction; everything below it is handed that.
    """

    def __init__(self, driver: Driver, dialect: Dialect) -> None:
        self._driver = driver
        self._dialect = dialect
