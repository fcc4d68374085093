"""The operations on events, sessions and actors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memkit.testing.agentcore.errors import invalid, invalid_field, not_found
from memkit.testing.agentcore.events import MAIN, Event, Fork, Lineage, Session
from memkit.testing.agentcore.filters import EventPredicate, event_predicate
from memkit.testing.agentcore.namespace_variables import check_variables
from memkit.testing.agentcore.values import Members, Params, render_json, to_seconds

if TYPE_CHECKING:
    from memkit.testing.agentcore.calls import Call
    from memkit.testing.agentcore.memories import Memory

LARGEST_JSON = 100_000  # bytes, of one json item and of all that one ingestion carries


def create_event(call: Call) -> Members:
    """Write an event, and have it extracted later unless that is to be skipped."""
    memory = call.memory()
    variables = check_variables(memory, call.params)
    session_id = call.params.text_or_none("sessionId") or call.mint.uuid()
    session = _open(memory, call, session_id)
    event = _event(call, memory, session_id, "eventTimestamp", call.params)
    _branch_off(memory, session, event)
    memory.sessions[event.actor_id, session_id] = session
    session.add(event)
    if "extractionMode" not in call.params:
        call.queue.enqueue(memory, event, variables, call.now, kept=True)
    return {"event": event.shown_as(with_payload=True)}


def ingest_data(call: Call) -> Members:
    """Send content straight to extraction."""
    memory = call.memory()
    variables = check_variables(memory, call.params)
    session_id = call.params.text_or_none("sessionId") or call.mint.uuid()
    inline = call.params.part("source").part("inline")
    if len(render_json(inline.members)) > LARGEST_JSON:
        raise invalid_field("source", f"the payload is larger than {LARGEST_JSON} bytes")
    event = _event(call, memory, session_id, "contentTimestamp", inline)
    kept = call.switches.ingest_keeps_event
    if kept:
        session = _open(memory, call, session_id)
        memory.sessions[event.actor_id, session_id] = session
        session.add(event)
    call.queue.enqueue(memory, event, variables, call.now, kept=kept)
    return {"sessionId": session_id}


def get_event(call: Call) -> Members:
    """Return one event."""
    return {"event": _find(call)[1].shown_as(with_payload=True)}


def delete_event(call: Call) -> Members:
    """Delete one event; a second time it is not found."""
    session, event = _find(call)
    session.drop(event, call.now)
    return {"eventId": event.event_id}


def list_events(call: Call) -> Members:
    """List a page of a session, newest first; the page is cut before the filter runs."""
    session = _session(call)
    keeps = _filter(call, session)
    page = call.pager().cut(_visible(call, session), lambda event: event.newest_first)
    default = call.switches.include_payloads_default
    with_payload = call.params.truth("includePayloads", default=default)
    shown = [event.shown_as(with_payload=with_payload) for event in page.elements if keeps(event)]
    return {"events": [*shown], **page.members()}


def list_sessions(call: Call) -> Members:
    """List a page of an actor's sessions, newest first."""
    actor_id = call.params.text("actorId")
    sessions = sorted(
        (one for one in _sessions(call) if one.actor_id == actor_id), key=_newest_first
    )
    page = call.pager().cut(sessions, _newest_first)
    only_filled = "eventFilter" in call.params.part("filter")
    shown = [
        _summary(session) for session in page.elements if not only_filled or _visible(call, session)
    ]
    return {"sessionSummaries": [*shown], **page.members()}


def list_actors(call: Call) -> Members:
    """List a page of the actors that have sessions, by name."""
    actors = sorted({session.actor_id for session in _sessions(call)})
    page = call.pager().cut(actors, lambda actor: (actor,))
    return {"actorSummaries": [{"actorId": actor} for actor in page.elements], **page.members()}


def _event(call: Call, memory: Memory, session_id: str, time: str, source: Params) -> Event:
    payload = [part.members for part in source.parts("payload")]
    if any(len(render_json(part.get("json"))) > LARGEST_JSON for part in payload):
        raise invalid_field("payload", f"a json item is larger than {LARGEST_JSON} bytes")
    return Event(
        memory_id=memory.memory_id,
        actor_id=call.params.text("actorId"),
        session_id=session_id,
        at=call.params.moment(time),
        tie=call.mint.event_order(call.switches.same_ms_order),
        payload=[*payload],
        branch=call.params.part("branch").members or {"name": MAIN},
        metadata=call.params.part("metadata").members,
        written_at=call.now,
        expires_at=call.now + memory.event_life(),
    )


def _open(memory: Memory, call: Call, session_id: str) -> Session:
    key = call.params.text("actorId"), session_id
    session = memory.sessions.get(key)
    if session is not None:
        session.expire(call.now)
    if session is None or session.is_over(call.now):
        session = Session(actor_id=key[0], session_id=session_id, created_at=call.now)
    return session


def _branch_off(memory: Memory, session: Session, event: Event) -> None:
    name, root_id = event.branch_name, Params(event.branch).text_or_none("rootEventId")
    root = None if root_id is None else session.find(root_id) or _complain_about(memory, root_id)
    if name == MAIN or (root is None and name in session.forks):
        return
    if root is None:
        raise invalid_field("branch.rootEventId", f"must be given for the new branch {name}")
    fork = Fork(root.branch_name, root.newest_first)
    if session.forks.setdefault(name, fork) != fork:
        msg = f"branch {name} has another root event"
        raise invalid(msg, reason="ResourceConflict")


def _complain_about(memory: Memory, root_id: str) -> Event:
    if any(session.find(root_id) for session in memory.sessions.values()):
        msg = f"root event {root_id} belongs to another actor or session"
        raise invalid(msg, reason="EventInOtherSession")
    raise invalid_field("branch.rootEventId", f"there is no event {root_id}")


def _sweep(memory: Memory, now: int) -> None:
    for key, session in list(memory.sessions.items()):
        session.expire(now)
        if session.is_over(now):
            del memory.sessions[key]


def _sessions(call: Call) -> list[Session]:
    memory = call.memory()
    _sweep(memory, call.now)
    return list(memory.sessions.values())


def _session(call: Call) -> Session:
    memory, key = call.memory(), (call.params.text("actorId"), call.params.text("sessionId"))
    session = memory.sessions.get(key)
    if session is None:
        return Session(actor_id=key[0], session_id=key[1], created_at=call.now)
    session.expire(call.now)
    return session


def _visible(call: Call, session: Session) -> list[Event]:
    return session.visible(call.seen_until(call.switches.event_read_lag))


def _find(call: Call) -> tuple[Session, Event]:
    session, event_id = _session(call), call.params.text("eventId")
    event = session.find(event_id)
    if event is None or event.written_at > call.seen_until(call.switches.event_read_lag):
        raise not_found("Event", event_id)
    return session, event


def _filter(call: Call, session: Session) -> EventPredicate:
    asked = call.params.part("filter")
    keeps = event_predicate(asked.parts("eventMetadata"))
    if "branch" not in asked:
        return keeps
    branch = asked.part("branch")
    with_parents = branch.truth("includeParentBranches", default=False)
    line = Lineage(session, branch.text("name"), with_parents=with_parents)
    return lambda event: line.holds(event) and keeps(event)


def _newest_first(session: Session) -> tuple[float | str, ...]:
    return -session.created_at, session.session_id


def _summary(session: Session) -> Members:
    return {
        "sessionId": session.session_id,
        "actorId": session.actor_id,
        "createdAt": to_seconds(session.created_at),
    }
