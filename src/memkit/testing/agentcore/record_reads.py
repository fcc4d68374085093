"""The operations that read records."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memkit.testing.agentcore.errors import not_found
from memkit.testing.agentcore.filters import record_predicate
from memkit.testing.agentcore.namespaces import place_of
from memkit.testing.agentcore.records import Version, seen_records
from memkit.testing.agentcore.retrieval import features, similarity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from memkit.testing.agentcore.calls import Call
    from memkit.testing.agentcore.filters import RecordPredicate
    from memkit.testing.agentcore.paging import Key
    from memkit.testing.agentcore.values import Members, Params

DEFAULT_TOP_K = 10
PERCENT = 100

ORDERS: dict[str, Callable[[Version], Key]] = {
    "newest": lambda version: (-version.created_at, version.record_id),
    "oldest": lambda version: (version.created_at, version.record_id),
    "id": lambda version: (version.record_id,),
}


def get_memory_record(call: Call) -> Members:
    """Return one record; the namespace of the request is for IAM and does not scope the read."""
    memory, record_id = call.memory(), call.params.text("memoryRecordId")
    record = memory.records.get(record_id)
    until = call.seen_until(call.switches.record_get_lag)
    version = record.seen(until, call.now, shows_deleted=call.shows_deleted) if record else None
    if version is None:
        raise not_found("Memory record", record_id)
    return {"memoryRecord": version.shown_as(call.switches.no_strategy_id)}


def list_memory_records(call: Call) -> Members:
    """List a page of a namespace or of all below a path."""
    filtered, order = _filter(call, call.params), ORDERS[call.switches.record_order]
    early = call.switches.record_filter == "before_page"
    found = _seen(call, call.params, call.switches.record_list_lag)
    ordered = sorted((one for one in found if not early or filtered(one)), key=order)
    page = call.pager().cut(ordered, order)
    no_strategy = call.switches.no_strategy_id
    shown = [version.summary(no_strategy) for version in page.elements if filtered(version)]
    return {"memoryRecordSummaries": [*shown], **page.members()}


def retrieve_memory_records(call: Call) -> Members:
    """Search by likeness to a text; filters run first, then the best topK are paged."""
    criteria = call.params.part("searchCriteria")
    filtered, asked = _filter(call, criteria), features(criteria.text("searchQuery"))
    scored = sorted(
        (-similarity(asked, version.features), version.record_id, version)
        for version in _seen(call, criteria, call.switches.record_retrieve_lag)
        if filtered(version)
    )
    top = scored[: criteria.whole("topK", DEFAULT_TOP_K)]
    page = call.pager().cut(top, lambda entry: entry[:2])
    scale = PERCENT if call.switches.score_range == "percent" else 1
    no_strategy = call.switches.no_strategy_id
    shown: list[Members] = [
        {**version.summary(no_strategy), "score": -score * scale}
        for score, _, version in page.elements
    ]
    return {"memoryRecordSummaries": [*shown], **page.members()}


def _seen(call: Call, criteria: Params, lag: float) -> Iterator[Version]:
    place = place_of(call.params, call.switches.namespace_mode)
    strategy_id = criteria.text_or_none("memoryStrategyId")
    until = call.seen_until(lag)
    records = call.memory().records
    for version in seen_records(records, until, call.now, shows_deleted=call.shows_deleted):
        if place.holds(version.namespaces) and strategy_id in (None, version.strategy_id):
            yield version


def _filter(call: Call, criteria: Params) -> RecordPredicate:
    expressions = criteria.parts("metadataFilters")
    indexed = call.memory().index_types()
    return record_predicate(expressions, indexed, call.switches.contains_operand)
