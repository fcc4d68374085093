"""Scopes as rows: a number for each, with the epoch, fence and lease of its ledger.

A scope's row is never deleted: its epoch must outlive everything that was forgotten.
"""

from __future__ import annotations

from typing import NamedTuple

from memkit.models import Scope
from memkit_backends.relational.dialect import Dialect
from memkit_backends.relational.driver import Transaction


async def known(tx: Transaction, key: str) -> int | None:
    """The number of the scope with this key, if it has one."""
    row = await tx.fetch_one("SELECT pk FROM scope WHERE key = :scope", scope=key)
    return None if row is None else int(row[0])


async def number(tx: Transaction, scope: Scope) -> int:
    """The number of `scope`, given out now if it is new."""
    await tx.execute(
        "INSERT INTO scope (key) VALUES (:scope) ON CONFLICT (key) DO NOTHING", scope=scope.key
    )
    found = await known(tx, scope.key)
    if found is None:
        raise AssertionError("a scope's row is never deleted")
    return found


class Held(NamedTuple):
    """A scope whose items nobody else changes until the transaction ends."""

    pk: int
    epoch: int
    fence: int
    job_id: str | None


async def hold(tx: Transaction, dialect: Dialect, scope: Scope) -> Held:
    """Lock `scope`, which is made if it is new."""
    sql = f"SELECT pk, epoch, fence, job_id FROM scope WHERE key = :scope {dialect.lock_row}"
    row = await tx.fetch_one(sql, scope=scope.key)
    if row is None:
        await number(tx, scope)
        row = await tx.fetch_one(sql, scope=scope.key)
    if row is None:
        raise AssertionError("a scope's row is never deleted")
    return Held(*row)
