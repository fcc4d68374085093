"""A decision about memory: what a store applies whole or not at all."""

from __future__ import annotations

from datetime import datetime

from pydantic import AwareDatetime, Field, JsonValue

from memkit.errors import InvalidInput
from memkit.models.base import Model
from memkit.models.item import MemoryItem, Source, Status
from memkit.models.scope import Scope

_MAY_BE_NOTHING = frozenset({"value", "ends_at"})


class Patch(Model):
    """New values for named columns of one item; what is not set stays as it is.

    Only the fields that are set are written, so that two patches of different columns never
    undo each other. `content` comes with its `tokens`, `importance`, `reinforced_at`, `policy`
    and `fades_at` with all four: only together do they say when an item fades.

    `if_fades_at` is no column: an item that fades at another date by now is left as it is,
    because whoever worked these values out has not seen what became of it.
    """

    id: str
    content: str | None = Field(default=None, min_length=1)
    tokens: str | None = None
    kind: str | None = None
    importance: float | None = Field(default=None, ge=0, le=1)
    reinforced_at: AwareDatetime | None = None
    policy: str | None = None
    fades_at: AwareDatetime | None = None
    ends_at: AwareDatetime | None = None
    pinned: bool | None = None
    status: Status | None = None
    value: JsonValue = None
    metadata: dict[str, JsonValue] | None = None
    if_fades_at: AwareDatetime | None = None

    @property
    def columns(self) -> dict[str, object]:
        """What it writes, by column."""
        names = self.model_fields_set - {"id", "if_fades_at"}
        return {name: getattr(self, name) for name in names}

    def is_late(self, fades_at: datetime) -> bool:
        """Whether it was meant for an item that did not fade at `fades_at` yet."""
        return self.if_fades_at not in {None, fades_at}


class Reinforcement(Model):
    """An item was met again: it takes these values if they make it fade later than now.

    They were worked out for an item that is `pinned` or is not: one that is otherwise by now
    keeps its own. `sources` are added to its own either way, and of its `observed_at` and this
    one the later stays.
    """

    id: str
    importance: float = Field(ge=0, le=1)
    reinforced_at: AwareDatetime
    policy: str
    fades_at: AwareDatetime
    pinned: bool = False
    observed_at: AwareDatetime | None = None
    sources: tuple[Source, ...] = ()

    @classmethod
    def by(cls, item: MemoryItem, *, of: str) -> Reinforcement:
        """What an `add` of `item` comes to where the item `of` has its content already."""
        return cls(
            id=of,
            importance=item.importance,
            reinforced_at=item.reinforced_at,
            policy=item.policy,
            fades_at=item.fades_at,
            pinned=item.pinned,
            observed_at=item.observed_at,
            sources=item.sources,
        )


class Supersession(Model):
    """An active item gives way to a newer one and stays readable as history.

    `by` is `None` where nothing took its place: it merely ceased to hold.
    """

    id: str
    by: str | None = None
    at: AwareDatetime


class Changes(Model):
    """What one decision adds, changes and removes. A store applies all of it or nothing."""

    add: tuple[MemoryItem, ...] = ()
    update: tuple[Patch, ...] = ()
    supersede: tuple[Supersession, ...] = ()
    remove: tuple[str, ...] = ()
    reinforce: tuple[Reinforcement, ...] = ()

    def require_keepable_in(self, scope: Scope) -> None:
        """Raise `InvalidInput` for an item of another scope, and for a patch that unsets a column.

        What every store of `Store.apply` refuses before it writes anything.
        """
        for item in self.add:
            if item.scope != scope:
                raise InvalidInput(f"item {item.id} belongs to another scope than its changes")
        for patch in self.update:
            for name, value in patch.columns.items():
                if value is None and name not in _MAY_BE_NOTHING:
                    raise InvalidInput(f"item {patch.id}: {name} cannot be set to nothing")


class Applied(Model):
    """What became of `Changes`, by item id.

    `reinforced` also lists items that absorbed an `add` with the same content. `blocked`
    were `add`s whose content had been forgotten after they were said. `stale` were patches
    of items that fade at another date than they say. `missing` were changes of items that are
    not (or no longer) there: absent and foreign look the same.
    """

    added: tuple[str, ...] = ()
    updated: tuple[str, ...] = ()
    superseded: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    reinforced: tuple[str, ...] = ()
    blocked: tuple[str, ...] = ()
    stale: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
