"""Rules of the machine: forgetting and purging."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import partial

from hypothesis import strategies as st
from hypothesis.stateful import rule

from memkit.models import (
    Episode,
    Episodes,
    Items,
    Messages,
    Purged,
    Receipt,
    Scope,
    Session,
    Target,
    WholeScope,
)
from memkit.testing.around import LedgerStore
from memkit.testing.stateful import alike, material
from memkit.testing.stateful.ground import pick
from memkit.testing.stateful.material import SCOPES
from memkit.testing.stateful.writing import MINUTE, Writing


class Forgetting(Writing):
    """How memory ends: on purpose, or by its date."""

    @rule(
        what=st.sampled_from((WholeScope, Session, Messages, Episodes, Items, Items, Items)),
        place=material.places,
        foreign=st.sampled_from((None, None, None, None, *SCOPES)),
        key=st.sampled_from(("k-1", "k-2", "K-1")),
        replacement=st.sampled_from((None, None, "[gone]")),
    )
    def forget(
        self,
        *,
        what: type[Target],
        place: int,
        foreign: Scope | None,
        key: str,
        replacement: str | None,
    ) -> None:
        """Forget something that is there, or of another scope, or have it replaced."""
        now = self.now
        for target in self.targets(what, place, foreign, key):
            by_id = isinstance(target, WholeScope | Items)
            instead = None if by_id else replacement
            receipts = self.stores.ask(
                partial(_forget, target=target, at=now, replacement=instead), alike.receipt
            )
            if receipts is not None and by_id:
                self.epochs[target.scope] = receipts.each(lambda receipt: receipt.epoch)

    def targets(
        self, what: type[Target], place: int, foreign: Scope | None, key: str
    ) -> list[Target]:
        """A target of that sort, if there is anything to name."""
        if what is Items:
            return [
                Items(scope=foreign or each.scope, ids=(each.id,))
                for each in pick(self.kept(), place)
            ]
        return [self.target(what, each, foreign, key) for each in pick(self.episodes, place)]

    def target(self, what: type[Target], said: Episode, foreign: Scope | None, key: str) -> Target:
        """What concerns `said`, or would if it were of the scope `foreign`."""
        home, scope, session_id = foreign or said.home, foreign or said.scope, said.session_id
        targets: dict[type[Target], Target] = {
            WholeScope: WholeScope(scope=home),
            Episodes: Episodes(scope=home, ids=(said.id,)),
            Session: Session(scope=scope, session_id=session_id),
            Messages: Messages(scope=scope, session_id=session_id, keys=(key,)),
        }
        return targets[what]

    @rule(limit=st.sampled_from((1, 3, 1000)), minutes=material.minutes, dry_run=st.booleans())
    def purge(self, limit: int, minutes: int, dry_run: bool) -> None:
        """Delete what is past its time, in passes, to the end."""
        now = self.now + minutes * MINUTE

        async def whole(store: LedgerStore) -> list[Purged]:
            force = minutes * MINUTE > timedelta(days=1)
            if dry_run:
                return [await store.purge(now=now, dry_run=True, force=force)]
            passes = [await store.purge(now=now, limit=limit, force=force)]
            while passes[-1].more:
                passes.append(await store.purge(now=now, limit=limit, force=force))
            return passes

        self.stores.ask(whole, alike.purged)


async def _forget(
    store: LedgerStore, *, target: Target, at: datetime, replacement: str | None
) -> Receipt:
    return await store.forget(target, at=at, replacement=replacement)
