"""What becomes of proposals: a decision about memory, made of values alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from memkit.models import (
    Changes,
    Claim,
    Extraction,
    ExtractionRequest,
    MemoryItem,
    content_hash,
    new_id,
)
from memkit.reconcile.decision import Decision
from memkit.reconcile.draft import draft_all, final_content, place_turns
from memkit.reconcile.rules import Rules

__all__ = ["Rules", "exact_hashes", "reconcile"]


def exact_hashes(extraction: Extraction, rules: Rules) -> tuple[str, ...]:
    """The content hashes under which `reconcile` wants to know what is remembered already.

    They are taken after redaction, so they are those of the items that will be written.
    """
    contents = (final_content(proposal, rules) for proposal in extraction.proposals)
    return tuple(dict.fromkeys(content_hash(content) for content in contents if content))


def reconcile(  # noqa: PLR0913  # everything a decision rests on
    claim: Claim,
    request: ExtractionRequest,
    extraction: Extraction,
    known: Sequence[MemoryItem],
    rules: Rules,
    *,
    now: datetime,
    make_id: Callable[[], str] = new_id,
) -> Changes:
    """Decide what `extraction` changes in the claim's scope. Pure: the same input, the same answer.

    `request` is what the extractor was given for `claim.episodes`: its turns are their
    messages, numbered in order, and its `known` says which item a target number means.
    `known` are whole items: those behind `request.known`, and the active ones that have one
    of `exact_hashes`. Items of other scopes among them are left alone.

    * The same content twice is one item; known content is reinforced: importance = the
      higher of what is left of it and the new one, as of `now`, sources united. Evidence
      that an item has already does not reinforce it again, so repeating changes nothing.
    * An update adds the new item and supersedes its target, unless the target was observed
      later: then the new item is history from the start. A removal supersedes by nothing.
      So the order in which sessions arrive does not decide what holds.
    * Whatever is pinned, has a caller's key or is reinforced in the same run is never ended.
    * A proposal that cites nothing rests on all turns, and counts as a tool's word if any of
      them is one; cited turns count as a tool's only if all are. A tool's word is
      quarantined and ends nothing.
    * A message recorded anew under its key supersedes what came from its older content alone.
      Only where `claim.scope` is the session's own scope: keys mean nothing beyond it.
    """
    turns = place_turns(claim, now)
    drafts, removals = draft_all(turns, request, extraction, rules)
    decision = Decision(
        claim=claim,
        model=extraction.model,
        known={item.id: item for item in known if item.scope == claim.scope},
        rules=rules,
        now=now,
        make_id=make_id,
        room=max(rules.ended_always, int(rules.ended_share * len(request.known))),
    )
    for draft in drafts:
        decision.keep(draft)
    for draft in drafts:
        decision.replace_targets(draft)
    for removal in removals:
        decision.end(removal.target, by=None, at=removal.at)
    decision.retire_revised(turns)
    return decision.changes()
