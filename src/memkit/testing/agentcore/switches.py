"""Switches: one for every behavior of the service that is not documented or differs by account."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from functools import cache
from typing import Literal, get_args, get_type_hints

from memkit.testing.agentcore.clock import DAY, SECOND

STRATEGY_ID = re.compile("[a-zA-Z0-9][a-zA-Z0-9_-]{0,99}")
"""What an answer may show as the strategy of a record."""


@dataclass(kw_only=True)
class Switches:
    """How the emulator behaves where the real service's behavior is not known.

    The defaults answer at once and are the likeliest; `live_like()` is slow, as the service is.
    Times are seconds on the virtual clock.
    """

    namespace_mode: Literal["normalized", "exact_raw", "legacy_prefix"] = "normalized"
    empty_namespaces: Literal["allow", "reject"] = "allow"
    include_payloads_default: bool = True
    same_ms_order: Literal["random", "arrival", "reversed"] = "random"
    event_read_lag: float = 0.0
    event_expiry_range: Literal["model", "documented", "quota"] = "model"
    ingest_keeps_event: bool = False

    record_order: Literal["newest", "oldest", "id"] = "newest"
    record_filter: Literal["before_page", "after_page"] = "before_page"
    record_get_lag: float = 0.0
    record_update_lag: float = 0.0
    record_list_lag: float = 0.0
    record_retrieve_lag: float = 0.0
    metadata_update: Literal["replace", "merge"] = "replace"
    system_keys_count: bool = True
    contains_operand: Literal["either", "string", "list"] = "either"
    not_found_in_batch: Literal["per_record", "raise404"] = "per_record"
    failed_record_id: Literal["minted", "placeholder"] = "minted"
    no_strategy_id: str = "NONE"
    score_range: Literal["unit", "percent"] = "unit"

    token_mismatch: Literal["ignore", "reject"] = "ignore"  # noqa: S105 - a switch
    token_ttl: float | None = None
    page_short: bool = False

    duplicate_name: Literal["ValidationException", "ConflictException"] = "ValidationException"
    summary_needs_session: bool = False
    list_memories_default: Literal[10, 20] = 20
    list_memories_max: Literal[50, 100] = 100
    create_delay: float = 0.0
    update_delay: float = 0.0
    delete_delay: float = 0.0

    extract_delay: float = 30.0
    throttle: bool = False
    conv_rate: float = 5.0
    strict_unknown: bool = False

    def __setattr__(self, name: str, value: object) -> None:
        """Refuse a name or a value that does not exist, rather than be switched off silently."""
        hint = _hints().get(name)
        if hint is None:
            msg = f"no switch is called {name!r}; there are {', '.join(self.names())}"
            raise ValueError(msg)
        object.__setattr__(self, name, _checked(name, value, hint))

    @classmethod
    def names(cls) -> list[str]:
        """List the switches."""
        return [field.name for field in fields(cls)]

    @classmethod
    def live_like(cls) -> Switches:
        """Return the slow profile: lags, transitions and throttles as seen on the service."""
        return cls(
            record_get_lag=5,
            record_update_lag=10,
            record_list_lag=90,
            record_retrieve_lag=90,
            create_delay=120,
            update_delay=60,
            delete_delay=30,
            throttle=True,
        )

    def update(self, **values: object) -> None:
        """Set several switches; a wrong one changes none."""
        checked = Switches(**{name: getattr(self, name) for name in self.names()})
        for name, value in values.items():
            setattr(checked, name, value)
        for name in values:
            setattr(self, name, getattr(checked, name))


@cache
def _hints() -> dict[str, object]:
    return get_type_hints(Switches)


def _checked(name: str, value: object, hint: object) -> object:
    if hint is bool or hint is str:
        allowed: object = hint.__name__
        fits = isinstance(value, bool if hint is bool else str)
    elif choices := [choice for choice in get_args(hint) if not isinstance(choice, type)]:
        allowed, fits = choices, value in choices and not isinstance(value, bool)
    else:
        allowed = "a number, not negative"
        fits = (value is None and type(None) in get_args(hint)) or _is_amount(value)
    if name.endswith("_lag"):
        # Older versions of a record are not kept.
        allowed, fits = "seconds, at most a day", fits and float(str(value)) * SECOND <= DAY
    if name == "no_strategy_id":
        allowed, fits = STRATEGY_ID.pattern, fits and STRATEGY_ID.fullmatch(str(value)) is not None
    if not fits:
        msg = f"switch {name} cannot be {value!r}; allowed: {allowed}"
        raise ValueError(msg)
    return value


def _is_amount(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e12
