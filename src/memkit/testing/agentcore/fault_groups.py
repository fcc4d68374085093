"""The faults by name, in their thirteen groups."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from memkit.testing.agentcore import actions, answer_actions, state_actions

if TYPE_CHECKING:
    from memkit.testing.agentcore.actions import Action

Maker: TypeAlias = "Callable[..., Action]"


class Fault(NamedTuple):
    """A fault: its group, and what makes its action out of options."""

    group: str
    make: Maker


GROUPS: dict[str, dict[str, Maker]] = {
    "throttling": {
        "throttled": partial(actions.Refuse, "ThrottledException"),
        "throttling_400": partial(actions.Refuse, "ThrottlingException"),
    },
    "server_errors": {
        "service_exception": partial(actions.Refuse, "ServiceException"),
        "unavailable_html": partial(actions.Intercept, 503, "Service Unavailable"),
        "empty_body": actions.EmptyBody,
        "truncated_json": actions.TruncatedJson,
        "invalid_json": actions.InvalidJson,
        "wrong_content_type": actions.WrongContentType,
    },
    "connection": {
        "close_before": actions.CloseBefore,
        "close_after": actions.CloseAfter,
        "slow": actions.Slow,
        "trickle": actions.Trickle,
    },
    "refusals": {
        "retryable_conflict": partial(actions.Refuse, "RetryableConflictException"),
        "conflict": partial(actions.Refuse, "ConflictException"),
        "quota_exceeded": partial(actions.Refuse, "ServiceQuotaExceededException"),
        "access_denied": partial(actions.Refuse, "AccessDeniedException"),
        "not_found": partial(actions.Refuse, "ResourceNotFoundException"),
        "too_large": partial(actions.Intercept, 413, "Request Entity Too Large"),
    },
    "validation": {
        "invalid": actions.RefuseAsInvalid,
    },
    "partial_batches": {
        "partial_batch": answer_actions.PartialBatch,
        "whole_batch_fails": partial(answer_actions.PartialBatch, whole=True),
        "shuffled_results": answer_actions.ShuffledResults,
    },
    "extraction": {
        "extraction_delayed": state_actions.ExtractionDelayed,
        "extraction_fails": state_actions.ExtractionFails,
        "extraction_doubled": state_actions.ExtractionRepeats,
        "extraction_never": partial(state_actions.ExtractionRepeats, 0),
        "extraction_rewrites": state_actions.ExtractionRewrites,
        "extraction_deletes": state_actions.ExtractionDeletes,
    },
    "visibility": {
        "stale_read": answer_actions.StaleRead,
        "deleted_still_listed": answer_actions.DeletedStillListed,
    },
    "paging": {
        "empty_page": answer_actions.EmptyPage,
        "repeated_token": answer_actions.RepeatedToken,
        "expired_token": answer_actions.ExpiredToken,
    },
    "memory_status": {
        "stuck_creating": state_actions.MemoryStuck,
        "memory_fails": state_actions.MemoryFails,
        "memory_deleted": state_actions.MemoryDeleted,
    },
    "drift": {
        "unknown_member": answer_actions.UnknownMember,
        "unknown_union_member": answer_actions.UnknownUnionMember,
        "missing_member": answer_actions.MissingMember,
        "iso_timestamps": answer_actions.IsoTimestamps,
        "null_blob": answer_actions.NullBlob,
    },
    "clocks": {
        "clock_skew": state_actions.ClockSkew,
        "same_millisecond": state_actions.SameMillisecond,
    },
    "lost_events": {
        "events_lost": state_actions.EventsLost,
    },
}

FAULTS = {
    name: Fault(group, make) for group, makers in GROUPS.items() for name, make in makers.items()
}
